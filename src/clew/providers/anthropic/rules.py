"""All rules of Anthropic's API (``RULES``); here those on request fields and compaction (A10, A12 to A37).

Each function yields the violations of the rule above it, such as a fifth ``cache_control`` mark. The rules on
messages and turns are in ``rules_content`` and ``rules_turns``.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import Json, JsonObject
from clew.providers.anthropic.rules_content import CONTENT_RULES
from clew.providers.anthropic.rules_turns import TURN_RULES
from clew.providers.anthropic.rules_walk import (
    Block,
    ClaudeFamily,
    Inner,
    Sampling,
    blocks,
    inner_blocks,
    known_family,
    turns,
)
from clew.providers.rules import (
    CheckScope,
    RuleBook,
    RuleFinding,
    RuleLevel,
    misfit_numbers,
    temperature_up_to,
)
from clew.providers.shapes import as_list, as_number, as_object, as_text, objects

RULES = RuleBook([*CONTENT_RULES, *TURN_RULES])

MAX_CACHE_MARKS = 4
MAX_MESSAGES = 100_000
MIN_THINKING_BUDGET = 1_024

_FIELDS = frozenset(
    {"model", "messages", "system", "max_tokens", "stream", "stop_sequences", "metadata", "container"}
    | {"temperature", "top_p", "top_k", "thinking", "output_config", "output_format", "speed"}
    | {"tools", "tool_choice", "mcp_servers", "cache_control", "context_management", "diagnostics"}
    | {"service_tier", "inference_geo", "fallbacks", "fallback_credit_token", "user_profile_id"}
    | {"compaction", "thread"}
    | {"anthropic_version", "anthropic_beta"}  # of bodies for Bedrock and Vertex
)


@RULES.add(
    "A10: at most four cache marks, the long-lived first",
    "Error texts 'A maximum of 4 blocks with cache_control may be provided' (sub2api#176) and 'a "
    "ttl=1h cache_control block must not come after a ttl=5m' (headroom#2939). The top-level mark is "
    "not counted.",
    "drop the oldest marks; give earlier marks the longer ttl",
)
def _cache_marks(body: JsonObject) -> Iterator[RuleFinding]:
    short_lived = False
    for count, (where, mark) in enumerate(_marks(body), start=1):
        lifetime = as_object(mark).get("ttl", "5m")
        if as_object(mark).get("type") != "ephemeral" or lifetime not in ("5m", "1h"):
            yield RuleFinding(where, "must be of type ephemeral, with ttl 5m or 1h")
        if count > MAX_CACHE_MARKS:
            yield RuleFinding(where, f"cache mark {count}, {MAX_CACHE_MARKS} are allowed")
        if lifetime == "1h" and short_lived:
            yield RuleFinding(where, "ttl 1h after ttl 5m")
        short_lived = short_lived or lifetime == "5m"


def _marks(body: JsonObject) -> Iterator[tuple[str, Json]]:
    """Yield every cache mark in the order in which the API reads them: tools, system, messages."""
    for key in ("tools", "system"):
        for i, value in objects(body.get(key)):
            if mark := value.get("cache_control"):
                yield f"{key}.{i}.cache_control", mark
    marks: list[Block | Inner] = [inner for inner in inner_blocks(body) if inner.value.get("cache_control")]
    marks += [block for block in blocks(body) if block.value.get("cache_control")]
    for marked in sorted(marks, key=_reading_order):
        yield f"{marked.where}.cache_control", marked.value["cache_control"]


def _reading_order(marked: Block | Inner) -> tuple[int, int, int]:
    """Return a sort key for the API's reading order: nested marks come before the block's own mark."""
    if isinstance(marked, Inner):
        return marked.holder.message, marked.holder.at or 0, 0
    return marked.message, marked.at or 0, 1


@RULES.add(
    "A12: numbers are in range",
    "The SDK's docstrings and Anthropic's list of errors: 100,000 messages, temperature 0 to 1 (and 1 "
    "with thinking), thinking budget from 1,024 and below max_tokens.",
    "change the number",
)
def _numbers_out_of_range(body: JsonObject) -> Iterator[RuleFinding]:
    yield from misfit_numbers(body, ("max_tokens", "top_k"))
    count = len(as_list(body.get("messages")))
    if count > MAX_MESSAGES:
        yield RuleFinding("messages", f"{count:,} messages, {MAX_MESSAGES:,} are allowed")
    max_tokens = as_number(body.get("max_tokens"))
    if max_tokens is not None and max_tokens < 0:
        yield RuleFinding("max_tokens", "must not be negative")
    yield from temperature_up_to(1, body)
    yield from _thinking_out_of_range(body, max_tokens)


def _thinking_out_of_range(body: JsonObject, max_tokens: float | None) -> Iterator[RuleFinding]:
    thinking = as_object(body.get("thinking"))
    budget = as_number(thinking.get("budget_tokens"))
    if thinking.get("type") != "enabled" or budget is None:
        return
    if budget < MIN_THINKING_BUDGET:
        yield RuleFinding("thinking.budget_tokens", f"must be at least {MIN_THINKING_BUDGET}")
    # With tools and interleaved thinking (a header, not seen here) the budget may be larger.
    if max_tokens is not None and budget >= max_tokens and not body.get("tools"):
        yield RuleFinding("thinking.budget_tokens", "must be less than max_tokens")
    if as_number(body.get("temperature")) not in (None, 1):
        yield RuleFinding("temperature", "must be 1 if thinking is enabled")


@RULES.add(
    "A12b: a request has a model, max_tokens and a message",
    "Anthropic's list of errors: missing required parameters.",
    "add the field",
    scope=CheckScope.BODY,
)
def _missing_fields(body: JsonObject) -> Iterator[RuleFinding]:
    # Bedrock and Vertex have the model in the URL; their bodies have anthropic_version.
    required = ("max_tokens",) if "anthropic_version" in body else ("model", "max_tokens")
    for field in required:
        if body.get(field) is None:
            yield RuleFinding(field, "is required")
    if body.get("messages") == []:
        yield RuleFinding("messages", "at least one message is required")


@RULES.add(
    "A13: the model accepts the sampling and thinking parameters",
    "Anthropic's claude-api skill (Opus 4.7 and later, Sonnet 5, Fable 5) and pydantic-ai's model "
    "profiles. Depends on the model.",
    "leave the parameter out",
)
def _removed_parameters(body: JsonObject) -> Iterator[RuleFinding]:
    family = known_family(body)
    if family is None:
        return
    model, thinking = as_text(body.get("model")), as_object(body.get("thinking")).get("type")
    for name in ("temperature", "top_p", "top_k"):
        if _is_refused(body.get(name), family, name):
            yield RuleFinding(name, f"is not supported on {model}")
    if thinking == "enabled" and not family.thinking_budget:
        yield RuleFinding("thinking.type", f"enabled is not supported on {model}; use adaptive")
    if thinking == "disabled" and not family.thinking_off:
        yield RuleFinding("thinking.type", f"disabled is not supported on {model}; leave thinking out")


def _is_refused(value: Json, family: ClaudeFamily, name: str) -> bool:
    if value is None or family.sampling is Sampling.ANY:
        return False
    return family.sampling is Sampling.NONE or name == "top_k" or value != 1


@RULES.add(
    "A16: the body has only known fields",
    "Error text 'Extra inputs are not permitted' (Anthropic's page for gateways); the fields are those "
    "of the SDK of November 2026 (anthropic 2.8.0) and of Bedrock and Vertex bodies.",
    "leave the field out",
)
def _unknown_fields(body: JsonObject) -> Iterator[RuleFinding]:
    for field in body:
        if field not in _FIELDS:
            yield RuleFinding(field, "extra inputs are not permitted")


@RULES.add(
    "A22: a compaction on demand and a thread are of the documented shape",
    "Types of the SDK (anthropic 2.8.0): compaction {type: summarize}, which cannot be combined with "
    "context_management; thread {type: create} or {type: continue, previous_message_id}.",
    "use the documented fields, and one kind of compaction",
)
def _unusable_compaction(body: JsonObject) -> Iterator[RuleFinding]:
    wanted, thread = body.get("compaction"), body.get("thread")
    if wanted is not None:
        if as_object(wanted).get("type") != "summarize":
            yield RuleFinding("compaction.type", "must be summarize")
        if body.get("context_management") is not None:
            yield RuleFinding("compaction", "cannot be combined with context_management")
    if thread is not None:
        kind = as_object(thread).get("type")
        if kind not in ("create", "continue"):
            yield RuleFinding("thread.type", "must be create or continue")
        if kind == "continue" and not as_text(as_object(thread).get("previous_message_id")):
            yield RuleFinding("thread.previous_message_id", "is required to continue a thread")


@RULES.add(
    "A17: tool definitions are usable",
    "Error texts 'input_schema does not support oneOf, allOf, or anyOf at the top level' "
    "(Codewhale#4329), 'All tools have defer_loading set' (claude-api skill) and 'Tool names must be "
    "unique'.",
    "wrap the schema in an object; keep one tool loaded; name each tool once",
)
def _unusable_tools(body: JsonObject) -> Iterator[RuleFinding]:
    tools = list(objects(body.get("tools")))
    names: set[str] = set()
    for i, tool in tools:
        schema, name = as_object(tool.get("input_schema")), as_text(tool.get("name"))
        for word in ("oneOf", "allOf", "anyOf"):
            if word in schema:
                yield RuleFinding(f"tools.{i}.input_schema", f"{word} is not supported at the top level")
        if name and name in names:
            yield RuleFinding(f"tools.{i}.name", f"tool names must be unique: {name}")
        names.add(name)
    if tools and all(tool.get("defer_loading") is True for _, tool in tools):
        yield RuleFinding("tools", "all tools have defer_loading set")


@RULES.add(
    "A19: the model knows the effort level",
    "Recorded by pydantic-ai: \"This model does not support effort level 'xhigh'\" (Opus 4.6); the "
    "levels are those of Anthropic's claude-api skill. Depends on the model.",
    "use a level that the model has",
)
def _unsupported_effort(body: JsonObject) -> Iterator[RuleFinding]:
    family, effort = known_family(body), as_object(body.get("output_config")).get("effort")
    if family is None or not isinstance(effort, str) or effort in family.efforts:
        return
    levels = ", ".join(family.efforts) or "none"
    yield RuleFinding(
        "output_config.effort", f"{as_text(body.get('model'))} has no {effort!r}; it has: {levels}"
    )


_DOCS = "Anthropic's documentation of compaction and the types of anthropic 2.8.0"
LEAST_TRIGGER = 50_000
MOST_TOOL_REFERENCES = 100
"""The API's number is not documented; chosen by hand, far above what tool search finds in a session."""


