"""Pages that show what happened to a context. See README.md."""
