"""The contextBudget, contextSnapshot and listContributors diagnostics. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.budget import Allotment, Region, Slice
from clew.message import Json, JsonObject
from clew.request.diagnose.lineage import digests_of
from clew.request.diagnose.scene import Diagnosis, Scene
from clew.request.piece import Contribution
from clew.request.sections import SECTIONS

_RESERVES = (Region.SUMMARY_CALL, Region.NEXT_RESULT, Region.REPLY)
MOST_CONTRIBUTORS = 200
"""Most lines in one answer (chosen by hand), so that a report about the window does not fill it."""


# contextBudget -----------------------------------------------------------------------------------------


def context_budget(scene: Scene) -> Diagnosis:
    """Return the split of the window in one line, then everything that was cut and why."""
    split = scene.allotment
    spoken = [f"{_name(region)}: {tokens} tokens" for region, tokens in _spoken(split)]
    reserve = sum(split.of(region).given for region in _RESERVES)
    total = split.window_tokens - split.free_tokens
    lines = [f"{', '.join([*spoken, f'Reserve: {reserve} tokens'])} (Total={total}/{split.window_tokens})"]
    lines += [
        f"Overflow: {one.region} asked for {one.asked:,}, got {one.given:,}: {one.why}" for one in _cut(split)
    ]
    lines += [f"Cut: {_told(one)}" for one in scene.contributions if one.cut]
    lines += _until_compaction(scene)
    value: JsonObject = {
        "regions": {slice_.region.value: slice_.given for slice_ in split.slices},
        "reserve": reserve,
        "total": total,
        "window": split.window_tokens,
        "free": split.free_tokens,
        "overflows": {one.region.value: one.cut for one in _cut(split)},
        "compact_at": scene.compact_at_tokens,
    }
    return Diagnosis("\n".join(lines), value)


def _spoken(split: Allotment) -> Iterator[tuple[Region, int]]:
    for region in _SPOKEN:
        given = split.of(region).given
        if given or region in _ALWAYS:
            yield region, given


_ALWAYS = (Region.SYSTEM, Region.HISTORY, Region.MEMORY)
_SPOKEN = (
    *(Region.SYSTEM, Region.TOOLS, Region.PINNED, Region.INSTRUCTIONS),
    *(Region.HISTORY, Region.TOOL_OUTPUTS, Region.MEMORY),
)
"""Regions in the order of the report."""


def _name(region: Region) -> str:
    return region.value.capitalize()


def _cut(split: Allotment) -> list[Slice]:
    return [slice_ for slice_ in split.slices if slice_.cut]


def _until_compaction(scene: Scene) -> Iterator[str]:
    if scene.compact_at_tokens is not None:
        used = _used(scene.allotment)
        left = max(0, scene.compact_at_tokens - used)
        yield f"Compaction starts at {scene.compact_at_tokens:,} tokens: {left:,} from now."


def _used(split: Allotment) -> int:
    return sum(slice_.given for slice_ in split.slices if slice_.region not in _RESERVES)


# contextSnapshot ---------------------------------------------------------------------------------------


def context_snapshot(scene: Scene) -> Diagnosis:
    """Return the current tokens of every region and section, with the reason for each size."""
    split = scene.allotment
    used = _used(split)
    lines = [f"{used:,} of {split.window_tokens:,} tokens are in use, {split.free_tokens:,} are free."]
    for slice_ in split.slices:
        lines.append(f"{slice_.region.value:>12}  {slice_.given:>9,}  {slice_.why}")
    by_section = _by_section(scene.contributions)
    if by_section:
        lines.append("By section:")
        lines += [f"{name:>12}  {tokens:>9,}  {count} parts" for name, (tokens, count) in by_section.items()]
    lines += _until_compaction(scene)
    lines += _cache(scene)
    value: JsonObject = {
        "window": split.window_tokens,
        "used": used,
        "free": split.free_tokens,
        "regions": [
            {"region": one.region.value, "asked": one.asked, "given": one.given, "why": one.why}
            for one in split.slices
        ],
        "sections": {
            name: {"tokens": tokens, "parts": count} for name, (tokens, count) in by_section.items()
        },
        "digests": [digest.id for digest in digests_of(scene.compactions)],
        "last_call": scene.last_call.to_json() if scene.last_call else None,
    }
    return Diagnosis("\n".join(lines), value)


def _by_section(contributions: Sequence[Contribution]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for section in SECTIONS:
        own = [one.given for one in contributions if one.section is section and one.given]
        if own:
            found[section.name] = (sum(own), len(own))
    return found


def _cache(scene: Scene) -> Iterator[str]:
    call = scene.last_call
    if call is not None:
        read, written = call.usage.cache_read_tokens, call.usage.cache_write_tokens
        told = f"{read:,} tokens read from the cache, {written:,} written, {call.missed_tokens:,} missed"
        yield f"Last call: {told}; {call.cause.why}."


# listContributors --------------------------------------------------------------------------------------


def list_contributors(scene: Scene, section: str | None = None) -> Diagnosis:
    """Return which turns, notes, files and tools are in the request, and which were left out."""
    chosen = [one for one in scene.contributions if section is None or one.section.name == section]
    inside, out = [one for one in chosen if one.given], [one for one in chosen if not one.given]
    lines = [f"{len(inside):,} contributors, {sum(one.given for one in inside):,} tokens."]
    lines += map(_told, inside[-MOST_CONTRIBUTORS:])
    if len(inside) > MOST_CONTRIBUTORS:
        lines.insert(1, f"The last {MOST_CONTRIBUTORS} of them:")
    lines += [f"left out: {_told(one)}" for one in out]
    listed: list[Json] = [one.to_json() for one in chosen]
    return Diagnosis("\n".join(lines), {"contributors": listed})


def _told(one: Contribution) -> str:
    why = f"; {one.why}" if one.why else ""
    return f"{one.section.name} {one.source} ({one.trust.label}): {one.given:,} of {one.asked:,} tokens{why}"
