"""Settings from files, variables and flags: precedence, trust and error messages."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.log.store import MemoryStore
from clew.session import Session, compact
from clew.settings import KEYS, Preset, Settings, Threshold, is_foreign, load_settings, store_path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def env(home: Path, **more: str) -> dict[str, str]:
    return {"CLEW_HOME": str(home), **more}


def test_every_field_of_settings_is_a_key() -> None:
    assert list(KEYS) == [field.name for field in fields(Settings)]


def test_defaults_without_any_source(home: Path, project: Path) -> None:
    found = load_settings(env=env(home), start=project)
    assert found.settings == Settings(home=home, store=home / "clew.db")
    assert found.origins == {"home": "CLEW_HOME"}


def test_the_stronger_source_wins(home: Path, project: Path) -> None:
    (home / "clew.toml").write_text("window = 1\nkeep_messages = 1\nauto = true\nkeep_tokens = 1\n")
    (project / "clew.toml").write_text("window = 2\nkeep_messages = 2\nkeep_tokens = 2\n")
    (project / "pyproject.toml").write_text(
        "[project]\nname = 'x'\n[tool.clew]\nwindow = 3\nkeep-tokens = 3\n"
    )
    found = load_settings({"window": 5}, env(home, CLEW_WINDOW="4", CLEW_KEEP_TOKENS="4"), project)
    got = found.settings
    assert (got.window, got.keep_tokens, got.keep_messages, got.auto) == (5, 4, 2, True)
    assert found.origins == {
        "home": "CLEW_HOME",
        "window": "--window",
        "keep_tokens": "CLEW_KEEP_TOKENS",
        "keep_messages": f"{project / 'clew.toml'}:2",
        "auto": f"{home / 'clew.toml'}:3",
    }


def test_a_file_of_the_project_is_found_from_below_but_not_from_outside(home: Path, project: Path) -> None:
    (project.parent / "clew.toml").write_text("window = 1\n")
    (project / "pyproject.toml").write_text("[tool.clew]\n\npreset = 'early'\n")
    (project / "a" / "b").mkdir(parents=True)
    found = load_settings(env=env(home), start=project / "a" / "b")
    assert (found.settings.preset, found.settings.window) == (Preset.EARLY, None)
    assert found.origins["preset"] == f"{project / 'pyproject.toml'}:3"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("windwo = 3", "clew.toml:1: there is no setting 'windwo'; did you mean window?"),
        ("\nwindow = 'many'", "clew.toml:2: window is 'many', expected a whole number, 0 or more"),
        ("window = 0", "clew.toml:1: window is 0, expected a whole number, 1 or more"),
        ("compact_at = 85", "expected a fraction above 0 and at most 1, like 0.85 or 85%"),
        ("window = '20km'", "window is '20km', expected a whole number, 0 or more"),
        ("compact_at = '85%, 90%'", 'a number of tokens from 1,000, like 120k, or both: "85%, 120k"'),
        ("compact_at = '9k'\ndown_to = 9000", "compacting at 9,000 tokens down to 9,000 frees nothing"),
        ("auto = 'maybe'", "auto is 'maybe', expected true or false"),
        ("preset = 'late'", "expected one of default, early"),
        ("compact_at = 0.5\ndown_to = 0.6", "compacting at 50% down to 60% frees nothing"),
        ("model = 3", "model is 3, expected text in quotes"),
        ("window = ", "is not valid TOML: Invalid value (at line 1"),
        ("home = '/x'", "only the variable CLEW_HOME can"),
        ("store = '/x'", "only the variable CLEW_STORE can"),
    ],
)
def test_an_invalid_value_is_an_error_that_names_its_place(
    home: Path, project: Path, line: str, message: str
) -> None:
    (project / "clew.toml").write_text(f"{line}\n")
    with pytest.raises(InputError) as error:
        load_settings(env=env(home), start=project)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        "base_url = 'https://elsewhere.example'",
        "mask_secrets = false",
        "trust_roots = ['/']",
        "offline = false",
        "model = 'openai/x@https://elsewhere.example'",
    ],
)
def test_a_project_cannot_redirect_sessions_or_disable_protection(
    home: Path, project: Path, line: str
) -> None:
    (home / "clew.toml").write_text(f"{line}\n")
    load_settings(env=env(home), start=project)  # the person may
    (project / "clew.toml").write_text(f"{line}\n")
    with pytest.raises(InputError, match="which a project may not"):
        load_settings(env=env(home), start=project)


def test_variables_are_parsed_like_toml(home: Path, project: Path) -> None:
    words = {"CLEW_COMPACT_AT": "80%", "CLEW_AUTO": "on", "CLEW_WINDOW": "32k", "CLEW_TRUST_ROOTS": "/a:/b"}
    got = load_settings(env=env(home, **words), start=project).settings
    assert got.compact_at == Threshold(share=0.8)
    assert (got.auto, got.window, got.trust_roots) == (True, 32_000, (Path("/a"), Path("/b")))


@pytest.mark.parametrize(
    ("words", "share", "tokens"),
    [
        ("0.8", 0.8, None),
        ("120000", None, 120_000),
        ("120k", None, 120_000),
        ("1", 1.0, None),
        ("85%, 120k", 0.85, 120_000),
        ("120_000, 0.85", 0.85, 120_000),
        ("90%,120000", 0.9, 120_000),
        ("0.9,120k", 0.9, 120_000),
        ("120k,90%", 0.9, 120_000),
    ],
)
def test_a_threshold_is_a_fraction_a_number_of_tokens_or_both(
    home: Path, project: Path, words: str, share: float | None, tokens: int | None
) -> None:
    got = load_settings(env=env(home, CLEW_COMPACT_AT=words), start=project).settings
    assert got.compact_at == (share, tokens)


def test_an_unknown_variable_is_a_warning(home: Path, project: Path) -> None:
    found = load_settings(env=env(home, CLEW_WINDOWS="1", CLEW_PAGER="less"), start=project)
    assert found.warnings == ("CLEW_WINDOWS is not a setting; did you mean CLEW_WINDOW?",)


def test_every_variable_that_clew_reads_is_known(home: Path, project: Path) -> None:
    package = Path(clew.__file__).parent
    names = {
        name
        for file in package.rglob("*.py")
        for name in re.findall(r"[\"'](CLEW_[A-Z_]+)[\"']", file.read_text("utf-8"))
    }
    others = dict.fromkeys(names - {key.variable for key in KEYS.values()}, "x")
    assert "CLEW_HOOK" in others
    assert load_settings(env=env(home, **others), start=project).warnings == ()


def test_the_store_can_be_elsewhere(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "big" / "log.db"
    assert store_path(env(home, CLEW_STORE=str(elsewhere))) == elsewhere
    assert load_settings(env=env(home, CLEW_STORE=str(elsewhere)), start=home).settings.store == elsewhere


CHOSEN = "model = 'openai/gpt-5'\nsummariser = 'openai/gpt-5'\nauto = true\nwindow = 9\n"


def test_an_untrusted_project_cannot_change_the_users_model(home: Path, project: Path) -> None:
    (home / "clew.toml").write_text("model = 'ollama/llama'\n")
    (project / "clew.toml").write_text(CHOSEN)
    found = load_settings(env=env(home), start=project)
    got = found.settings
    assert (got.model, got.summariser, got.auto, got.window) == ("ollama/llama", "", True, 9)
    assert found.warnings[0] == (
        f"{project / 'clew.toml'}:1: model is ignored: "
        "your own settings choose the model, and trust_roots does not hold this project"
    )
    assert len(found.warnings) == 2


def test_a_project_chooses_the_model_if_the_user_did_not(home: Path, project: Path) -> None:
    (project / "clew.toml").write_text(CHOSEN)
    found = load_settings(env=env(home), start=project)
    assert (found.settings.model, found.settings.auto) == ("openai/gpt-5", True)
    assert found.warnings == ()


def test_a_trusted_project_may_choose_the_model(home: Path, project: Path) -> None:
    (project / "clew.toml").write_text(CHOSEN)
    found = load_settings(env=env(home, CLEW_TRUST_ROOTS=str(project.parent)), start=project)
    got = found.settings
    assert (got.model, got.summariser, got.auto, got.window) == ("openai/gpt-5", "openai/gpt-5", True, 9)
    assert found.warnings == ()


def test_a_file_is_foreign_if_neither_the_user_nor_root_owns_it(project: Path) -> None:
    file = project / "clew.toml"
    file.write_text("window = 9\n")
    owner = file.stat().st_uid
    assert not is_foreign(file, owner)
    assert is_foreign(file, owner + 1) is (owner != 0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_foreign_file_is_ignored_unless_its_folder_is_trusted(home: Path, project: Path) -> None:
    file = project / "clew.toml"
    file.write_text("window = 9\n")
    os.chown(file, 4_321, -1)
    found = load_settings(env=env(home), start=project)
    assert found.settings.window is None
    assert found.warnings == (f"{file} is ignored: it belongs to another user",)
    trusting = load_settings(env=env(home, CLEW_TRUST_ROOTS=str(project)), start=project)
    assert trusting.settings.window == 9


@pytest.mark.parametrize("text", ["window = 'wide'\n", "no_such_key = 1\n", "home = '/x'\n", "not TOML"])
def test_mistakes_in_a_foreign_file_are_ignored(
    home: Path, project: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "clew.toml"
    file.write_text(text)
    monkeypatch.setattr("clew.settings.is_foreign", lambda path: path == file)
    found = load_settings(env=env(home), start=project)
    assert found.warnings == (f"{file} is ignored: it belongs to another user",)


def test_an_ignored_value_may_be_wrong(home: Path, project: Path) -> None:
    (home / "clew.toml").write_text("model = 'anthropic/claude-sonnet-4-5'\n")
    (project / "clew.toml").write_text("model = 3\n")
    found = load_settings(env=env(home), start=project)
    assert "clew.toml:1: model is ignored" in found.warnings[0]


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, "window = " + "9" * 5_000])
def test_an_unreadable_file_is_an_error(home: Path, project: Path, text: str) -> None:
    (project / "clew.toml").write_text(text)
    with pytest.raises(InputError, match=r"clew\.toml is "):
        load_settings(env=env(home), start=project)


def test_the_switch_is_read_by_library_calls_too(monkeypatch: pytest.MonkeyPatch):
    messages = [{"role": "user", "content": f"line {n} of many, all to be read. " * 40} for n in range(200)]
    assert compact(messages, 4_000).messages != messages
    monkeypatch.setenv("CLEW_OFF", "1")
    assert compact(messages, 4_000).messages == messages
    assert Session.open("any", MemoryStore()).is_off
    monkeypatch.setenv("CLEW_OFF", "perhaps")
    with pytest.raises(InputError, match="CLEW_OFF"):
        Session.open("any", MemoryStore())
