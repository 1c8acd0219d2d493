"""Detect network file systems, on which SQLite is not safe.

SQLite's write-ahead log needs shared memory and working locks. File systems shared between machines, or
between a machine and its guest, have neither, and fail silently under load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

MOUNTS = Path("/proc/self/mounts")

NETWORK = frozenset(
    (
        *("9p", "drvfs"),  # how WSL mounts Windows drives
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "coda", "ncpfs", "davfs"),
        *("beegfs", "ceph", "glusterfs", "gpfs", "lustre", "orangefs"),
        *("prl_fs", "vboxsf", "virtiofs", "vmhgfs"),  # a host's disk mounted in its guest
        *("fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse"),
    )
)
"""Types of file systems that are not local."""


class Mount(NamedTuple):
    """One line of the mount table."""

    point: str
    type: str


def read_mounts(table: Path = MOUNTS) -> list[Mount]:
    """Return the mount table; empty if the system has no readable one (macOS, Windows)."""
    try:
        text = table.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return [
        Mount(_plain(fields[1]), fields[2])
        for line in text.splitlines()
        if len(fields := line.split(" ")) > 2
    ]


def _plain(field: str) -> str:
    """Decode the octal escapes that the kernel writes for spaces."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def network_type(path: Path, mounts: Iterable[Mount]) -> str | None:
    """Return the type of the network file system that the path is on; None if it is local."""
    if str(path).startswith(("\\\\", "//")):
        return "a Windows share"
    real = path.resolve()
    best: Mount | None = None
    for mount in mounts:
        deeper = best is None or len(mount.point) >= len(best.point)  # of equals, the later is mounted on top
        if deeper and real.is_relative_to(mount.point):
            best = mount
    return best.type if best and best.type in NETWORK else None
