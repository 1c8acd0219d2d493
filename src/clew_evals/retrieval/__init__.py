"""The retrieval benchmark: ``clew bench`` measures clew's search on public question sets."""
