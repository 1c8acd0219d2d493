"""``clew proxy``: answers the compaction requests of agents, and passes everything else through."""
