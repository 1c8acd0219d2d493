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
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from clew.errors import InputError, NotFound

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
# A frame without data; parallel compressors start their files with one.
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
STEP_BYTES = 1 << 20
# One zstd block of 4 bytes can expand to 128 KiB, so 2 KiB of input expand to 64 MiB at worst.
ZSTD_FEED_BYTES = 2 << 10
# The rest of the input is copied each time a member ends, so little is passed at a time.
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
    counted = _CountedChunks(chain([head], chunks) if head else chunks)
    if head.startswith(GZIP):
        return _limit_ratio(_gunzip(counted), counted)
    if head.startswith(ZSTD) or _SKIPPABLE.match(head):
        return _limit_ratio(_unzstd(counted), counted)
    return counted


class _CountedChunks(Iterator[bytes]):
    """Passes chunks on and counts their bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.size = 0

    def __next__(self) -> bytes:
        chunk = next(self._chunks)
        self.size += len(chunk)
        return chunk


def _limit_ratio(pieces: Iterator[bytes], fed: _CountedChunks) -> Iterator[bytes]:
    """Pass decompressed data on until it is out of proportion to the input."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > FREE_BYTES + MAX_RATIO * fed.size:
            raise Damaged(f"{fed.size:,} bytes unpack to more than {size >> 20:,} MiB: the rest is not read")
        yield piece


class _EmptyFrameLimit:
    """Counts empty frames in a row."""

    def __init__(self) -> None:
        self._empty = 0

    def ended(self, *, empty: bool) -> None:
        self._empty = self._empty + 1 if empty else 0
        if self._empty > MAX_EMPTY_FRAMES:
            raise Damaged(f"more than {MAX_EMPTY_FRAMES:,} empty frames in a row")


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip members in turn; zero padding between and after them is allowed."""
    member = zlib.decompressobj(wbits=31)
    fed, empty, frames = False, True, _EmptyFrameLimit()
    for piece in _split_chunks(chunks, GZIP_FEED_BYTES):
        rest = piece
        while rest:
            if not fed and not (rest := rest.lstrip(b"\0")):
                break
            fed = True
            if out := _inflate(member, rest):
                empty = False
                yield out
            rest = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                frames.ended(empty=empty)
                member, fed, empty = zlib.decompressobj(wbits=31), False, True
    while fed and (out := _inflate(member, member.unconsumed_tail)):
        yield out
    if fed and not member.eof:
        raise Damaged("the file ends in the middle of its gzip data")


def _inflate(member: zlib._Decompress, data: bytes) -> bytes:
    try:
        return member.decompress(data, STEP_BYTES)
    except zlib.error as cause:
        raise Damaged(f"the gzip data is damaged ({cause})") from cause


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress zstd frames in turn."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    frame = unpacker.decompressobj()
    fed, empty, frames = False, True, _EmptyFrameLimit()
    for piece in _split_chunks(chunks, ZSTD_FEED_BYTES):
        rest = piece
        while rest:
            fed = True
            try:
                out = frame.decompress(rest)
            except zstandard.ZstdError as cause:
                raise Damaged(f"the zstd data is damaged ({cause})") from cause
            if out:
                empty = False
                yield out
            rest = frame.unused_data if frame.eof else b""
            if frame.eof:
                frames.ended(empty=empty)
                frame, fed, empty = unpacker.decompressobj(), False, True
    if fed:
        raise Damaged("the file ends in the middle of its zstd data")


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
