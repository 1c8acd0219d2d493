"""Readers of benchmark data sets."""