@RULES.add(
    "A32: a compaction block is as it came",
    f"Error codes compaction_content_mismatch, compaction_signature_invalid and "
    f"compaction_tool_changes_mismatch ({_DOCS}); edited text cannot be seen from here.",
    "send it back byte for byte; say what it lacks in a later message",
)
def _unsigned_compaction(body: JsonObject) -> Iterator[RuleFinding]:
    for block in blocks(body):
        if block.kind != "compaction" or not block.value.get("content"):  # null: the compaction failed
            continue
        if "signature" in block.value and not block.value["signature"]:
            yield RuleFinding(f"{block.where}.signature", "the signature is empty")
        changes = block.value.get("tool_changes")
        if changes is not None and not isinstance(changes, list):
            yield RuleFinding(f"{block.where}.tool_changes", "tool_changes is not the list that came")


@RULES.add(
    "A34: compaction on demand comes after a whole turn",
    f"Error codes compaction_incomplete_turn and compaction_nothing_to_summarize ({_DOCS}).",
    "ask for it once the last call has its result and the user's turn has come",
    scope=CheckScope.BODY,
)
def _compaction_of_an_open_turn(body: JsonObject) -> Iterator[RuleFinding]:
    if not body.get("compaction"):
        return
    every = turns(body)
    rest = [block for block in blocks(body) if block.kind != "compaction"]
    if not rest:
        yield RuleFinding("compaction", "there is nothing to summarise (compaction_nothing_to_summarize)")
    elif every[-1].role == "assistant":
        yield RuleFinding(
            "compaction", "the last turn is the assistant's and open (compaction_incomplete_turn)"
        )


