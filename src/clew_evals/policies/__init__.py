"""Everything that is compared, by name."""

from clew_evals.policies.faded import graded, masked, story_calls_recent
from clew_evals.policies.limits import bare_values, oracle, stuffed, whole
from clew_evals.policies.ours import ClewCompactor, clew_policy
from clew_evals.policies.plain import (
    clear_and_trim,
    clear_results,
    first_and_tail,
    frame,
    last_messages,
    random_lines,
    tail,
    user_messages,
    user_then_agent,
)
from clew_evals.policies.policy import Compact, EvalPolicy
from clew_evals.recalling import by_value, by_words

POLICIES = {
    policy.name: policy
    for policy in (
        EvalPolicy("clew", clew_policy, "clew, with no model", ClewCompactor, by_value, by_words),
        EvalPolicy("tail", tail, "the newest messages that fit"),
        EvalPolicy("first-and-tail", first_and_tail, "the first request and the newest messages"),
        EvalPolicy(
            "clear-and-trim", clear_and_trim, "old tool results cleared, then the oldest messages dropped"
        ),
        EvalPolicy(
            "user-messages", user_messages, "what the user said, newest first (Codex, without its summary)"
        ),
        EvalPolicy("user-then-agent", user_then_agent, "the user's words, the agent's, then short arguments"),
        EvalPolicy("masked", masked, "old tool results emptied as needed, then the oldest messages dropped"),
        EvalPolicy(
            "story-calls-recent",
            story_calls_recent,
            "turns and calls in a fifth each, and the newest messages",
        ),
        EvalPolicy("graded-40", graded(0.4), "the newest messages in 40 % of the room, older ones shortened"),
        EvalPolicy("graded-60", graded(0.6), "the newest messages in 60 % of the room, older ones shortened"),
        EvalPolicy("frame", frame, "what was done, in fixed words (as forge does), and the last messages"),
        EvalPolicy("random-lines", random_lines, "lines drawn at random"),
        EvalPolicy("last-8", last_messages, "the last eight messages", keeps_budget=False),
        EvalPolicy(
            "clear-results", clear_results, "all but the last five tool results cleared", keeps_budget=False
        ),
        EvalPolicy("bare-values", bare_values, "cheat: a bare list of values", is_cheat=True),
        EvalPolicy("stuffed", stuffed, "cheat: values with frequent words strewn between", is_cheat=True),
        EvalPolicy("whole", whole, "the uncut history: where nothing is lost", keeps_budget=False),
        EvalPolicy("oracle", oracle, "ceiling: knows what will be asked", sees_future=True),
    )
}
"""By name, in the order of the tables."""

UNCUT, CEILING = "whole", "oracle"
USUAL = tuple(name for name in POLICIES if name != UNCUT)
"""Those that are compared by default: the uncut history takes long to read."""

__all__ = ["CEILING", "POLICIES", "UNCUT", "USUAL", "Compact", "EvalPolicy", "clew_policy"]
