"""Tests of clew. Bytecode is cached here, before anything is imported, also if the environment forbids it.

Some machines set ``PYTHONDONTWRITEBYTECODE``. Then each of the hundreds of processes that tests start would
compile clew and its libraries again, and every run the test files. The cache is outside of the source.
"""

import os
import sys
from pathlib import Path

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    sys.dont_write_bytecode = False
