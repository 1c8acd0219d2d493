"""Assembling what the model sees. See README.md."""
