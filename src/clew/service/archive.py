"""Old sessions in object storage: exported, read back and compared, then deleted from the database."""

from __future__ import annotations

import tempfile
from datetime import datetime
from hashlib import sha256
from typing import IO, Any
from urllib.parse import quote

from clew.errors import MissingExtra, NotFound, StoreError
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from clew.log.transfer import export_session_zstd

try:
    import fsspec
except ImportError as cause:
    raise MissingExtra("clew[archive]") from cause

CHUNK = 1 << 20
"""Bytes read at a time to compare an archived file; chosen by hand."""


def archive(store: PostgresStore, workspace: str, unchanged_since: datetime, address: str) -> list[str]:
    """Move the sessions without an append since a time to ``address``; return the paths of their files.

    ``address`` is a folder or any address that fsspec opens, such as ``s3://bucket/clew`` (with s3fs). A
    session that is appended to meanwhile stays. A file is what `clew export` writes; `clew import` restores
    it, with its hashes. Deleting a person or a workspace later does not reach files that were moved before.
    """
    paths = []
    for session in store.unchanged(workspace, unchanged_since):
        ctx = Ctx(workspace=workspace, session=session)
        with tempfile.NamedTemporaryFile(prefix="clew-archive-") as file:
            try:
                head = export_session_zstd(store, ctx, file)
            except NotFound:
                continue  # another process archived it
            file.flush()
            name = f"{_file_name(workspace)}/{_file_name(session)}-{head.hash.rpartition(':')[2][:16]}"
            paths.append(_copy(file, address, f"{name}.clew.zst"))
        store.forget(workspace, session, unchanged_since=unchanged_since)
    return paths


def _file_name(name: str) -> str:
    """Return a name as one part of a path, never ``.`` or ``..``."""
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def _copy(file: IO[bytes], address: str, name: str) -> str:
    """Copy a file and compare what can be read back; return its path."""
    try:
        filesystem, root = fsspec.core.url_to_fs(address)
        path = f"{root.rstrip('/')}/{name}"
        filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        filesystem.put_file(file.name, path)
        with filesystem.open(path, "rb") as copy:
            copied = _digest(copy)
    except Exception as cause:  # each storage has error types of its own
        raise StoreError(f"the archive {address}: {type(cause).__name__}: {cause}") from cause
    file.seek(0)
    if copied != _digest(file):
        raise StoreError(f"the archive {address} returned other bytes than were written to {name}")
    return str(path)


def _digest(file: Any) -> str:  # noqa: ANN401 - fsspec has no types
    found = sha256()
    while chunk := file.read(CHUNK):
        found.update(chunk)
    return found.hexdigest()
