"""Which disks SQLite may be trusted on."""

from pathlib import Path

import pytest

from clew.errors import InputError, StoreBusy, UnsafeFileSystem
from clew.log import new_event
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.log.store.connection import Mount, network_type, read_mounts
from clew.settings import NetworkDisk, clew_home, network_disk, store_path

CTX = Ctx(workspace="north", session="main")

TABLE = """\
/dev/sda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/fast xfs rw 0 0
drvfs /mnt/c 9p rw,dirsync,aname=drvfs 0 0
me@host:/ /media/my\\040box fuse.sshfs rw 0 0
//nas/share /srv/nas cifs rw 0 0
tmpfs /srv/nas/local tmpfs rw 0 0
half a line
"""


@pytest.fixture
def mounts(tmp_path):
    table = tmp_path / "mounts"
    table.write_text(TABLE)
    return read_mounts(table)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/.local/share/clew/clew.db", "nfs4"),
        ("/home", "nfs4"),
        ("/home/fast/clew.db", None),
        ("/homework/clew.db", None),
        ("/mnt/c/Users/ann/clew.db", "9p"),
        ("/media/my box/clew.db", "fuse.sshfs"),
        ("/srv/nas/clew.db", "cifs"),
        ("/srv/nas/local/clew.db", None),
        ("/var/lib/clew.db", None),
        ("//server/share/clew.db", "a Windows share"),
        ("\\\\server\\share\\clew.db", "a Windows share"),
    ],
)
def test_the_deepest_mount_decides(mounts, path, kind):
    assert network_type(Path(path), mounts) == kind


def test_of_two_mounts_in_one_place_the_later_lies_on_top():
    table = [Mount("/data", "nfs"), Mount("/data", "ext4")]
    assert network_type(Path("/data/x"), table) is None
    assert network_type(Path("/data/x"), table[::-1]) == "nfs"


def test_a_link_to_a_network_disk_is_seen_through(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    far = [Mount(str((tmp_path / "far").resolve()), "nfs")]
    assert network_type(tmp_path / "near" / "clew.db", far) == "nfs"


def test_without_a_mount_table_every_disk_is_taken_for_local(tmp_path):
    assert read_mounts(tmp_path / "no such file") == []
    assert network_type(tmp_path, []) is None


def over_nfs():
    return [Mount("/", "nfs")]


def test_a_network_disk_is_refused_with_advice_and_nothing_is_made(path):
    with pytest.raises(
        UnsafeFileSystem, match=r"is on a network file system \(nfs\): .* keep the store on a local disk"
    ):
        SqliteStore(path, mounts=over_nfs)
    assert not path.parent.exists()


def test_on_request_a_network_disk_is_used_without_shared_memory(path, open_sqlite):
    store = open_sqlite(network=NetworkDisk.EXCLUSIVE, mounts=over_nfs)
    store.append(CTX, [new_event("note", {"text": "x" * 10_000})], None)
    assert {file.name for file in path.parent.iterdir()} == {"clew.db", "clew.db-journal"}
    assert len(list(store.read(CTX))) == 1


def test_a_network_disk_is_used_by_one_at_a_time(path, open_sqlite):
    open_sqlite().close()
    store = open_sqlite(network=NetworkDisk.EXCLUSIVE, mounts=over_nfs)
    with pytest.raises(StoreBusy):
        SqliteStore(path, busy_s=0.01, network=NetworkDisk.EXCLUSIVE, mounts=over_nfs)
    store.close()
    assert open_sqlite(network=NetworkDisk.EXCLUSIVE, mounts=over_nfs).head(CTX).seq == 0


def test_a_store_moves_to_a_network_disk_and_back(path):
    events = [new_event("note", {"n": n}) for n in range(3)]
    for n, settings in enumerate([{}, {"network": NetworkDisk.EXCLUSIVE, "mounts": over_nfs}, {}]):
        with SqliteStore(path, **settings) as store:
            store.append(CTX, [events[n]], None)
    with SqliteStore(path) as store:
        assert [stored.event for stored in store.read(CTX)] == events


# Settings ---------------------------------------------------------------------------------------------

HOME = Path.home()


@pytest.mark.parametrize(
    ("env", "platform", "home"),
    [
        ({"CLEW_HOME": "/somewhere"}, "linux", Path("/somewhere")),
        ({"CLEW_HOME": "~/mine"}, "darwin", HOME / "mine"),
        ({"CLEW_HOME": "", "XDG_DATA_HOME": "/xdg"}, "linux", Path("/xdg/clew")),
        ({"XDG_DATA_HOME": "relative"}, "linux", HOME / ".local/share/clew"),
        ({}, "linux", HOME / ".local/share/clew"),
        ({"XDG_DATA_HOME": "/xdg"}, "darwin", HOME / "Library/Application Support/clew"),
        ({"LOCALAPPDATA": "/local"}, "win32", Path("/local/clew")),
        ({}, "win32", HOME / "AppData/Local/clew"),
    ],
)
def test_the_data_lies_where_the_platform_keeps_such_things(env, platform, home):
    assert clew_home(env, platform) == home
    assert store_path(env, platform) == home / "clew.db"


def test_a_home_that_depends_on_where_one_stands_is_refused():
    with pytest.raises(InputError, match="not an absolute path"):
        clew_home({"CLEW_HOME": "here"})


def test_network_disks_are_refused_unless_the_environment_says_otherwise():
    assert network_disk({}) is network_disk({"CLEW_NETWORK_DISK": ""}) is NetworkDisk.REFUSE
    assert network_disk({"CLEW_NETWORK_DISK": "exclusive"}) is NetworkDisk.EXCLUSIVE
    with pytest.raises(InputError, match="'maybe', not 'refuse' or 'exclusive'"):
        network_disk({"CLEW_NETWORK_DISK": "maybe"})
