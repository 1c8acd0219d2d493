"""Deciding on a compaction: plan, propose, verify, decide. See README.md."""
