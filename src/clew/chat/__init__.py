"""The chat harness. See README.md."""
