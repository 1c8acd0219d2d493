"""Which disk a file lies on, and whether SQLite can trust it.

SQLite's write-ahead log needs shared memory and honest locks. File systems shared between machines, or
between a machine and its guest, have neither, and break quietly under load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

MOUNTS = Path("/proc/self/mounts")

NETWORK = frozenset(
    (
        *("9p", "drvfs"),  # how WSL shows Windows drives
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "coda", "ncpfs", "davfs"),
        *("beegfs", "ceph", "glusterfs", "gpfs", "lustre", "orangefs"),
        *("prl_fs", "vboxsf", "virtiofs", "vmhgfs"),  # a machine's disk seen from its guest
        *("fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse"),
    )
)
"""The types of file systems that are not this machine's own."""


class Mount(NamedTuple):
    """One line of the mount table."""

    point: str
    type: str


def read_mounts(table: Path = MOUNTS) -> list[Mount]:
    """Return the mount table; empty where the system has none that can be read (macOS, Windows)."""
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
    """Undo the octal escapes that the kernel writes for blanks."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def network_type(path: Path, mounts: Iterable[Mount]) -> str | None:
    """Return the type of the network file system that the path lies on, or None if it is local."""
    if str(path).startswith(("\\\\", "//")):
        return "a Windows share"
    real = path.resolve()
    best: Mount | None = None
    for mount in mounts:
        deeper = best is None or len(mount.point) >= len(best.point)  # of equals, the later lies on top
        if deeper and real.is_relative_to(mount.point):
            best = mount
    return best.type if best and best.type in NETWORK else None
