"""Make the environments of the peers, each with its own packages.

    python bench/peers/install.py                    # all of them
    python bench/peers/install.py langchain strands  # these
    python bench/peers/install.py --into FOLDER

Needs uv. Without ``--into`` they go where ``BENCH_ENVS`` says, or to ``.bench-envs`` in the repository.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.catalogue import OWN, Peer, environments, read_peers


def install(peer: Peer, into: Path) -> bool:
    """Make an environment afresh; False where uv could not."""
    folder = into / peer.folder
    made = ["uv", "venv", "--quiet", "--clear", "--python", peer.python, str(folder)]
    filled = ["uv", "pip", "install", "--quiet", "--python", str(peer.interpreter(into))]
    commands = (made, [*filled, "--requirement", str(peer.requirements)])
    return all(subprocess.run(command, check=False).returncode == 0 for command in commands)


def main() -> int:
    """Install what is asked for; say what could not be."""
    peers = read_peers()
    folders = {peer.folder: peer for peer in peers.values() if peer.folder != OWN}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(folders)}; or a peer's name")
    parser.add_argument("--into", type=Path, default=environments())
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in folders and name not in peers]
    if unknown:
        parser.error(f"no peer is called {', '.join(unknown)}")
    wanted = {peers[name].folder if name in peers else name for name in asked.names} or set(folders)
    failed = []
    for folder in sorted(wanted - {OWN}):
        print(folder, flush=True)
        if not install(folders[folder], asked.into.resolve()):
            failed.append(folder)
    if failed:
        print(f"could not be installed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
