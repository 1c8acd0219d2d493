"""A host in a terminal of its own: what a person types, and what the host printed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

ROWS, COLUMNS = 40, 120
_ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",  # where is the cursor
    b"\x1b[c": b"\x1b[?62;22c",  # what are you
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",  # foreground
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",  # background
}
_CONTROL = re.compile(
    rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, colours, links
    rb"|\x1b[\[\(][0-9;?<>=!]*[ -/]*[@-~]|\x1b.|[\x00-\x08\x0b-\x1f]"
)


def _take_terminal() -> None:
    """Make the standard input the controlling terminal of the new session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """Runs a program on a pseudo-terminal, answers what programs ask of one, and keeps its output."""

    def __init__(self, words: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        self._main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            words, cwd=cwd, env=env | {"TERM": "xterm-256color"}, stdin=other, stdout=other, stderr=other,
            start_new_session=True, preexec_fn=_take_terminal,  # noqa: PLW1509 - before any thread of ours
        )  # fmt: skip
        os.close(other)
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(5)
        os.close(self._main)

    @property
    def text(self) -> str:
        """Return everything printed so far, without control sequences and white space."""
        plain = _CONTROL.sub(b"", bytes(self._output)).decode("utf-8", "replace")
        return "".join(plain.split())

    def type(self, text: str) -> None:
        """Type a line slowly enough not to be taken for a paste, then Enter."""
        for character in text:
            os.write(self._main, character.encode())
            time.sleep(0.02)
        time.sleep(1.0)
        os.write(self._main, b"\r")

    def wait(self, done: Callable[[], bool], seconds: float = 300.0) -> None:
        """Wait until something is so; fail with the last output otherwise."""
        end = time.monotonic() + seconds
        while not done():
            assert self._process.poll() is None, f"it ended: {self.text[-800:]}"
            assert time.monotonic() < end, self.text[-1500:]
            time.sleep(0.1)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._main, 65_536)
            except OSError:  # the program has ended
                return
            if not data:
                return
            self._output += data
            for question, answer in _ANSWERS.items():
                if question in data:
                    os.write(self._main, answer)
