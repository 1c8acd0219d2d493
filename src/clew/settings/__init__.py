"""What a person can set, read from the environment. See README.md."""

from clew.settings.disks import NetworkDisk, network_disk
from clew.settings.paths import clew_home, store_path

__all__ = ["NetworkDisk", "clew_home", "network_disk", "store_path"]
