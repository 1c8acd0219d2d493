"""Run a command in clew's environment, on a machine that has only Python 3.11 and git.

    python3 scripts/run.py clew demo
    python3 scripts/run.py pytest

Installs what the command needs: uv, into the folder ``.uv``, if there is none; then, through uv, the locked
dependencies. ``clew`` gets those of the package only, and those of the page for a command that serves it;
everything else gets the development tools as well.
"""

import os
import shutil
import ssl
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / ".uv"
NEEDED = (3, 11)


def uv() -> str:
    """Return the path of uv; install it into ``.uv`` if it is not there."""
    found = shutil.which("uv")
    if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
        return found
    folder = OWN / ("Scripts" if os.name == "nt" else "bin")
    own = shutil.which("uv", path=str(folder))
    if own:
        return own
    print("installing uv into .uv (once)", file=sys.stderr)
    python, install = str(folder / "python"), ["install", "--quiet", "uv"]
    try:
        venv.create(OWN, with_pip=False, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", python, *install]
        if subprocess.run(pip, capture_output=True, check=False).returncode:  # no pip, or an old one
            venv.create(OWN, with_pip=True, clear=True)
            subprocess.run([python, "-m", "pip", *install], check=True)
    except subprocess.CalledProcessError as error:
        advice = "install uv or python3-venv, and run this again"
        raise SystemExit(f"uv could not be installed ({error}): {advice}") from None
    return str(folder / "uv")


def main(words: "list[str]") -> int:
    """Run the command; return its exit status."""
    if sys.version_info < NEEDED:
        raise SystemExit(f"Python 3.11 or later is needed; this is {sys.version.split()[0]}")
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    lean = ["--no-default-groups", *_extras(words[1:])] if words[0] == "clew" else []
    command = [uv(), "run", "--project", str(ROOT), "--locked", "--quiet", *lean, *words]
    return subprocess.run(command, env=_environment(), check=False).returncode


def _extras(words: "list[str]") -> "list[str]":
    """Return the options of uv for what a command needs beyond the package."""
    serves = words[:1] in (["inspect"], ["serve"]) or "--inspect" in words
    return ["--extra", "inspector"] if serves else []


def _environment() -> "dict[str, str]":
    """Return the environment: how clew was started, for its hints; uv trusts this machine's certificates."""
    trust = ["UV_SYSTEM_CERTS", "UV_NATIVE_TLS"] if ssl.get_default_verify_paths().cafile else []
    python = "python" if os.name == "nt" else "python3"
    return {**dict.fromkeys(trust, "1"), "CLEW_COMMAND": f"{python} {sys.argv[0]} clew", **os.environ}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
