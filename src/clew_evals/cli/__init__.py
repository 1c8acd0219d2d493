"""The commands that measure: ``clew eval``, ``bench``, ``lost``, ``bill``."""
