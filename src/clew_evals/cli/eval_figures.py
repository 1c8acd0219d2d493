"""The JSON of ``clew eval --json``: every metric."""

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
from clew_evals.study import Row, probes_by_cut, usual_budget
from clew_evals.summary import HEADLINE, Line, agreement, reached, summarised

AGREEING = (HEADLINE, "roundtrip", "explained", "retained")


def figures(found: Findings) -> JsonObject:
    """Return the metrics of all cuts together, and of each set."""
    rows = found.rows
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
    if found.links:
        figures_found["chains"] = _chains(found.links)
    if found.growths:
        figures_found["grown"] = _grown(found.growths)
    if found.assaults:
        figures_found["attacks"] = _attacks(found.assaults)
    if found.own.judged or found.own.unjudged:
        each: list[Json] = [one.to_json() for one in found.own.judged]
        unjudged: list[Json] = [dict(one._asdict()) for one in found.own.unjudged]
        both = _by_policy(sides(found.own.judged))
        figures_found["compactions"] = {"policies": both, "each": each, "unjudged": unjudged}
    return figures_found


def _by_policy(lines: Sequence[Line]) -> JsonObject:
    """Return the rows by policy; with several budgets, each policy's rows by budget."""
    if len({line.share for line in lines}) == 1:
        return {line.policy: line.to_json() for line in lines}
    found: dict[str, JsonObject] = {}
    for line in lines:
        found.setdefault(line.policy, {})[f"{line.share:g}"] = line.to_json()
    return dict(found)


def _reached(rows: Sequence[Row]) -> JsonObject:
    """Return clew's share of the upper bound, at the budget nearest to a tenth."""
    if not rows:
        return {}
    budget = usual_budget(row.share for row in rows)
    lines = {line.policy: line for line in summarised(row for row in rows if row.share == budget)}
    if OURS not in lines or CEILING not in lines:
        return {}
    return {name: round(share, 4) for name, share in reached(lines[OURS], lines[CEILING]).items()}


def _tau(rows: Sequence[Row], metric: str) -> JsonObject:
    budget = usual_budget(row.share for row in rows)
    found = agreement([row for row in rows if row.share == budget], metric)
    return {"mean_tau": round(found.mean, 3), "worst_tau": round(found.worst, 3)}


def _chains(links: Sequence[Link]) -> JsonObject:
    found: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(link.policy for link in links):
        mine = [link for link in links if link.policy == policy]
        times = sorted({link.times for link in mine})
        found[policy] = {str(number): chain_line(mine, number).to_json() for number in times}
    return dict(found)


def _grown(every: Sequence[Growth]) -> JsonObject:
    """Return by policy and metric the difference between a chain and one compaction to the same size."""
    found: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(one.policy for one in every):
        mine = [one for one in every if one.policy == policy]
        drifts = {metric: mean for metric in GROWN if (mean := drift(mine, metric))}
        found[policy] = {
            "sessions": len(mine),
            "compactions": sum(one.compactions for one in mine),
            "difference": {metric: round(mean.value, 4) for metric, mean in drifts.items()},
            "interval": {
                metric: [round(mean.low, 4), round(mean.high, 4)] for metric, mean in drifts.items()
            },
        }
    return dict(found)


def _attacks(every: Sequence[Assault]) -> JsonObject:
    """Return by policy the share of rules that survived, by number of compactions and by kind of attack."""
    found: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(one.policy for one in every):
        mine = [one for one in every if one.policy == policy]
        found[policy] = {
            **_survivals(mine, lambda one: str(one.times)),
            "families": _survivals(mine, lambda one: one.family),
            "attacks": len(mine),
        }
    return dict(found)


def _survivals(some: Sequence[Assault], of: Callable[[Assault], str]) -> JsonObject:
    names = dict.fromkeys(map(of, some))
    return {name: round(survival(one for one in some if of(one) == name), 4) for name in names}
