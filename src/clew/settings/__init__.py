"""What a person can set, and where it was set. See README.md."""

from clew.settings.configured import Configured, configured
from clew.settings.disks import NetworkDisk, network_disk
from clew.settings.paths import clew_home, store_path
from clew.settings.values import Preset, Settings

__all__ = [
    "Configured",
    "NetworkDisk",
    "Preset",
    "Settings",
    "clew_home",
    "configured",
    "network_disk",
    "store_path",
]
