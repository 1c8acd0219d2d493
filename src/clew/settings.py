"""User settings: ``clew.toml``, ``[tool.clew]`` of ``pyproject.toml``, ``CLEW_…`` variables and flags.

``load_settings()`` merges them: the later source wins, and each value records where it was set. To add one,
add a field to ``Settings`` and a row to ``KEYS``: its variable, its key in files and its line in
``clew config`` follow from those. Nothing is read at import, and no file is ever created here.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, TypeVar

from clew.errors import InputError

Choice = TypeVar("Choice", bound=StrEnum)


class NetworkDisk(StrEnum):
    """What to do if the store would be on a network file system."""

    REFUSE = "refuse"
    """Raise an error. The default, because SQLite can lose data on such disks without any error."""
    EXCLUSIVE = "exclusive"
    """Use a rollback journal instead of shared memory, and allow one process at a time."""


class Preset(StrEnum):
    """When compaction starts and how far it goes, unless ``compact_at`` and ``down_to`` are set."""

    DEFAULT = "default"
    """At 85 % of the usable window, down to 30 %."""
    EARLY = "early"
    """At 75 %, down to 30 %: for models that get worse as their window fills."""


class Threshold(NamedTuple):
    """A fraction of the usable window, a number of tokens, or both, in which case the smaller applies."""

    share: float | None = None
    tokens: int | None = None

    def __str__(self) -> str:
        return ", ".join(str(item) for item in self if item is not None)


class SettableBy(StrEnum):
    """Who may set a setting. A project may come from a stranger, so it may not set everything."""

    ANYBODY = "anybody"
    TRUSTED = "trusted"
    """The user, or a project in one of their ``trust_roots``: it decides which model reads the session."""
    PERSON = "person"
    """Only the user: in clew's home, the environment or a flag."""
    ENVIRONMENT = "environment"
    """Only an environment variable: it locates the files that hold the other settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in effect. ``KEYS`` says what each field means."""

    home: Path | None = None
    store: Path | str | None = None
    network_disk: NetworkDisk = NetworkDisk.REFUSE

    model: str = ""
    base_url: str = ""
    offline: bool = False
    summariser: str = ""
    judge_rules: bool = True

    window: int | None = None
    preset: Preset = Preset.DEFAULT
    compact_at: Threshold | None = None
    down_to: Threshold | None = None
    keep_messages: int | None = None
    keep_tokens: int = 0
    auto: bool = False
    off: bool = False

    notes_tokens: int = 500
    recall_everywhere: bool = False
    encoder: Path | None = None
    trust_roots: tuple[Path, ...] = ()
    policy_file: Path | None = None
    mask_secrets: bool = True


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in effect, and where each was set."""

    settings: Settings
    origins: Mapping[str, str]
    """By setting name: ``clew.toml:3``, ``CLEW_WINDOW``, ``--window``. Defaults are not listed."""
    warnings: tuple[str, ...] = ()


# Parsing one value: each parser takes a TOML value or the text of a variable or flag, and returns the typed
# value or raises ``ValueError`` with what it expected.

Parser: TypeAlias = Callable[[object], object]

_YES_NO = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text in quotes")  # noqa: TRY004 - the value is wrong, not the caller
    return value.strip()


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    known = _YES_NO.get(value.strip().lower()) if isinstance(value, str) else None
    if known is None:
        raise ValueError("expected true or false")
    return known


def _count(value: object) -> int:
    """Parse a whole number of 0 or more: 200000, 200_000, 200k."""
    number = -1
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str):
        written = value.strip().lower().replace("_", "").replace(",", "")
        factor = {"k": 1_000, "m": 1_000_000}.get(written[-1:], 1)
        digits = written if factor == 1 else written[:-1]
        number = int(digits) * factor if digits.isdecimal() else -1
    if number < 0:
        raise ValueError("expected a whole number, 0 or more")
    return number


def _positive(value: object) -> int:
    number = _count(value)
    if not number:
        raise ValueError("expected a whole number, 1 or more")
    return number


def _fraction(value: object) -> float:
    """Parse a fraction: 0.85 or 85%."""
    fraction = 0.0
    try:
        if isinstance(value, str) and value.strip().endswith("%"):
            fraction = float(value.strip()[:-1]) / 100
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            fraction = float(value)
    except ValueError:
        pass
    if not 0 < fraction <= 1:
        raise ValueError("expected a fraction above 0 and at most 1, like 0.85 or 85%")
    return fraction


_FEWEST_TOKENS = 1_000
"""A smaller number of tokens in a threshold is taken for a mistake, such as 85 for 85%."""


def _threshold(value: object) -> Threshold:
    """Parse a fraction, a number of tokens, or both: 85%, 0.85, 120k, or "85%, 120k"."""
    # A comma before exactly three digits separates thousands: "120,000".
    parts = re.split(r"\s*,(?!\d{3}(?![\dkKmM]))\s*|(?<=%),\s*", value) if isinstance(value, str) else [value]
    shares: list[float] = []
    tokens: list[int] = []
    for part in parts:
        with suppress(ValueError):
            shares.append(_fraction(part))
        with suppress(ValueError):
            tokens += [number] if (number := _count(part)) >= _FEWEST_TOKENS else []
    if len(shares) > 1 or len(tokens) > 1 or len(shares) + len(tokens) < len(parts):
        fraction = "a fraction above 0 and at most 1, like 0.85 or 85%"
        absolute = "a number of tokens from 1,000, like 120k"
        raise ValueError(f'expected {fraction}, {absolute}, or both: "85%, 120k"')
    return Threshold(shares[0] if shares else None, tokens[0] if tokens else None)


def _path(value: object) -> Path:
    written = _text(value)
    if not written:
        raise ValueError("expected a path")
    return Path(written).expanduser()


def _store(value: object) -> Path | str:
    return _text(value) if is_server_address(_text(value)) else _path(value)


def _paths(value: object) -> tuple[Path, ...]:
    """Parse a list of paths; in a variable, one text separated as ``PATH`` is."""
    listed = value if isinstance(value, list | tuple) else _text(value).split(os.pathsep)
    return tuple(_path(item) for item in listed if item)


def _one_of(choices: type[Choice]) -> Callable[[object], Choice]:
    def parse(value: object) -> Choice:
        try:
            return choices(_text(value))
        except ValueError:
            raise ValueError(f"expected one of {', '.join(choices)}") from None

    return parse


@dataclass(frozen=True, slots=True)
class SettingKey:
    """One setting: its name, how it is parsed, what it means, and who may set it."""

    name: str
    parse: Parser
    means: str
    settable_by: SettableBy = SettableBy.ANYBODY

    @property
    def variable(self) -> str:
        """Return the environment variable of this setting."""
        return f"CLEW_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """Return the flag of commands that take this setting."""
        return f"--{self.name.replace('_', '-')}"


_ENVIRONMENT, _TRUSTED, _PERSON = SettableBy.ENVIRONMENT, SettableBy.TRUSTED, SettableBy.PERSON
_ALL = (
    SettingKey("home", _path, "clew's own directory", _ENVIRONMENT),
    SettingKey("store", _store, "the SQLite file or PostgreSQL address that holds the logs", _ENVIRONMENT),
    SettingKey("network_disk", _one_of(NetworkDisk), "what to do on a network disk", _ENVIRONMENT),
    SettingKey("model", _text, "the model to talk to", _TRUSTED),
    SettingKey("base_url", _text, "the server of the model", _PERSON),
    SettingKey("offline", _boolean, "never use the network", _PERSON),
    SettingKey("summariser", _text, "the model that writes digests; if unset, no model is used", _TRUSTED),
    SettingKey("judge_rules", _boolean, "ask the summariser which of your sentences are rules"),
    SettingKey("window", _positive, "context window in tokens, if not the model's own"),
    SettingKey("preset", _one_of(Preset), "when to compact and how far: default or early"),
    SettingKey(
        "compact_at", _threshold, "compact at this fraction of the usable window, number of tokens, or both"
    ),
    SettingKey("down_to", _threshold, "compact down to this: a fraction, a number of tokens, or both"),
    SettingKey(
        "keep_messages", _count, "how many of the last messages stay verbatim (unset: shortened if needed)"
    ),
    SettingKey("keep_tokens", _count, "how many of the last tokens stay verbatim, at least"),
    SettingKey("auto", _boolean, "compact without asking"),
    SettingKey("off", _boolean, "switch everything off: requests are a plain client's", _PERSON),
    SettingKey("notes_tokens", _count, "the most tokens of a request that notes may take"),
    SettingKey("recall_everywhere", _boolean, "recall from sessions of other projects too", _PERSON),
    SettingKey("encoder", _path, "folder of a sentence encoder that search by meaning uses", _PERSON),
    SettingKey("trust_roots", _paths, "folders whose instruction files and settings are trusted", _PERSON),
    SettingKey("policy_file", _path, "the organization's policy, sent with every request", _PERSON),
    SettingKey("mask_secrets", _boolean, "mask secrets before they are stored", _PERSON),
)
KEYS: Mapping[str, SettingKey] = MappingProxyType({key.name: key for key in _ALL})
"""Every setting by its name, in display order."""

FILE = "clew.toml"
PROJECT = "pyproject.toml"
_MODEL_KEYS = frozenset({"model", "summariser", "base_url", "offline"})
"""Settings by which a user decides which model may read their sessions."""
_OTHER_VARIABLES = frozenset(
    {
        *("CLEW_MODELS", "CLEW_MODEL_KEY", "CLEW_PAGER", "CLEW_COMMAND", "CLEW_HOOK", "CLEW_TOKEN"),
        *("CLEW_TEST_DATA", "CLEW_POSTGRES_BIN"),
    }
)
"""Variables of clew that are not settings."""


# Where clew's files are -------------------------------------------------------------------------------


def clew_home(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the directory of clew's data, ``CLEW_HOME`` or the platform's usual place. Creates nothing."""
    if chosen := env.get("CLEW_HOME"):
        path = Path(chosen).expanduser()
        if not path.is_absolute():
            raise InputError(f"CLEW_HOME is {chosen!r}, which is not an absolute path")
        return path
    if platform == "win32":
        return Path(env.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "clew"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "clew"
    xdg = env.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a relative path.
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".local" / "share") / "clew"


