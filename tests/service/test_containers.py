"""Dockerfile and compose file, as far as they can be checked without a container engine.

What they name exists, the command is one that clew accepts, and the script of the database gives clew a role
and a database that it can use.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
pytest.importorskip("yaml", reason="PyYAML is not installed")

import yaml

from clew.cli import main
from clew.log.store.postgres import PostgresStore
from clew.testing.postgres import PostgresServer, find_binaries
from tests.conftest import ROOT
from tests.postgres import the_server

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_the_image_copies_what_exists_and_installs_extras_that_exist():
    for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.M):
        assert all((ROOT / name).exists() for name in shlex.split(line)[:-1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"'\.\[(.*?)\]'", DOCKERFILE)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_the_package_can_be_built_from_what_the_image_copies(tmp_path):
    """What `pip install .` needs is in the image: readme, licences, and files included by name."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, build = pyproject["project"], pyproject["tool"]["hatch"]["build"]
    included = [*build.get("force-include", {}), *build["targets"]["wheel"].get("force-include", {})]
    for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.M):
        *names, target = shlex.split(line)
        for name in names:
            place = tmp_path / target / (Path(name).name if target.endswith("/") else "")
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            place.parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, place)
    needed = [project["readme"], *project.get("license-files", []), *included, "pyproject.toml"]
    assert included
    assert [name for name in needed if not (tmp_path / name).exists()] == []


def test_the_command_of_the_container_is_one_that_clew_accepts(capsys):
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.M)
    program, *arguments = json.loads(entry)
    assert program == "clew"
    with pytest.raises(SystemExit) as ended:  # help is printed once all arguments before it were accepted
        main([*arguments, *SERVICES["clew"]["command"], "--help"])
    assert ended.value.code == 0
    assert "--store" in capsys.readouterr().out
    port = arguments[arguments.index("--port") + 1]
    assert f"EXPOSE {port}" in DOCKERFILE
    assert all(one.endswith(f":{port}") for one in SERVICES["clew"]["ports"])


def test_the_script_of_the_database_gives_clew_what_it_needs():
    the_server()  # skips if there is no server program
    psql = find_binaries() / "psql"
    if not psql.exists():
        pytest.skip("no psql next to the server's programs")
    (script,) = [one for one in SERVICES["database"]["volumes"] if one.endswith(".sql:ro")]
    with PostgresServer(durable=False) as server:
        fresh = server.admin.replace("postgres?", "template1?")
        for statement in ("DROP DATABASE clew", "DROP ROLE clew"):
            server._admin(statement)
        command = [psql, "-v", "ON_ERROR_STOP=1", "-d", fresh, "-f", ROOT / script.partition(":")[0]]
        secret = {**os.environ, "POSTGRES_PASSWORD": 'it\'s a "secret"'}
        done = subprocess.run(command, env=secret, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with PostgresStore(server.address) as store:
            assert store.isolated
            assert store.connections.run(
                "x", lambda c, _: c.execute(b"SELECT '[1]'::public.vector").fetchone()
            )
