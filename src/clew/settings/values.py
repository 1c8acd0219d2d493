"""All that a person can set, as one typed value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from clew.settings.disks import NetworkDisk
from clew.settings.readers import Reader, one_of, path, paths, share, some, whole, words, yes_no


class Preset(StrEnum):
    """When compaction begins, and how far down it goes, where nothing else is said."""

    DEFAULT = "default"
    """At 85 % of the usable window, down to 30 %."""
    EARLY = "early"
    """At 75 %, down to 30 %: for models that get worse as their window fills."""


class Holder(StrEnum):
    """Who may set something."""

    ANYBODY = "anybody"
    TRUSTED = "trusted"
    """The person, or a project that they trust: it decides who reads their words, and what runs unasked."""
    PERSON = "person"
    """Only the person: in clew's home, the environment or a flag. A project may be a stranger's."""
    ENVIRONMENT = "environment"
    """Only the environment: it says where the files are that hold the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds. Each field is a key of ``clew.toml``, a variable ``CLEW_…`` and, in commands, a flag.

    What the fields mean is said in ``KEYS``.
    """

    home: Path | None = None
    store: Path | None = None
    network_disk: NetworkDisk = NetworkDisk.REFUSE

    model: str = ""
    base_url: str = ""
    offline: bool = False
    summariser: str = ""

    window: int | None = None
    preset: Preset = Preset.DEFAULT
    compact_at: float | None = None
    down_to: float | None = None
    keep_messages: int = 8
    keep_tokens: int = 0
    auto: bool = False

    notes_tokens: int = 500
    recall_everywhere: bool = False
    trust_roots: tuple[Path, ...] = ()
    mask_secrets: bool = True


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its name, how it is read, what it means, and who may set it."""

    name: str
    read: Reader
    means: str
    holder: Holder = Holder.ANYBODY

    @property
    def variable(self) -> str:
        """Return the environment variable of this setting."""
        return f"CLEW_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """Return the flag of commands that take this setting."""
        return f"--{self.name.replace('_', '-')}"


_ALL = (
    Key("home", path, "clew's own directory", Holder.ENVIRONMENT),
    Key("store", path, "the file of the logs", Holder.ENVIRONMENT),
    Key("network_disk", one_of(NetworkDisk), "what to do where that is a network disk", Holder.ENVIRONMENT),
    Key("model", words, "the model to talk to", Holder.TRUSTED),
    Key("base_url", words, "the server that has the model", Holder.PERSON),
    Key("offline", yes_no, "ask nothing over the network", Holder.PERSON),
    Key(
        "summariser",
        words,
        "the model that writes digests; without one, code alone does",
        Holder.TRUSTED,
    ),
    Key("window", some, "tokens of the window, where the model's own is not meant"),
    Key("preset", one_of(Preset), "when to compact and how far down: default or early"),
    Key("compact_at", share, "compact at this share of the usable window; else as the preset says"),
    Key("down_to", share, "go down to this share; else as the preset says"),
    Key("keep_messages", whole, "the last messages that stay verbatim, at least"),
    Key("keep_tokens", whole, "the last tokens that stay verbatim, at least"),
    Key("auto", yes_no, "compact without being asked"),
    Key("notes_tokens", whole, "the most that notes may take of a request"),
    Key("recall_everywhere", yes_no, "recall from sessions of other projects too", Holder.PERSON),
    Key("trust_roots", paths, "folders whose instruction files and settings count", Holder.PERSON),
    Key("mask_secrets", yes_no, "mask secrets before they are kept", Holder.PERSON),
)
KEYS: Mapping[str, Key] = MappingProxyType({key.name: key for key in _ALL})
"""Every setting by its name, in the order in which they are told."""
