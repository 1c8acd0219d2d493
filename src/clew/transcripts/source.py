"""An input to read a session from: a file, a folder, standard input or bytes, compressed or not."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from clew.errors import InputError, NotFound
from clew.transcripts.unpack import Damaged, unpacked

CHUNK_BYTES = 1 << 20
PEEK_BYTES = 64 << 10


class Source:
    """Bytes to read a session from.

    ``peek``, ``chunks`` and ``read`` always start at the beginning of the decompressed data. Piped input can
    be read only once, unless ``keep`` was called before.
    """

    def __init__(self, name: str, raw: Callable[[], Iterator[bytes]], path: Path | None = None) -> None:
        """Read from the iterator that each call of ``raw`` returns; see ``open_source`` for usual inputs."""
        self.name = name
        self.path = path
        self.session: str | None = None
        """The one session to read from a database; None for all."""
        self.damage: str | None = None
        """Why the data ended early, known after reading to the end; None if it did not."""
        self._raw = raw
        self._head = b""
        self._head_is_all = False

    @property
    def is_directory(self) -> bool:
        """Return True for a folder: readers use ``path``, there are no bytes."""
        return self.path is not None and self.path.is_dir()

    def peek(self, size: int = PEEK_BYTES) -> bytes:
        """Return the first ``size`` bytes, or all if there are fewer; consumes nothing."""
        if len(self._head) < size and not self._head_is_all:
            pieces, held = [], 0
            for piece in self._unpack(self._raw_to_peek()):
                pieces.append(piece)
                held += len(piece)
                if held >= size:
                    break
            else:
                self._head_is_all = True
            self._head = b"".join(pieces)[: max(size, PEEK_BYTES)]
            self._head_is_all = self._head_is_all and held <= len(self._head)
        return self._head[:size]

    def chunks(self) -> Iterator[bytes]:
        """Yield all the data from the start. At damage, iteration ends and ``damage`` says why."""
        return self._unpack(self._raw())

    def read(self, limit: int) -> bytes:
        """Return all the data; raise ``InputError`` if it is longer than ``limit`` bytes."""
        pieces, held = [], 0
        for piece in self.chunks():
            pieces.append(piece)
            held += len(piece)
            if held > limit:
                raise InputError(
                    f"{self.name} is larger than {limit >> 20} MiB, too large to read in one piece"
                )
        return b"".join(pieces)

    def keep(self) -> Source:
        """Make sure that the data can be read more than once; return this source."""
        return self

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Provide a file with the decompressed data: the file itself, or a temporary copy."""
        if self.path is not None and self._is_plain():
            yield self.path
            return
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="clew-") as folder:
            copy = Path(folder, "copy")
            with copy.open("wb") as file:
                file.writelines(self.chunks())
            yield copy

    def _is_plain(self) -> bool:
        """Return True if the file on disk is not compressed."""
        head = next(self._raw(), b"")[:64]
        return self.peek(len(head)) == head

    def _raw_to_peek(self) -> Iterator[bytes]:
        return self._raw()

    def _unpack(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        self.damage = None
        try:
            yield from unpacked(raw)
        except Damaged as cause:
            self.damage = str(cause)
        except OSError as cause:
            self.damage = f"reading stopped: {cause.strerror or cause}"


class PipedSource(Source):
    """Input that can be read only once: standard input. ``keep`` copies it to a temporary file."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        """Read from an open binary stream."""
        super().__init__(name, self._flow)
        self._stream = stream
        self._peeked: list[bytes] = []
        self._gone = False

    def keep(self) -> Source:
        """Copy the remaining input to a temporary file, which is deleted with this source."""
        if self._raw == self._flow:
            from tempfile import TemporaryFile

            spool = TemporaryFile(prefix="clew-")  # noqa: SIM115 - lives as long as this source
            weakref.finalize(self, spool.close)
            spool.writelines(self._flow())
            self._raw = lambda: _read_from_start(spool)
        return self

    def _flow(self) -> Iterator[bytes]:
        if self._gone:
            raise InputError(f"{self.name} can be read only once")
        self._gone = True
        yield from self._peeked
        self._peeked.clear()
        yield from _read_stream(self._stream)

    def _raw_to_peek(self) -> Iterator[bytes]:
        if self._gone:
            return self._raw()
        return chain(list(self._peeked), self._hold())

    def _hold(self) -> Iterator[bytes]:
        for piece in _read_stream(self._stream):
            self._peeked.append(piece)
            yield piece


def opened(source: Source | str | os.PathLike[str]) -> Source:
    """Return the source itself, or open the path."""
    return source if isinstance(source, Source) else open_source(source)


def open_source(where: str | os.PathLike[str] | bytes, name: str | None = None) -> Source:
    """Open a path, ``-`` for standard input, or bytes."""
    if isinstance(where, bytes):
        return Source(name or "<bytes>", lambda: iter((where,) if where else ()))
    if where == "-":
        return PipedSource(name or "<stdin>", sys.stdin.buffer)
    path = Path(where)
    if not path.exists():
        raise NotFound(f"no file {str(path)!r}")
    if path.is_dir():
        return Source(name or str(path), lambda: iter(()), path)
    if not os.access(path, os.R_OK):
        raise InputError(f"no permission to read {str(path)!r}")
    if not path.is_file():  # a pipe from a shell: can be read only once, like standard input
        return PipedSource(name or str(path), path.open("rb"))
    return Source(name or str(path), lambda: _read_path(path), path)


def _read_path(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _read_stream(stream: BinaryIO) -> Iterator[bytes]:
    # read1 returns what is available, so a slow pipe is shown as it arrives.
    read = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK_BYTES):
        yield chunk


def _read_from_start(file: BinaryIO) -> Iterator[bytes]:
    offset = 0
    while True:
        file.seek(offset)  # another pass may have moved it
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            return
        offset += len(chunk)
        yield chunk
