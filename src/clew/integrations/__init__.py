"""clew inside agent frameworks and SDKs: one line each. See README.md."""
