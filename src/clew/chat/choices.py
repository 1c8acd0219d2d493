"""What a person chose for a session, kept with it: how large a window, and whether clew compacts unasked."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from clew.log import ABOUT
from clew.message import JsonObject
from clew.session import Session

LARGEST_WINDOW = 100_000_000


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen; None for what was not."""

    window: int | None = None
    auto: bool | None = None

    def over(self, other: Choices) -> Choices:
        """Return these, and where nothing was chosen, the others."""
        return Choices(
            other.window if self.window is None else self.window,
            other.auto if self.auto is None else self.auto,
        )


def choices_of(session: Session) -> Choices:
    """Return what is on record; what makes no sense, in a log from elsewhere, was not chosen."""
    window, auto = session.about.get("window"), session.about.get("auto")
    whole = window if isinstance(window, int) and not isinstance(window, bool) else 0
    return Choices(
        whole if 0 < whole <= LARGEST_WINDOW else None,
        auto if isinstance(auto, bool) else None,
    )


def keep_choices(session: Session, chosen: Choices) -> None:
    """Put on record what was chosen, where it is not."""
    told: JsonObject = {name: value for name, value in asdict(chosen).items() if value is not None}
    if any(session.about.get(name) != value for name, value in told.items()):
        session.record(ABOUT.name, told)
