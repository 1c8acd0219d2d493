"""The commands of docs/guides/http-api.md start the service without a container, and the first curl works."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
pytest.importorskip("procrastinate", reason="the job engine is not installed: clew[service]")

from tests.conftest import ROOT
from tests.postgres import the_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="runs a POSIX shell"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed"),
]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def folder():
    """A folder that the server's own user may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="clew-start-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield name


def test_the_commands_of_the_guide_work(folder, request):
    the_server()  # skips if there is no server program
    port = free_port()
    guide = Path(ROOT, "docs/guides/http-api.md").read_text(encoding="utf-8")
    start, curl = re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = f"{start.strip()} --port {port}"
    running = subprocess.Popen(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )

    def end():
        os.killpg(running.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            running.wait(2)
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()

    request.addfinalizer(end)
    deadline = time.monotonic() + 180
    said = ""
    while not said and time.monotonic() < deadline:
        time.sleep(0.2)
        asked = subprocess.run(
            ["sh", "-c", curl.replace("8700", str(port))], capture_output=True, text=True, check=False
        )
        said = asked.stdout
    answer = json.loads(said)
    assert (answer["ids"], answer["compacting"]) == (["m1"], False)
