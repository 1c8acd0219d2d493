"""Finding secrets in text, and masking them. See README.md."""
