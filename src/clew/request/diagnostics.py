"""Read-only diagnostics of a context, as functions and as tools for an agent.

contextSnapshot, contextBudget, listContributors and traceSummaries. They change nothing and need no approval.
``context_budget(state).text`` begins with a line like "System: 2000 tokens, History: 60000 tokens, Memory:
500 tokens, Reserve: 35200 tokens (Total=97700/200000)".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clew.budget import Allotment, Fill, Region, Slice
from clew.compaction.plan import Digest, Plan
from clew.compaction.plan.digest import spans
from clew.compaction.verify import Report
from clew.errors import NotFound
from clew.memory.tools.tool import Tool, ToolAnswer, object_schema, string
from clew.message import Json, JsonObject
from clew.request.prompt_cache import Call
from clew.request.sections import PINNED, SECTIONS, Contribution

_RESERVES = (Region.SUMMARY_CALL, Region.NEXT_RESULT, Region.REPLY)
MOST_CONTRIBUTORS = 200
"""Most lines about contributors in the request, and about those left out of it (chosen by hand), so that a
report about the window does not fill it."""
_ALWAYS_REPORTED = (Region.SYSTEM, Region.HISTORY, Region.MEMORY)
"""Regions that are reported even if they are empty."""
_REPORTED = (
    *(Region.SYSTEM, Region.TOOLS, Region.PINNED, Region.INSTRUCTIONS),
    *(Region.HISTORY, Region.TOOL_OUTPUTS, Region.MEMORY),
)
"""Regions in the order of the report."""


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


# traceSummaries ----------------------------------------------------------------------------------------


def trace_summaries(state: RequestState, digest: str | None = None) -> Diagnosis:
    """Return the origin of each summary: messages, folded digests, author, checks and loss.

    A summary that a later one absorbed is no longer in the context; it is listed with the one that has it.
    """
    folded = folded_digests(state.compactions)
    made = [(compaction, item) for compaction in state.compactions for item in compaction.plan.digests]
    chosen = [(compaction, item) for compaction, item in made if digest in (None, item.id)]
    if not chosen and digest is not None:
        known_names = ", ".join(f"{item.id}{_place(item, folded)}" for _, item in made) or "none"
        raise NotFound(f"no summary {digest!r}", f"summaries: {known_names}")
    if not chosen:
        return Diagnosis("No active summary: none of the turns is replaced by one.", {"summaries": []})
    lines = [line for compaction, item in chosen for line in _lineage(compaction, item, folded)]
    return Diagnosis(
        "\n".join(lines),
        {"summaries": [_lineage_json(compaction, item, folded) for compaction, item in chosen]},
    )


def folded_digests(compactions: Sequence[RecordedCompaction]) -> dict[str, str]:
    """Return the digests that a later one absorbed, each with that digest: they left the context."""
    result: dict[str, str] = {}
    for digest in _digests(compactions):
        for absorbed in digest.folds:
            result.setdefault(absorbed, digest.id)
    return result


def _digests(compactions: Sequence[RecordedCompaction]) -> Iterator[Digest]:
    return (digest for compaction in compactions for digest in compaction.plan.digests)


def _place(digest: Digest, folded: Mapping[str, str]) -> str:
    return f" (folded into {folded[digest.id]})" if digest.id in folded else ""


def _lineage(compaction: RecordedCompaction, digest: Digest, folded: Mapping[str, str]) -> Iterator[str]:
    plan = compaction.plan
    does = "replaced" if digest.id in folded else "replaces"
    covered = f"{_messages(len(digest.covers))}: {spans(digest.covers)}"
    yield f"{digest.id} (level {digest.level}) {does} {covered}{_place(digest, folded)}"
    yield f"  made {compaction.time} by {digest.author}, because: {plan.reason}"
    yield f"  {plan.tokens_before:,} → {plan.tokens_after:,} tokens"
    made = f"{len(digest.claims)} claims and {len(digest.pins)} rules"
    yield f"  {made}, from {_messages(_sources(digest))}"
    if digest.folds:
        yield f"  absorbed {', '.join(digest.folds)}"
    yield f"  {_check_line(compaction)}; checksum {digest.checksum[:23]}"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"


def _sources(digest: Digest) -> int:
    return len({cite.message for claim in digest.claims for cite in claim.sources})


def _check_line(compaction: RecordedCompaction) -> str:
    gone = sum(count.gone for count in compaction.report.kept)
    verdict = "checked and accepted" if compaction.report.accepted else "checked, with findings"
    return f"{verdict}; {gone:,} items dropped (recoverable by search)"


def _lineage_json(compaction: RecordedCompaction, digest: Digest, folded: Mapping[str, str]) -> JsonObject:
    plan = compaction.plan
    return {
        "digest": digest.id,
        "level": digest.level,
        "covers": spans(digest.covers),
        "messages": len(digest.covers),
        "folds": list(digest.folds),
        "folded_into": folded.get(digest.id),
        "author": digest.author,
        "time": compaction.time,
        "trigger": plan.trigger,
        "reason": plan.reason,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "claims": len(digest.claims),
        "rules": len(digest.pins),
        "messages_cited": _sources(digest),
        "accepted": compaction.report.accepted,
        "checksum": digest.checksum,
    }


# contextBudget -----------------------------------------------------------------------------------------


def context_budget(state: RequestState) -> Diagnosis:
    """Return the split of the window in one line, then everything that was cut and why."""
    split = state.allotment
    shown = [split.of(region) for region in _REPORTED]
    shown = [slice_ for slice_ in shown if slice_.given or slice_.region in _ALWAYS_REPORTED]
    listed = [f"{slice_.region.value.capitalize()}: {slice_.given} tokens" for slice_ in shown]
    reserve = sum(split.of(region).given for region in _RESERVES)
    total = split.window_tokens - split.free_tokens
    lines = [f"{', '.join([*listed, f'Reserve: {reserve} tokens'])} (Total={total}/{split.window_tokens})"]
    lines += [
        f"Overflow: {slice_.region} asked for {slice_.asked:,}, got {slice_.given:,}: {slice_.why}"
        for slice_ in _cut(split)
    ]
    lines += [
        f"Cut: {_contribution_line(contribution)}" for contribution in state.contributions if contribution.cut
    ]
    lines += _until_compaction(state)
    value: JsonObject = {
        "regions": {slice_.region.value: slice_.given for slice_ in split.slices},
        "reserve": reserve,
        "total": total,
        "window": split.window_tokens,
        "free": split.free_tokens,
        "overflows": {slice_.region.value: slice_.cut for slice_ in _cut(split)},
        "compact_at": state.compact_at_tokens,
    }
    return Diagnosis("\n".join(lines), value)


def _cut(split: Allotment) -> list[Slice]:
    return [slice_ for slice_ in split.slices if slice_.cut]


def _until_compaction(state: RequestState) -> Iterator[str]:
    if state.compact_at_tokens is not None:
        left = state.compact_at_tokens - Fill.of(state.allotment).used_tokens  # history in full, as asked
        when = f"{left:,} from now" if left > 0 else "it is due"
        yield f"Compaction starts at {state.compact_at_tokens:,} tokens: {when}."


# contextSnapshot ---------------------------------------------------------------------------------------


def context_snapshot(state: RequestState) -> Diagnosis:
    """Return the current tokens of every region and section, with the reason for each size.

    What is in use is what the next request holds, also of regions that are larger than their part.
    """
    split = state.allotment
    used = Fill.of(split).used_tokens
    lines = [f"{used:,} of {split.window_tokens:,} tokens are in use, {split.free_tokens:,} are free."]
    for slice_ in split.slices:
        lines.append(f"{slice_.region.value:>12}  {slice_.given:>9,}  {slice_.why}")
        if slice_.cut:
            lines.append(f"{'':>12}  {slice_.cut:>9,}  more are in it and do not fit")
    by_section = _by_section(state.contributions)
    if by_section:
        lines.append("By section:")
        for name, (tokens, count) in by_section.items():
            lines.append(f"{name:>12}  {tokens:>9,}  {count} part{'' if count == 1 else 's'}")
    lines += _until_compaction(state)
    lines += _cache(state)
    folded = folded_digests(state.compactions)
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
        "digests": [digest.id for digest in _digests(state.compactions) if digest.id not in folded],
        "folded_digests": dict[str, Json](folded),
        "last_call": state.last_call.to_json() if state.last_call else None,
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


def _cache(state: RequestState) -> Iterator[str]:
    call = state.last_call
    if call is not None:
        read, written = call.usage.cache_read_tokens, call.usage.cache_write_tokens
        text = f"{read:,} tokens read from the cache, {written:,} written, {call.missed_tokens:,} missed"
        yield f"Last call: {text}; {call.cause.why}."


# listContributors --------------------------------------------------------------------------------------


def list_contributors(state: RequestState, section: str | None = None) -> Diagnosis:
    """Return which turns, notes, files and tools are in the request, and which were left out."""
    chosen = [
        contribution
        for contribution in state.contributions
        if section is None or contribution.section.name == section
    ]
    inside = [contribution for contribution in chosen if contribution.given]
    out = [contribution for contribution in chosen if not contribution.given]
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


# The tools ---------------------------------------------------------------------------------------------


def diagnostic_tools(current: Callable[[], RequestState]) -> tuple[Tool, ...]:
    """Return the tools; ``current`` is called for the current state on every tool call."""

    def answering(
        answer: Callable[[RequestState, dict[str, Any]], Diagnosis],
    ) -> Callable[[Any, dict[str, Any]], ToolAnswer]:
        return lambda _context, arguments: ToolAnswer(answer(current(), arguments).text)

    return (
        Tool(
            "contextSnapshot",
            "Report the current token usage of every region of the context window, with the reason for each.",
            object_schema(),
            answering(lambda state, _: context_snapshot(state)),
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
            answering(lambda state, arguments: list_contributors(state, arguments["section"])),
        ),
        Tool(
            "traceSummaries",
            "Show the lineage of the summaries: which turns each replaces, which later one absorbed it, who "
            "wrote it, why, and what the checks said.",
            object_schema(digest=string("Only this one, like d3; all of them if null.", optional=True)),
            answering(lambda state, arguments: trace_summaries(state, arguments["digest"])),
        ),
        Tool(
            "contextBudget",
            "Report in one line how the context window is split, and what was cut.",
            object_schema(),
            answering(lambda state, _: context_budget(state)),
        ),
    )
