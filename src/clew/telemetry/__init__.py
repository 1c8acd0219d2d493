"""A session's story for other tools: JSON lines and OpenTelemetry. See README.md."""
