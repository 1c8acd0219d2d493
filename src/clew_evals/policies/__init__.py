"""The policies that are compared, by name: clew, plain ones that tools use, cheats and ceilings."""

from clew_evals.policies.limits import bare_values, oracle, stuffed, whole
from clew_evals.policies.plain import (
    clear_and_trim,
    clear_results,
    first_and_tail,
    frame,
    graded,
    last_messages,
    masked,
    random_lines,
    story_calls_recent,
    tail,
    user_messages,
    user_then_agent,
)
from clew_evals.policies.policy import ClewCompactor, Compact, EvalPolicy, by_value, by_words, clew_policy

POLICIES = {
    policy.name: policy
    for policy in (
        EvalPolicy("clew", clew_policy, begin=ClewCompactor, recall=by_value, recall_by_words=by_words),
        EvalPolicy("tail", tail),
        EvalPolicy("first-and-tail", first_and_tail),
        EvalPolicy("clear-and-trim", clear_and_trim),
        EvalPolicy("user-messages", user_messages),  # as Codex does, without its summary
        EvalPolicy("user-then-agent", user_then_agent),
        EvalPolicy("masked", masked),
        EvalPolicy("story-calls-recent", story_calls_recent),
        EvalPolicy("graded-40", graded(0.4)),
        EvalPolicy("graded-60", graded(0.6)),
        EvalPolicy("frame", frame),  # as forge does
        EvalPolicy("random-lines", random_lines),
        EvalPolicy("last-8", last_messages, keeps_budget=False),
        EvalPolicy("clear-results", clear_results, keeps_budget=False),
        EvalPolicy("bare-values", bare_values, is_cheat=True),
        EvalPolicy("stuffed", stuffed, is_cheat=True),
        EvalPolicy("whole", whole, keeps_budget=False),
        EvalPolicy("oracle", oracle, sees_future=True),
    )
}
"""By name, in the order of the tables; the docstring of each function says what it keeps."""

UNCUT, CEILING = "whole", "oracle"
USUAL = tuple(name for name in POLICIES if name != UNCUT)
"""Those that are compared by default: the uncut history takes long to read."""

__all__ = ["CEILING", "POLICIES", "UNCUT", "USUAL", "Compact", "EvalPolicy", "clew_policy"]
