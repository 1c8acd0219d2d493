"""What to do on disks that are not local."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum

from clew.errors import InputError


class NetworkDisk(StrEnum):
    """What to do when the store would lie on a network file system."""

    REFUSE = "refuse"
    """Say so and stop: the default, because such disks lose data quietly."""
    EXCLUSIVE = "exclusive"
    """Do without shared memory: a rollback journal, and one process at a time."""


def network_disk(env: Mapping[str, str] = os.environ) -> NetworkDisk:
    """Return what ``CLEW_NETWORK_DISK`` asks for."""
    chosen = env.get("CLEW_NETWORK_DISK") or NetworkDisk.REFUSE
    try:
        return NetworkDisk(chosen)
    except ValueError:
        raise InputError(f"CLEW_NETWORK_DISK is {chosen!r}, not 'refuse' or 'exclusive'") from None