def is_server_address(text: str) -> bool:
    """Return True if this is the address of a PostgreSQL database rather than the path of a file."""
    return text.startswith(("postgresql://", "postgres://"))


def store_address(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str | Path:
    """Return what holds the logs: the PostgreSQL address in ``CLEW_STORE``, or a SQLite file."""
    chosen = env.get("CLEW_STORE", "")
    return chosen if is_server_address(chosen) else store_path(env, platform)


def store_path(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the SQLite file that holds the logs: ``CLEW_STORE``, or ``clew.db`` in clew's home."""
    if chosen := env.get("CLEW_STORE"):
        if is_server_address(chosen):
            raise InputError("CLEW_STORE is a PostgreSQL address; this works with a SQLite file only")
        return Path(chosen).expanduser()
    return clew_home(env, platform) / "clew.db"


def network_disk(env: Mapping[str, str] = os.environ) -> NetworkDisk:
    """Return the value of ``CLEW_NETWORK_DISK``."""
    chosen = env.get("CLEW_NETWORK_DISK") or NetworkDisk.REFUSE
    try:
        return NetworkDisk(chosen)
    except ValueError:
        raise InputError(f"CLEW_NETWORK_DISK is {chosen!r}, not 'refuse' or 'exclusive'") from None


def switched_off(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether ``CLEW_OFF`` switches clew off, for library calls, which read no settings files."""
    chosen = env.get("CLEW_OFF", "")
    try:
        return bool(chosen) and _boolean(chosen)
    except ValueError:
        raise InputError(f"CLEW_OFF is {chosen!r}, not 'true' or 'false'") from None


def rules_are_judged(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether a summariser judges rules, by ``CLEW_JUDGE_RULES``, for library calls."""
    chosen = env.get("CLEW_JUDGE_RULES", "")
    try:
        return not chosen or _boolean(chosen)
    except ValueError:
        raise InputError(f"CLEW_JUDGE_RULES is {chosen!r}, not 'true' or 'false'") from None


def use_judge_rules(settings: Settings) -> None:
    """Keep summarisers from judging rules, here and in processes that are started, if the settings say so."""
    if not settings.judge_rules:
        os.environ["CLEW_JUDGE_RULES"] = "false"


def encoder_folder(env: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder in ``CLEW_ENCODER``, for library calls, which read no settings files."""
    return Path(env["CLEW_ENCODER"]).expanduser() if env.get("CLEW_ENCODER") else None


def use_encoder(settings: Settings) -> None:
    """Search with the encoder of the settings from now on, in this process and those that it starts."""
    if settings.encoder is not None:
        os.environ["CLEW_ENCODER"] = str(settings.encoder.absolute())


# Merging the sources ----------------------------------------------------------------------------------


class _Value(NamedTuple):
    """A setting as one source gives it, not parsed yet."""

    key: SettingKey
    value: object
    origin: str
    ignored: str = ""
    """Why it is ignored; empty if it counts."""

    def parse(self) -> object:
        try:
            return self.key.parse(self.value)
        except ValueError as cause:
            raise InputError(f"{self.origin}: {self.key.name} is {self.value!r}, {cause}", "") from None


def load_settings(
    flags: Mapping[str, object] = MappingProxyType({}),
    env: Mapping[str, str] = os.environ,
    start: Path | None = None,
) -> LoadedSettings:
    """Return the settings in effect in a folder (the current one).

    From weak to strong: ``clew.toml`` in clew's home, the project's ``clew.toml``, ``[tool.clew]`` of its
    ``pyproject.toml``, ``CLEW_…`` variables, flags. An invalid value raises an ``InputError`` that names the
    file and line. If the user's own file chooses a model, a project outside their ``trust_roots`` cannot
    change that: its choice is ignored with a warning.
    """
    home = clew_home(env)
    own_values = list(_from_file(home / FILE, own=True))
    explicit = [
        _Value(key, env[key.variable], key.variable) for key in KEYS.values() if env.get(key.variable)
    ]
    for name, value in flags.items():
        if value is not None:
            key = _find_key(name, "flags")
            explicit.append(_Value(key, value, key.flag))
    roots = [item.parse() for item in (*own_values, *explicit) if item.key.name == "trust_roots"]
    trusted: tuple[Path, ...] = roots[-1] if roots else ()  # type: ignore[assignment]  # what _paths returns
    chose_model = any(item.key.name in _MODEL_KEYS for item in own_values)
    origins: dict[str, str] = {}
    values: dict[str, object] = {"home": home, "store": store_address(env)}
    warnings = _misspelt(env)
    in_project = _from_project(start or Path.cwd(), trusted, chose_model, warnings)
    for setting in (*own_values, *in_project, *explicit):
        if setting.ignored:
            warnings.append(f"{setting.origin}: {setting.key.name} is ignored: {setting.ignored}")
        else:
            values[setting.key.name] = setting.parse()
            origins[setting.key.name] = setting.origin
    settings = replace(Settings(), **values)  # type: ignore[arg-type]  # the parsers give each field its type
    _check_together(settings, origins)
    return LoadedSettings(settings, origins, tuple(warnings))


def _check_together(settings: Settings, origins: Mapping[str, str]) -> None:
    """Raise an error if values contradict each other."""
    high, low = settings.compact_at or Threshold(), settings.down_to or Threshold()
    text = ""
    if high.share is not None and low.share is not None and low.tokens is None and low.share >= high.share:
        text = f"compacting at {high.share:.0%} down to {low.share:.0%} frees nothing"
    elif (
        high.tokens is not None and low.tokens is not None and low.share is None and low.tokens >= high.tokens
    ):
        text = f"compacting at {high.tokens:,} tokens down to {low.tokens:,} frees nothing"
    if text:
        where = " and ".join(origins[name] for name in ("compact_at", "down_to"))
        raise InputError(f"{where}: {text}", "lower down_to")


def _misspelt(env: Mapping[str, str]) -> list[str]:
    """Return a warning for each ``CLEW_…`` variable that is not a setting."""
    known = {key.variable for key in KEYS.values()}
    others = sorted(name for name in env if name.startswith("CLEW_") and name not in known | _OTHER_VARIABLES)
    return [f"{name} is not a setting{_did_you_mean(name, known)}" for name in others]


def _from_project(
    start: Path, trusted: Sequence[Path], chose_model: bool, warnings: list[str]
) -> Iterator[_Value]:
    """Yield the values of the nearest ``clew.toml``, then of the nearest ``[tool.clew]``.

    Looks from ``start`` upwards, at most to the folder that holds ``.git``. A file that belongs to another
    user adds a warning and is not parsed.
    """
    folders = list(_folders(start))
    own = [(file, None) for folder in folders if (file := folder / FILE).is_file()]
    shared = [(file, "tool.clew") for folder in folders if _has_table(file := folder / PROJECT)]
    for file, table in (*own[:1], *shared[:1]):
        folder = file.resolve().parent
        is_trusted = any(folder.is_relative_to(root.resolve()) for root in trusted)
        if not is_trusted and is_foreign(file):
            warnings.append(f"{file} is ignored: it belongs to another user")
            continue
        for setting in _from_file(file, table):
            if chose_model and not is_trusted and setting.key.settable_by is SettableBy.TRUSTED:
                why = "your own settings choose the model, and trust_roots does not hold this project"
                yield setting._replace(ignored=why)
            else:
                yield setting


def is_foreign(file: Path, me: int | None = None) -> bool:
    """Return True if a file belongs to neither the user nor root, on systems where files have owners."""
    if not hasattr(os, "geteuid"):
        return False
    return file.stat().st_uid not in (0, os.geteuid() if me is None else me)


def _folders(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _has_table(file: Path) -> bool:
    return file.is_file() and "[tool.clew]" in file.read_text("utf-8", "replace")


def _from_file(file: Path, table: str | None = None, *, own: bool = False) -> Iterator[_Value]:
    """Yield the settings of a TOML file, or of one of its tables; ``own`` if it is the user's own file."""
    if not file.is_file():
        return
    text = file.read_text("utf-8", "replace")
    try:
        written: object = tomllib.loads(text)
    except RecursionError as cause:
        raise InputError(f"{file} is nested too deep", "settings are flat key = value lines") from cause
    except ValueError as cause:  # not TOML, or a number too long to convert
        raise InputError(f"{file} is not valid TOML: {cause}", "fix that line") from cause
    for name in table.split(".") if table else ():
        written = written.get(name, {}) if isinstance(written, dict) else {}
    for name, value in written.items() if isinstance(written, dict) else ():
        origin = f"{file}:{_line(text, table, name)}"
        key = _find_key(name.replace("-", "_"), origin)
        if not own:
            _check_project_may_set(key, value, origin)
        if key.settable_by is SettableBy.ENVIRONMENT:
            raise InputError(f"{origin} sets {key.name}", f"only the variable {key.variable} can")
        yield _Value(key, value, origin)


def _check_project_may_set(key: SettingKey, value: object, origin: str) -> None:
    """Raise an error for what only the user may set: a cloned project must not redirect their sessions."""
    names_server = key.name in ("model", "summariser") and "@" in str(value)
    if key.settable_by is SettableBy.PERSON or names_server:
        what = f"the server of {key.name}" if names_server else key.name
        raise InputError(
            f"{origin} sets {what}, which a project may not",
            f"set it in {FILE} in clew's home, with {key.variable} or with {key.flag}",
        )


def _find_key(name: str, origin: str) -> SettingKey:
    key = KEYS.get(name)
    if key is None:
        raise InputError(f"{origin}: there is no setting {name!r}{_did_you_mean(name, KEYS)}", "")
    return key


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    import difflib  # for an error message only

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else "; `clew config` lists them all"


def _line(text: str, table: str | None, name: str) -> int:
    """Return the line on which a key is set; ``tomllib`` does not report it."""
    start = text.find(f"[{table}]") if table else 0
    # Matches `window = 3`, `"window" = 3` and `window.x = 3` at the start of a line.
    match = re.compile(rf"""^[ \t]*["']?{re.escape(name)}["']?[ \t]*[=.]""", re.M).search(text, max(0, start))
    return text.count("\n", 0, match.start() if match else start) + 1