@RULES.add(
    "A35: automatic compaction starts at 50,000 tokens or more",
    f"The least value of the trigger of compact_20260112 ({_DOCS}).",
    "raise the trigger to 50,000 or more",
    scope=CheckScope.BODY,
)
def _low_compaction_trigger(body: JsonObject) -> Iterator[RuleFinding]:
    for number, edit in enumerate(as_list(as_object(body.get("context_management")).get("edits"))):
        value = as_object(as_object(edit).get("trigger")).get("value")
        is_compact = str(as_object(edit).get("type", "")).startswith("compact_")
        if is_compact and isinstance(value, int) and value < LEAST_TRIGGER:
            where = f"context_management.edits.{number}.trigger.value"
            yield RuleFinding(where, f"{value} is below {LEAST_TRIGGER:,}")


@RULES.add(
    "A36: compaction on demand records the tools that were found",
    f"Error code compaction_too_many_tool_references ({_DOCS}): the conversation references more "
    "distinct tools than a block can record. The number is not documented.",
    "compact sooner, or drop the oldest tool search results",
    scope=CheckScope.BODY,
    verified=False,
)
def _many_tool_references(body: JsonObject) -> Iterator[RuleFinding]:
    found = {
        name
        for block in blocks(body)
        for part in (block.value.get("content"), as_object(block.value.get("content")).get("tool_references"))
        for reference in as_list(part)
        if isinstance(name := as_object(reference).get("tool_name"), str)
    }
    if body.get("compaction") and len(found) > MOST_TOOL_REFERENCES:
        problem = f"{len(found)} tools are referenced (compaction_too_many_tool_references)"
        yield RuleFinding("compaction", problem)


@RULES.add(
    "A37: a failed compaction replaces nothing",
    f"Error code compaction_unavailable (529, transient), and blocks whose content is null ({_DOCS}).",
    "send the messages that it should have replaced, and ask for the compaction again",
    level=RuleLevel.WARN,
)
def _failed_compaction_first(body: JsonObject) -> Iterator[RuleFinding]:
    first = next(iter(blocks(body)), None)
    if first and first.kind == "compaction" and first.value.get("content", True) is None:
        yield RuleFinding(first.where, "this compaction failed (content is null): it replaces nothing")
