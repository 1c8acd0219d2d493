"""Read-only diagnostics of a context, as functions and as tools for an agent.

contextSnapshot, contextBudget, listContributors and traceSummaries. They change nothing and need no approval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clew.budget import Allotment, Region, Slice
from clew.compaction.plan import Digest, Plan
from clew.compaction.plan.digest import spans
from clew.compaction.verify import Report
from clew.errors import NotFound
from clew.memory.tools import Tool, ToolAnswer
from clew.memory.tools.tool import object_schema, string
from clew.message import Json, JsonObject
from clew.request.prompt_cache import Call
from clew.request.sections import PINNED, SECTIONS, Contribution


class RecordedCompaction(Protocol):
    """A compaction that took effect, as ``Session.trace()`` returns them."""

    @property
    def time(self) -> str:
        """Return when it was made."""

    @property
    def plan(self) -> Plan:
        """Return what it changed."""

    @property
    def report(self) -> Report:
        """Return the verification report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestState:
    """The current state of a request and its session."""

    allotment: Allotment
    contributions: Sequence[Contribution] = ()
    """``Assembled.contributions``."""
    compactions: Sequence[RecordedCompaction] = ()
    """The active ones, oldest first."""
    compact_at_tokens: int | None = None
    last_call: Call | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A diagnostic result: text for people, ``value`` for programs."""

    text: str
    value: JsonObject


def trace_summaries(scene: RequestState, digest: str | None = None) -> Diagnosis:
    """Return the origin of each active summary: turns, folded digests, author, checks and loss."""
    active = [(compaction, digest) for compaction in scene.compactions for digest in compaction.plan.digests]
    if digest is not None:
        active = [(compaction, item) for compaction, item in active if item.id == digest]
        if not active:
            known_names = ", ".join(digest.id for digest in digests_of(scene.compactions)) or "none"
            raise NotFound(f"no active summary {digest!r}", f"active summaries: {known_names}")
    if not active:
        return Diagnosis("No active summary: none of the turns is replaced by one.", {"summaries": []})
    lines = [line for compaction, digest in active for line in _lineage(compaction, digest)]
    return Diagnosis(
        "\n".join(lines), {"summaries": [_lineage_json(compaction, digest) for compaction, digest in active]}
    )


def digests_of(compactions: Sequence[RecordedCompaction]) -> list[Digest]:
    """Return the digests that these compactions created."""
    return [digest for compaction in compactions for digest in compaction.plan.digests]


def _lineage(compaction: RecordedCompaction, digest: Digest) -> Iterator[str]:
    plan = compaction.plan
    covers = spans(digest.covers)
    yield f"{digest.id} (level {digest.level}) replaces {len(digest.covers):,} turns: {covers}"
    yield f"  made {compaction.time} by {digest.author}, because: {plan.reason}"
    yield f"  {plan.tokens_before:,} → {plan.tokens_after:,} tokens"
    yield f"  {len(digest.claims)} claims and {len(digest.pins)} rules, from {_sources(digest)} turns"
    if digest.folds:
        yield f"  absorbed {', '.join(digest.folds)}"
    yield f"  {_check_line(compaction)}; checksum {digest.checksum[:23]}"


def _sources(digest: Digest) -> int:
    return len({cite.message for claim in digest.claims for cite in claim.sources})


def _check_line(compaction: RecordedCompaction) -> str:
    gone = sum(count.gone for count in compaction.report.kept)
    verdict = "checked and accepted" if compaction.report.accepted else "checked, with findings"
    return f"{verdict}; {gone:,} items dropped (recoverable by search)"


def _lineage_json(compaction: RecordedCompaction, digest: Digest) -> JsonObject:
    plan = compaction.plan
    return {
        "digest": digest.id,
        "level": digest.level,
        "covers": spans(digest.covers),
        "turns": len(digest.covers),
        "folds": list(digest.folds),
        "author": digest.author,
        "time": compaction.time,
        "trigger": plan.trigger,
        "reason": plan.reason,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "claims": len(digest.claims),
        "rules": len(digest.pins),
        "turns_cited": _sources(digest),
        "accepted": compaction.report.accepted,
        "checksum": digest.checksum,
    }


_RESERVES = (Region.SUMMARY_CALL, Region.NEXT_RESULT, Region.REPLY)
MOST_CONTRIBUTORS = 200
"""Most lines about contributors in the request, and about those left out of it (chosen by hand), so that a
report about the window does not fill it."""


# contextBudget -----------------------------------------------------------------------------------------


def context_budget(scene: RequestState) -> Diagnosis:
    """Return the split of the window in one line, then everything that was cut and why."""
    split = scene.allotment
    speech = [f"{_name(region)}: {tokens} tokens" for region, tokens in _shown_regions(split)]
    reserve = sum(split.of(region).given for region in _RESERVES)
    total = split.window_tokens - split.free_tokens
    lines = [f"{', '.join([*speech, f'Reserve: {reserve} tokens'])} (Total={total}/{split.window_tokens})"]
    lines += [
        f"Overflow: {slice_.region} asked for {slice_.asked:,}, got {slice_.given:,}: {slice_.why}"
        for slice_ in _cut(split)
    ]
    lines += [
        f"Cut: {_contribution_line(contribution)}" for contribution in scene.contributions if contribution.cut
    ]
    lines += _until_compaction(scene)
    value: JsonObject = {
        "regions": {slice_.region.value: slice_.given for slice_ in split.slices},
        "reserve": reserve,
        "total": total,
        "window": split.window_tokens,
        "free": split.free_tokens,
        "overflows": {slice_.region.value: slice_.cut for slice_ in _cut(split)},
        "compact_at": scene.compact_at_tokens,
    }
    return Diagnosis("\n".join(lines), value)


def _shown_regions(split: Allotment) -> Iterator[tuple[Region, int]]:
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


def _until_compaction(scene: RequestState) -> Iterator[str]:
    if scene.compact_at_tokens is not None:
        used = _used_tokens(scene.allotment)
        left = max(0, scene.compact_at_tokens - used)
        yield f"Compaction starts at {scene.compact_at_tokens:,} tokens: {left:,} from now."


def _used_tokens(split: Allotment) -> int:
    return sum(slice_.given for slice_ in split.slices if slice_.region not in _RESERVES)


# contextSnapshot ---------------------------------------------------------------------------------------


def context_snapshot(scene: RequestState) -> Diagnosis:
    """Return the current tokens of every region and section, with the reason for each size."""
    split = scene.allotment
    used = _used_tokens(split)
    lines = [f"{used:,} of {split.window_tokens:,} tokens are in use, {split.free_tokens:,} are free."]
    for slice_ in split.slices:
        lines.append(f"{slice_.region.value:>12}  {slice_.given:>9,}  {slice_.why}")
    by_section = _by_section(scene.contributions)
    if by_section:
        lines.append("By section:")
        for name, (tokens, count) in by_section.items():
            lines.append(f"{name:>12}  {tokens:>9,}  {count} part{'' if count == 1 else 's'}")
    lines += _until_compaction(scene)
    lines += _cache(scene)
    value: JsonObject = {
        "window": split.window_tokens,
        "used": used,
        "free": split.free_tokens,
        "regions": [
            {"region": slice_.region.value, "asked": slice_.asked, "given": slice_.given, "why": slice_.why}
            for slice_ in split.slices
        ],
        "sections": {
            name: {"tokens": tokens, "parts": count} for name, (tokens, count) in by_section.items()
        },
        "digests": [digest.id for digest in digests_of(scene.compactions)],
        "last_call": scene.last_call.to_json() if scene.last_call else None,
    }
    return Diagnosis("\n".join(lines), value)


def _by_section(contributions: Sequence[Contribution]) -> dict[str, tuple[int, int]]:
    result: dict[str, tuple[int, int]] = {}
    for section in (*SECTIONS, PINNED):
        own = [
            contribution.given
            for contribution in contributions
            if contribution.section is section and contribution.given
        ]
        if own:
            result[section.name] = (sum(own), len(own))
    return result


def _cache(scene: RequestState) -> Iterator[str]:
    call = scene.last_call
    if call is not None:
        read, written = call.usage.cache_read_tokens, call.usage.cache_write_tokens
        text = f"{read:,} tokens read from the cache, {written:,} written, {call.missed_tokens:,} missed"
        yield f"Last call: {text}; {call.cause.why}."


# listContributors --------------------------------------------------------------------------------------


def list_contributors(scene: RequestState, section: str | None = None) -> Diagnosis:
    """Return which turns, notes, files and tools are in the request, and which were left out."""
    chosen = [
        contribution
        for contribution in scene.contributions
        if section is None or contribution.section.name == section
    ]
    inside, out = (
        [contribution for contribution in chosen if contribution.given],
        [contribution for contribution in chosen if not contribution.given],
    )
    lines = [f"{len(inside):,} contributors, {sum(contribution.given for contribution in inside):,} tokens."]
    lines += map(_contribution_line, inside[-MOST_CONTRIBUTORS:])
    if len(inside) > MOST_CONTRIBUTORS:
        lines.insert(1, f"The last {MOST_CONTRIBUTORS} of them:")
    lines += [f"left out: {_contribution_line(contribution)}" for contribution in out[-MOST_CONTRIBUTORS:]]
    if len(out) > MOST_CONTRIBUTORS:
        lines.append(f"and {len(out) - MOST_CONTRIBUTORS:,} earlier ones left out")
    listed: list[Json] = [contribution.to_json() for contribution in chosen]
    return Diagnosis("\n".join(lines), {"contributors": listed})


def _contribution_line(contribution: Contribution) -> str:
    why = f"; {contribution.why}" if contribution.why else ""
    source = f"{contribution.section.name} {contribution.source} ({contribution.trust.label})"
    return f"{source}: {contribution.given:,} of {contribution.asked:,} tokens{why}"


def diagnostic_tools(look: Callable[[], RequestState]) -> tuple[Tool, ...]:
    """Return the tools; ``look`` is called for the current scene on every tool call."""

    def answering(
        answer: Callable[[RequestState, dict[str, Any]], Diagnosis],
    ) -> Callable[[Any, dict[str, Any]], ToolAnswer]:
        return lambda _desk, arguments: ToolAnswer(answer(look(), arguments).text)

    return (
        Tool(
            "contextSnapshot",
            "Report the current token usage of every region of the context window, with the reason for each.",
            object_schema(),
            answering(lambda scene, _: context_snapshot(scene)),
        ),
        Tool(
            "listContributors",
            "List which turns, notes, instruction files and tools are in the context, with tokens and trust, "
            "and what was left out and why.",
            object_schema(
                section=string(
                    "Only this section; all of them if null.",
                    optional=True,
                    of=tuple(section.name for section in (*SECTIONS, PINNED)),
                )
            ),
            answering(lambda scene, arguments: list_contributors(scene, arguments["section"])),
        ),
        Tool(
            "traceSummaries",
            "Show the lineage of the summaries in the context: which turns each replaces, who wrote it, "
            "why, and what the checks said.",
            object_schema(digest=string("Only this one, like d3; all of them if null.", optional=True)),
            answering(lambda scene, arguments: trace_summaries(scene, arguments["digest"])),
        ),
        Tool(
            "contextBudget",
            "Report in one line how the context window is split, and what was cut.",
            object_schema(),
            answering(lambda scene, _: context_budget(scene)),
        ),
    )
