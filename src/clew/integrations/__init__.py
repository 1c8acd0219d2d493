"""Adapters for agent frameworks and SDKs, one line of setup each. See README.md."""
