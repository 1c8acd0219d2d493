"""clew as an HTTP service for many agents, with compaction in the background. See README.md."""
