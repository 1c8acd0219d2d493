"""The report: one HTML file that needs nothing else, with figures one could print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import NamedTuple

from clew_evals.attacks import Assault
from clew_evals.chains import Growth, Link
from clew_evals.composition import KINDS
from clew_evals.needs import Probe
from clew_evals.report.figures import (
    CLASSES,
    DUTIES,
    Tint,
    against_budget,
    by_class,
    cost,
    drift,
    is_apart,
    pace,
    rank_lines,
    side_by_side,
    under_attack,
)
from clew_evals.report.svg import colours
from clew_evals.score import RANKED
from clew_evals.study import StudyRow, probes_by_cut, usual_budget
from clew_evals.summary import HEADLINE, ResultLine, agreement, summarise_rows
from clew_evals.tool_compactions import (
    NONE,
    OURS,
    THEIRS,
    OwnCompactions,
    ToolLoss,
    loss_sentences,
    newest_losses,
    tool_and_clew_lines,
    use_of,
)

TABLES = {
    "Going on: what the next step needs": ("share", HEADLINE, *RANKED, "redo", *KINDS),
    "Reuse: what the continuation needed again": (*CLASSES, "in_context_far", "explained_far", "need"),
    "Duties: what must not be lost": (*DUTIES, "stale", "unsupported", "recoverable", "recalled"),
    "Cost": ("tokens", "rewritten", "refetch_tokens", "calls", "over", "refused", "invalid", "seconds"),
}
"""Titles, and the figures in the columns."""
COMPACTIONS_SHOWN = 12
VALUES_SHOWN = 4
LOSS = "What a loss costs: tokens of the smallest outputs that hold what was lost, to be fetched again."
PACE = "What a compaction costs without any model: the policy's own time, reading the session included."
ATTACK = (
    "The same planted rule while tool outputs ask for it to be left out: plainly, quoting it, forged as the "
    "user's words, buried, encoded, and in eight languages."
)


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that a report shows."""

    rows: Sequence[StudyRow]
    links: Sequence[Link] = ()
    own: OwnCompactions = NONE
    command: str = "clew eval"
    assaults: Sequence[Assault] = ()
    growths: Sequence[Growth] = ()


def page(findings: Findings) -> str:
    """Return the report."""
    style = files("clew_evals.report").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(_body(findings))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>What compaction keeps</title>'
        f"<style>{style}</style><body>{body}</body></html>\n"
    )


def _body(findings: Findings) -> Iterator[str]:
    yield "<h1>What compaction keeps</h1>"
    if findings.own.judged or findings.own.unjudged:
        yield from _lost(findings.own)
    if findings.rows:
        yield from _study_sections(findings)
    yield _meanings()
    yield f"<h2>How this was made</h2><p><code>{escape(findings.command)}</code></p>"


def _study_sections(findings: Findings) -> Iterator[str]:
    every = summarise_rows(findings.rows)
    budget = usual_budget(line.share for line in every)
    best_first = rank_lines((line for line in every if line.share == budget), budget)
    others = (line.policy for line in best_first if line.policy != OURS and not is_apart(line.policy))
    tint = colours([OURS, *others])
    yield _lead(findings.rows)
    groups = {
        "Retention": [*_over_budgets(every, tint), *_at_budget(best_first, budget, tint)],
        "Drift and attacks": [*_chains(findings.links, tint), *_attacks(findings.assaults, tint)],
        "Cost": [*_costs(best_first, tint)],
    }
    yield from _figures(groups)
    yield f"<h2>All figures at {budget:.0%} of the tokens</h2>"
    yield from _tables(best_first)
    yield from _agreement([row for row in findings.rows if row.share == budget])


class _Figure(NamedTuple):
    svg: str
    caption: str


def _figures(groups: Mapping[str, Sequence[_Figure]]) -> Iterator[str]:
    number = 0
    for title, drawn in groups.items():
        if not drawn:
            continue
        yield f'<h2>{title}</h2><div class="figures">'
        for figure in drawn:
            number += 1
            caption = f"<b>Figure {number}.</b> {escape(figure.caption)}"
            yield f"<figure>{figure.svg}<figcaption>{caption}</figcaption></figure>"
        yield "</div>"


def _lead(rows: Sequence[StudyRow]) -> str:
    cuts = probes_by_cut(rows)
    sessions = len({row.session for row in rows})
    return (
        f'<h2>How much each way to compact keeps</h2><p class="lead">{len(cuts):,} cuts of {sessions:,} '
        f"real sessions, {sum(cuts.values()):,} values "
        "that the continuation needed again. No model wrote a summary. Bands and whiskers are 95 % intervals "
        "by session.</p>"
    )


def _over_budgets(every: Sequence[ResultLine], tint: Tint) -> Iterator[_Figure]:
    if len({line.share for line in every}) < 2:
        return
    yield _Figure(
        against_budget(every, HEADLINE, tint),
        "The headline: how well an agent can go on from the view, against the room a policy is given.",
    )
    yield _Figure(
        against_budget(every, "retained", tint),
        "Needed values that are merely in the view. A bare list of values does well here, which is why "
        "this is not the headline.",
    )


def _at_budget(some: Sequence[ResultLine], budget: float, tint: Tint) -> Iterator[_Figure]:
    yield _Figure(
        side_by_side(some, HEADLINE, tint),
        f"The headline at {budget:.0%} of the tokens; in brackets what those took that cannot aim at a "
        "size. Grey: cheats and the ceiling.",
    )
    yield _Figure(by_class(some, tint), f"By class of what is asked, at {budget:.0%}: from values to duties.")


