"""Readers of benchmarks' files: ``sniff`` says whether a file is one, ``read`` yields its sessions."""
