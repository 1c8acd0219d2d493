"""What the hard tests share: a library that makes disks fail."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def fault_library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler: the library that makes disks fail is built here")
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    build = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "faults.c"), "-ldl"]
    subprocess.run(build, check=True, capture_output=True)
    return library


@pytest.fixture
def quick_folder():
    """Return a folder in memory where there is one: what is tested is the order of writes, not the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