def _chains(links: Sequence[Link], tint: Tint) -> Iterator[_Figure]:
    if not links:
        return
    yield _Figure(
        drift(links, HEADLINE, tint),
        "Drift: the same session and the same room, compacted more and more often on the way.",
    )
    yield _Figure(
        drift(links, "roundtrip", tint),
        "Questions about the old history that a plain reader answers from the view, after each chain.",
    )
    yield _Figure(
        drift(links, "constraints", tint),
        "One rule, planted in the first tenth of the session: is it still there?",
    )


def _attacks(every: Sequence[Assault], tint: Tint) -> Iterator[_Figure]:
    if every:
        yield _Figure(under_attack(every, tint), ATTACK)


def _costs(some: Sequence[ResultLine], tint: Tint) -> Iterator[_Figure]:
    yield _Figure(cost(some, "refetch_tokens", "tokens to fetch again per cut", tint), LOSS)
    yield _Figure(pace(some, tint), PACE)


def _meanings() -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{escape(meaning)}</dd>" for name, meaning in MEANINGS.items())
    return f"<h2>What the figures mean</h2><dl>{rows}</dl>"


def _tables(some: Sequence[ResultLine]) -> Iterator[str]:
    for title, names in TABLES.items():
        rows = []
        for line in some:
            kind = "ours" if line.policy == OURS else "apart" if is_apart(line.policy) else ""
            cells = "".join(f"<td>{line.cell(name)}</td>" for name in names)
            rows.append(f'<tr class="{kind}"><td>{escape(line.policy)}</td>{cells}</tr>')
        yield f"<h3>{title}</h3>"
        yield _wide(("policy", *names), rows)


def _wide(names: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in names)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _agreement(rows: Sequence[StudyRow]) -> Iterator[str]:
    if len({row.policy for row in rows}) < 2 or len({row.session for row in rows}) < 2:
        return
    taus = [agreement(rows, metric) for metric in (HEADLINE, "roundtrip", "explained")]
    taus_text = "; ".join(f"{tau.metric} {tau.mean:.2f} (worst {tau.worst:.2f})" for tau in taus)
    yield (
        "<p>Ranking on random halves of the sessions, Kendall’s tau, mean of 100 halvings: "
        f"{taus_text}. One is perfect agreement.</p>"
    )


def _lost(own: OwnCompactions) -> Iterator[str]:
    yield "<h2>What the tools themselves lost at their compactions</h2>"
    yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in loss_sentences(own))}</ul>"
    if not own.judged:
        return
    names = (
        "when",
        "tokens",
        "left",
        "rules",
        "tasks",
        "files",
        "values",
        "of them fetched again",
        "some, in use",
    )
    yield "<h3>The latest, and what they lost</h3>"
    yield _wide(names, [_lost_row(loss) for loss in newest_losses(own.judged, COMPACTIONS_SHOWN)])
    yield f"<p>Below, <i>{OURS}</i> was given as many tokens as <i>{THEIRS}</i> left.</p>"
    yield from _tables(tool_and_clew_lines(own.judged))


def _lost_row(loss: ToolLoss) -> str:
    again = sum(probe.refetched for probe in loss.values)
    sizes = (loss.tokens_before, loss.tokens_after)
    counts = (*sizes, *map(len, (loss.rules, loss.open, loss.files, loss.values)), again)
    cells = "".join(f"<td>{count:,}</td>" for count in counts)
    silent_first = sorted(loss.values, key=lambda probe: probe.refetched)
    some = "".join(f"<li>{_shown_use(probe)}</li>" for probe in silent_first[:VALUES_SHOWN])
    when = escape((loss.time or "").replace("T", " ")[:16])
    return f'<tr><td>{when}</td>{cells}<td class="text"><ul>{some}</ul></td></tr>'


def _shown_use(probe: Probe) -> str:
    """Return the words in which a value was used, the value set off."""
    use = use_of(probe)
    return f"…{escape(use.before)}<b>{escape(use.value)}</b>{escape(use.after)}…"


MEANINGS = {
    "share": "tokens of the view, of those that were compacted",
    "continuity": "mean of next action, goal, reports, roundtrip and current, less redo; ranks the policies",
    "next action": "targets and stated reasons of the first three calls after the cut that are in view",
    "goal": "views that state the request that the continuation works on",
    "redo": "views that present as open or valid what was finished, overruled or deleted (less is better)",
    "reports": "sentences of the agent's end-of-turn reports that are in view, if all would fit half of it",
    "verbatim … bare values": "what the view is made of: messages as they were, whose words, lists of values",
    "retained": "needed values that are in the view",
    "far": "the same, of values last said more than a quarter of the history ago",
    "rare, hard": "of values said at most three times; and of these, more than a tenth of the history ago",
    "user": "of values that the user named first: no tool can fetch them again",
    "in_context": "needed values with enough words of their source near them",
    "explained": "needed values that appear with the wording of their source line, in order",
    "answered": "questions about needed values that the plain reader answers from the view",
    "roundtrip": "questions made from the old history alone, needed later or not, answered from the view",
    "constraints, decisions": "sentences of the user's that people labelled, still there",
    "rules": "the same for rules that clew's ledger finds; kind to clew",
    "open, files": "tasks not ended and files changed by calls, still named",
    "failed, tests": "what the last failed calls returned; the outcome of the last test run",
    "current, stale": "replaced values: the new one is said last; only the old one is said (less is better)",
    "unsupported": "values in what the policy wrote that are nowhere in the session (less is better)",
    "recoverable, recalled": "retained, or found by one search: for the value; for the words around its use",
    "rewritten": "tokens behind the first message that changed: what leaves the provider’s cache",
    "refetch tokens": "tokens of the smallest tool outputs that hold what was lost",
    "over, refused, invalid": "views above their budget; not made at all; that a provider would refuse",
}
