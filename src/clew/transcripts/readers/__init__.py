"""One reader a format; a format's further modules share its first word. See ../README.md."""
