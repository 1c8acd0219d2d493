"""Export a session's events as JSON lines; needs no other package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from clew.integrations.telemetry.moments import Moment, Scale
from clew.integrations.telemetry.told import moments
from clew.log.protocol import StoredEvent
from clew.message import JsonObject


def lines(session: str, events: Iterable[StoredEvent]) -> Iterator[str]:
    """Yield one JSON object a line for every record, in the order of the log."""
    for moment in moments(session, events):
        yield json.dumps(_as_json(moment), ensure_ascii=False, separators=(",", ":"))


def _as_json(moment: Moment) -> JsonObject:
    told: JsonObject = {"time": moment.end, "seq": moment.seq, "id": moment.id, "name": moment.name}
    if moment.parent:
        told["parent"] = moment.parent
    if moment.scale is not Scale.POINT:
        told |= {"start": moment.start, "seconds": round(moment.seconds, 3)}
    if moment.error:
        told["error"] = moment.error
    attributes: JsonObject = {
        name: list(value) if isinstance(value, list) else value for name, value in moment.attributes.items()
    }
    return {**told, "attributes": attributes}
