"""One reader per format; a format's further modules share its first word. See ../README.md."""
