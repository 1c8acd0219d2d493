from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli import main
from clew.errors import InputError
from clew.hosts.codex_files import add_hooks, add_server, remove_hooks, remove_server
from clew.hosts.install import HOSTS, command

TOML = '# my settings\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x"'
HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type":"command","command":"beep"}]}],\n "SessionStart": []}}'


def files(home: Path) -> dict[str, bytes]:
    """Return every file with its content, and every folder as if it were empty."""
    found = (path for path in home.rglob("*") if home / "clew" not in (path, *path.parents))
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else b"" for path in found}


def before_codex(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(TOML)
    (home / ".codex" / "hooks.json").write_text(HOOKS)


@pytest.mark.parametrize("tool", HOSTS)
def test_removing_restores_every_file_to_the_byte(tool: str, home: Path) -> None:
    before_codex(home)
    before = files(home)
    assert main(["install", tool]) == 0
    first = files(home)
    assert first != before
    assert main(["install", tool]) == 0
    assert files(home) == first  # doing it again changes nothing
    assert main(["uninstall", tool]) == 0
    assert files(home) == before
    assert main(["uninstall", tool]) == 0
    assert files(home) == before


@pytest.mark.parametrize("tool", HOSTS)
def test_an_installation_of_an_older_version_is_removed_with_its_folders(tool: str, home: Path) -> None:
    assert main(["install", tool]) == 0
    record = home / "clew" / "hosts" / "installed" / f"{tool}.json"
    record.write_text(
        json.dumps({**json.loads(record.read_bytes()), "folders": None}).replace("folders", "x")
    )
    assert main(["uninstall", tool]) == 0
    assert not [name for name in files(home) if "clew" in name]


@pytest.mark.parametrize("tool", HOSTS)
def test_a_dry_run_shows_a_diff_and_writes_nothing(
    tool: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before_codex(home)
    before = files(home)
    assert main(["install", tool, "--dry-run"]) == 0
    out, said = capsys.readouterr()
    assert said.startswith("Dry run: nothing is written.")
    assert f"`clew uninstall {tool}` restores them" in " ".join(said.split())
    assert "+++ " in out
    assert " hook " in out or "CLEW" in out
    assert files(home) == before
    assert not (home / "clew").exists()


@pytest.mark.parametrize("tool", HOSTS)
def test_what_is_installed_names_this_very_clew(tool: str, home: Path) -> None:
    main(["install", tool])
    written = b"".join(files(home).values()).decode()
    assert json.dumps(command()[0])[1:-1] in written
    assert '"clew hook' not in written
    assert '"command": "clew"' not in written
    assert '["clew"]' not in written


def test_what_others_wrote_since_stays(home: Path) -> None:
    before_codex(home)
    main(["install", "codex"])
    config, hooks = home / ".codex" / "config.toml", home / ".codex" / "hooks.json"
    config.write_text(config.read_text() + '\n[projects."/p"]\ntrust_level = "trusted"\n')
    more = json.loads(hooks.read_text())
    more["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "boop"}]})
    hooks.write_text(json.dumps(more))
    main(["uninstall", "codex"])
    assert config.read_text() == TOML + '\n\n[projects."/p"]\ntrust_level = "trusted"\n'
    left = json.loads(hooks.read_text())["hooks"]
    assert [one["hooks"][0]["command"] for one in left["Stop"]] == ["beep", "boop"]
    assert "PreCompact" not in left


def test_installing_over_an_older_version_still_restores_the_original(home: Path) -> None:
    before_codex(home)
    before = files(home)
    main(["install", "codex"])
    hooks = home / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"timeout": 20', '"timeout": 5'))
    main(["install", "codex"])
    assert '"timeout": 20' in hooks.read_text()
    main(["uninstall", "codex"])
    assert files(home)[".codex/config.toml"] == before[".codex/config.toml"]
    left, was = (json.loads(one[".codex/hooks.json"])["hooks"] for one in (files(home), before))
    assert left["Stop"] == was["Stop"]
    assert not left.get("SessionStart")
    assert "PreCompact" not in left


def test_a_file_of_the_user_in_our_place_comes_back(home: Path) -> None:
    own = home / ".config" / "opencode" / "plugins" / "clew.js"
    own.parent.mkdir(parents=True)
    own.write_text("// mine\n")
    main(["install", "opencode"])
    assert own.read_text() != "// mine\n"
    main(["uninstall", "opencode"])
    assert own.read_text() == "// mine\n"


def test_what_cannot_be_merged_is_told_and_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before_codex(home)
    (home / ".codex" / "hooks.json").write_text("{nope")
    assert main(["install", "codex"]) == 2
    assert "hooks.json is not JSON" in capsys.readouterr().err
    assert (home / ".codex" / "config.toml").read_text() == TOML
    assert main(["install", "emacs"]) == 2
    assert "use one of claude-code" in capsys.readouterr().err


def test_a_server_of_that_name_is_not_overwritten() -> None:
    with pytest.raises(InputError, match="already has an MCP server"):
        add_server(b'[mcp_servers.clew]\ncommand = "x"\n', ["clew", "mcp"])


groups = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"command": st.text(max_size=9)}), max_size=2)}
)
hook_files = st.fixed_dictionaries(
    {
        "hooks": st.dictionaries(
            st.sampled_from(["Stop", "PreCompact", "SessionStart"]), st.lists(groups, max_size=3)
        )
    }
)


@given(hook_files)
def test_adding_hooks_and_taking_them_out_again_gives_the_same_hooks(whole: dict[str, object]) -> None:
    base = json.dumps(whole).encode()
    added = add_hooks(base, "/bin/clew hook codex")
    assert len(json.loads(added)["hooks"]["PreCompact"]) == 1 + len(whole["hooks"].get("PreCompact", []))  # type: ignore[attr-defined]
    left = remove_hooks(added)
    kept = {event: one for event, one in whole["hooks"].items() if one}  # type: ignore[attr-defined]
    assert {event: one for event, one in json.loads(left or b'{"hooks": {}}')["hooks"].items() if one} == kept


@given(
    st.sampled_from(["", TOML, TOML + "\n", "# only a remark", "a = 1\n\n\n"]),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
def test_adding_a_server_gives_toml_and_taking_it_out_the_same_settings(text: str, path: str) -> None:
    added = add_server(text.encode(), [path, "mcp"])
    parsed = tomllib.loads(added.decode())
    assert parsed["mcp_servers"]["clew"] == {"command": path, "args": ["mcp"]}
    left = remove_server(added)
    assert tomllib.loads((left or b"").decode()) == tomllib.loads(text)


def test_the_plug_in_folder_follows_both_standards() -> None:
    folder = Path(__file__).parents[2] / "src" / "clew" / "hosts" / "plugins" / "claude-code"
    portable = json.loads((folder / "plugin.json").read_text())
    allowed = {
        "$schema",
        "name",
        "version",
        "description",
        "author",
        "homepage",
        "repository",
        "license",
        "keywords",
    }
    assert portable.keys() <= allowed
    assert portable["$schema"] == "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
    server = json.loads((folder / "mcp.json").read_text())["mcpServers"]["clew"]
    assert server == {"type": "stdio", "command": "clew", "args": ["mcp"]}
    own = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert own["name"] == portable["name"] == "clew"
    assert own["version"] == portable["version"]
    for skill in (folder / "skills").iterdir():
        assert f"name: {skill.name}\n" in (skill / "SKILL.md").read_text()
