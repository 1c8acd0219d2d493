"""``clew eval --json``: every figure for other programs, of all cuts together and of each set of sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.message import Json, JsonObject
from clew_evals.attacked import Assault, survival
from clew_evals.chain import Link
from clew_evals.growth import GROWN, Growth, drift
from clew_evals.lost import OURS
from clew_evals.policies import CEILING
from clew_evals.report import Findings
from clew_evals.report.figures import chain_line
from clew_evals.report.losses import sides
from clew_evals.study import StudyRow, probes_by_cut, usual_budget
from clew_evals.summary import HEADLINE, ResultLine, agreement, reached, summarised

AGREEING = (HEADLINE, "roundtrip", "explained", "retained")


def figures(findings: Findings) -> JsonObject:
    """Return the metrics of all cuts together, and of each set."""
    rows = findings.rows
    cuts = probes_by_cut(rows)
    sessions = {row.session for row in rows}
    sets = list(dict.fromkeys(row.set for row in rows))
    figures_found: JsonObject = {
        "cuts": len(cuts),
        "sessions": len(sessions),
        "probes": sum(cuts.values()),
        "ranked_by": HEADLINE,
        "policies": _by_policy(summarised(rows)),
        "sets": {name: _by_policy(summarised(row for row in rows if row.set == name)) for name in sets},
        "agreement": {metric: _tau(rows, metric) for metric in AGREEING if len(sessions) > 1},
    }
    if ceiling := _reached(rows):
        figures_found["of_the_ceiling"] = ceiling
    if findings.links:
        figures_found["chains"] = _chains(findings.links)
    if findings.growths:
        figures_found["grown"] = _grown(findings.growths)
    if findings.assaults:
        figures_found["attacks"] = _attacks(findings.assaults)
    if findings.own.judged or findings.own.unjudged:
        each: list[Json] = [loss.to_json() for loss in findings.own.judged]
        unjudged: list[Json] = [dict(loss._asdict()) for loss in findings.own.unjudged]
        both = _by_policy(sides(findings.own.judged))
        figures_found["compactions"] = {"policies": both, "each": each, "unjudged": unjudged}
    return figures_found


def _by_policy(lines: Sequence[ResultLine]) -> JsonObject:
    """Return the rows by policy; with several budgets, each policy's rows by budget."""
    if len({line.share for line in lines}) == 1:
        return {line.policy: line.to_json() for line in lines}
    result: dict[str, JsonObject] = {}
    for line in lines:
        result.setdefault(line.policy, {})[f"{line.share:g}"] = line.to_json()
    return dict(result)


def _reached(rows: Sequence[StudyRow]) -> JsonObject:
    """Return clew's share of the upper bound, at the budget nearest to a tenth."""
    if not rows:
        return {}
    budget = usual_budget(row.share for row in rows)
    lines = {line.policy: line for line in summarised(row for row in rows if row.share == budget)}
    if OURS not in lines or CEILING not in lines:
        return {}
    return {name: round(share, 4) for name, share in reached(lines[OURS], lines[CEILING]).items()}


def _tau(rows: Sequence[StudyRow], metric: str) -> JsonObject:
    budget = usual_budget(row.share for row in rows)
    result = agreement([row for row in rows if row.share == budget], metric)
    return {"mean_tau": round(result.mean, 3), "worst_tau": round(result.worst, 3)}


def _chains(links: Sequence[Link]) -> JsonObject:
    result: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(link.policy for link in links):
        mine = [link for link in links if link.policy == policy]
        times = sorted({link.times for link in mine})
        result[policy] = {str(number): chain_line(mine, number).to_json() for number in times}
    return dict(result)


def _grown(every: Sequence[Growth]) -> JsonObject:
    """Return by policy and metric the difference between a chain and one compaction to the same size."""
    result: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(growth.policy for growth in every):
        mine = [growth for growth in every if growth.policy == policy]
        drifts = {metric: mean for metric in GROWN if (mean := drift(mine, metric))}
        result[policy] = {
            "sessions": len(mine),
            "compactions": sum(growth.compactions for growth in mine),
            "difference": {metric: round(mean.value, 4) for metric, mean in drifts.items()},
            "interval": {
                metric: [round(mean.low, 4), round(mean.high, 4)] for metric, mean in drifts.items()
            },
        }
    return dict(result)


def _attacks(every: Sequence[Assault]) -> JsonObject:
    """Return by policy the share of rules that survived, by number of compactions and by kind of attack."""
    result: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(assault.policy for assault in every):
        mine = [assault for assault in every if assault.policy == policy]
        result[policy] = {
            **_survivals(mine, lambda item: str(item.times)),
            "families": _survivals(mine, lambda item: item.family),
            "attacks": len(mine),
        }
    return dict(result)


def _survivals(some: Sequence[Assault], of: Callable[[Assault], str]) -> JsonObject:
    names = dict.fromkeys(map(of, some))
    return {name: round(survival(assault for assault in some if of(assault) == name), 4) for name in names}
