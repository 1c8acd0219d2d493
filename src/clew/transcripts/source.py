"""An input to read a session from: a file, a folder, standard input or bytes, compressed or not.

``open_source(path).chunks()`` yields the bytes of a file, ``.peek(100)`` the first ones without consuming
them. gzip and zstd are recognised by their first bytes and unpacked as they are read. Nothing is expanded
whole: one step of output is at most a few dozen megabytes, whatever the input claims. Input that expands far
more than text can be compressed is a bomb, and reading stops.
"""

from __future__ import annotations

import os
import re
import sys
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from clew.errors import InputError, NotFound

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
# A frame without data; parallel compressors start their files with one.
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
# Little is passed at a time, because it may expand a lot: one zstd block of 4 bytes to 128 KiB, so 2 KiB to
# 64 MiB at worst; one byte of gzip to about 1 KiB, so 16 KiB to 16 MiB.
ZSTD_FEED_BYTES = 2 << 10
GZIP_FEED_BYTES = 16 << 10
MAX_EMPTY_FRAMES = 10_000
"""More empty members or frames in a row than any real file has."""
FREE_BYTES = 256 << 20
MAX_RATIO = 200
"""After the first ``FREE_BYTES``, output may be this many times the input. Sessions compress by a factor of
10 to 50."""


class Damaged(Exception):
    """The compressed data ends early or is invalid. Internal: a source reports it."""


def unpack(raw: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of ``raw``, decompressed if needed. Raise ``Damaged`` at the first error."""
    chunks = iter(raw)
    head = b""
    while len(head) < len(ZSTD):
        piece = next(chunks, b"")
        if not piece:
            break
        head += piece
    chunks = chain([head], chunks) if head else chunks
    if head.startswith(GZIP):
        new_member = partial(zlib.decompressobj, wbits=31)
        return _decompress(chunks, _Packing("gzip", GZIP_FEED_BYTES, new_member, zlib.error, padding=b"\0"))
    if head.startswith(ZSTD) or _SKIPPABLE.match(head):
        import zstandard

        new_frame = zstandard.ZstdDecompressor().decompressobj
        return _decompress(chunks, _Packing("zstd", ZSTD_FEED_BYTES, new_frame, zstandard.ZstdError))
    return chunks


class _Frame(Protocol):
    """A gzip member or zstd frame that is being decompressed."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Packing(NamedTuple):
    """How one format is decompressed."""

    name: str
    feed_bytes: int
    """Passed to a frame at a time."""
    new_frame: Callable[[], _Frame]
    error: type[Exception]
    padding: bytes = b""
    """Bytes that may be between and after frames."""


def _decompress(chunks: Iterator[bytes], packing: _Packing) -> Iterator[bytes]:
    """Decompress frames in turn, until the output is out of proportion to the input."""
    frame, in_frame, is_empty, empty_frames = packing.new_frame(), False, True, 0
    read = written = 0
    for piece in _split_chunks(chunks, packing.feed_bytes):
        rest = piece
        read += len(piece)
        while rest and (in_frame or (rest := rest.lstrip(packing.padding))):
            in_frame = True
            try:
                out = frame.decompress(rest)
            except packing.error as cause:
                raise Damaged(f"the {packing.name} data is damaged ({cause})") from cause
            written += len(out)
            if written > FREE_BYTES + MAX_RATIO * read:
                raise Damaged(
                    f"{read:,} bytes unpack to more than {written >> 20:,} MiB: the rest is not read"
                )
            if out:
                is_empty = False
                yield out
            rest = frame.unused_data if frame.eof else b""
            if frame.eof:
                empty_frames = empty_frames + 1 if is_empty else 0
                if empty_frames > MAX_EMPTY_FRAMES:
                    raise Damaged(f"more than {MAX_EMPTY_FRAMES:,} empty frames in a row")
                frame, in_frame, is_empty = packing.new_frame(), False, True
    if in_frame:
        raise Damaged(f"the file ends in the middle of its {packing.name} data")


def _split_chunks(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), size):
            yield chunk[start : start + size]


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
        raw_head = next(self._raw(), b"")[:64] if self.path else b""
        if self.path is not None and self.peek(len(raw_head)) == raw_head:  # not compressed
            yield self.path
            return
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="clew-") as folder:
            copy = Path(folder, "copy")
            with copy.open("wb") as file:
                file.writelines(self.chunks())
            yield copy

    def _raw_to_peek(self) -> Iterator[bytes]:
        return self._raw()

    def _unpack(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        self.damage = None
        try:
            yield from unpack(raw)
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


def as_source(source: Source | str | os.PathLike[str]) -> Source:
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


MAX_LINE_BYTES = 64 << 20
"""Only the start of a longer line is read: a person did not write it, and it must not fill the memory."""


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, without its line break; bytes that are not UTF-8 are replaced."""
    number, long_line = 1, _LongLine()
    for chunk in source.chunks():
        first, *rest = chunk.split(b"\n")
        long_line.add(first)
        for line in rest:
            yield number, long_line.text()
            number += 1
            long_line = _LongLine()
            long_line.add(line)
    if long_line.size:
        yield number, long_line.text()


class _LongLine:
    """The pieces of a line that spans chunks."""

    __slots__ = ("pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        room = MAX_LINE_BYTES - self.size
        if room > 0:
            self.pieces.append(piece[:room])
        self.size += len(piece)

    def text(self) -> str:
        line = b"".join(self.pieces).removesuffix(b"\r").decode(errors="replace")
        left_out = self.size - MAX_LINE_BYTES
        return f"{line}[… {left_out:,} more bytes of this line are not read]" if left_out > 0 else line
