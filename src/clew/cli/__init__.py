"""The command line."""


def main() -> int:
    """Run ``clew``."""
    return 0
