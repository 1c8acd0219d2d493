"""clew inside seven frameworks, against their own compaction and none."""
