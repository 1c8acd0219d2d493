"""Hypothesis strategies for histories: neutral messages, entries of each wire format, odd JSON."""

from __future__ import annotations

import copy
import json

from hypothesis import strategies as st

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Media,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    trust_of,
)

# JSON ------------------------------------------------------------------------------------------------

texts = st.text(max_size=12)
words = (
    st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=20)
    .map(str.strip)
    .filter(bool)
)
ids = st.from_regex(r"[a-zA-Z0-9_-]{1,12}", fullmatch=True)
names = st.sampled_from(["bash", "read_file", "search", "mcp__db__query"])
base64s = st.sampled_from(["aGk=", "iVBORw0KGgo=", "AAAA"])

scalars = st.none() | st.booleans() | st.integers(-(2**40), 2**70) | st.floats(allow_nan=False) | texts
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
extras = st.dictionaries(
    st.sampled_from(["cache_control", "citations", "annotations", "x_unknown", "phase", "name", "detail"]),
    json_values,
    max_size=2,
)


@st.composite
def mangled(draw, items):
    """Break a well-formed entry in up to three places: drop, replace or add a field, anywhere in it."""
    item = copy.deepcopy(draw(items))
    for _ in range(draw(st.integers(0, 3))):
        holders = list(_holders(item))
        if not holders:
            break
        holder = draw(st.sampled_from(holders))
        key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = draw(json_values)
    return item


def _holders(value):
    """Yield every object and list in a value that holds something."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


@st.composite
def json_text(draw, value):
    """Write a value as JSON in some legal but unusual spelling."""
    space = draw(st.sampled_from(["", " ", "\n  ", "\t"]))
    ascii_only = draw(st.booleans())
    if isinstance(value, dict):
        members = [
            f"{json.dumps(key, ensure_ascii=ascii_only)}{space}:{draw(json_text(inner))}"
            for key, inner in value.items()
        ]
        if members and draw(st.booleans()):
            members.insert(0, members[0])  # a key that stands there twice
        return "{" + space + f"{space},".join(members) + space + "}"
    if isinstance(value, list):
        return "[" + space + f",{space}".join(draw(json_text(inner)) for inner in value) + space + "]"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=ascii_only)
        return text.replace("/", "\\/") if draw(st.booleans()) else text
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1000:
        return draw(st.sampled_from([str(value), f"{value}.0", f"{value}e0", f"{value}E+00"]))
    return json.dumps(value)


# Entries of each wire format, well formed -----------------------------------------------------------


def _with_extras(items):
    return st.builds(lambda item, more: {**more, **item}, items, extras)


def _typed(kind, **fields):
    return _with_extras(st.fixed_dictionaries({"type": st.just(kind), **fields}))


def _one_or_list(text, blocks):
    return text | st.lists(blocks, max_size=4)


_source = st.one_of(
    st.fixed_dictionaries({"type": st.just("base64"), "media_type": st.just("image/png"), "data": base64s}),
    st.fixed_dictionaries({"type": st.just("url"), "url": st.just("https://example.org/a.png")}),
    st.fixed_dictionaries({"type": st.just("file"), "file_id": ids}),
)
_anthropic_leaf = _typed("text", text=texts) | _typed("image", source=_source)
_anthropic_block = st.one_of(
    _anthropic_leaf,
    _typed("document", source=_source, title=texts),
    _typed("thinking", thinking=texts, signature=texts),
    _typed("redacted_thinking", data=texts),
    _typed("tool_use", id=ids, name=names, input=json_objects),
    _typed("server_tool_use", id=ids, name=names, input=json_objects),
    _typed("web_search_tool_result", tool_use_id=ids, content=json_values),
    _typed(
        "tool_result", tool_use_id=ids, content=_one_or_list(texts, _anthropic_leaf), is_error=st.booleans()
    ),
    _typed("compaction", content=texts),
)
anthropic_items = _with_extras(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": _one_or_list(texts, _anthropic_block),
        }
    )
)

_urls = st.sampled_from(
    ["https://example.org/a.png", "data:image/png;base64,aGk=", "data:image/png;x=1;base64,aGk="]
)
_chat_block = st.one_of(
    _typed("text", text=texts),
    _typed("refusal", refusal=texts),
    _typed("image_url", image_url=_urls | _with_extras(st.fixed_dictionaries({"url": _urls}))),
    _typed(
        "input_audio",
        input_audio=st.fixed_dictionaries(
            {"data": base64s, "format": st.sampled_from(["wav", "mp3", "mpeg"])}
        ),
    ),
    _typed(
        "file",
        file=st.fixed_dictionaries({}, optional={"file_id": ids, "filename": texts, "file_data": _urls}),
    ),
    _typed("thinking", thinking=st.lists(_typed("text", text=texts), max_size=2)),
)
_arguments = json_objects.map(json.dumps) | texts
_chat_call = st.one_of(
    _typed("function", id=ids, function=st.fixed_dictionaries({"name": names, "arguments": _arguments})),
    _typed("custom", id=ids, custom=st.fixed_dictionaries({"name": names, "input": texts})),
)
_chat_content = st.none() | _one_or_list(texts, _chat_block)
openai_items = _with_extras(
    st.one_of(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["system", "developer", "user"]), "content": _chat_content}
        ),
        st.fixed_dictionaries(
            {"role": st.just("assistant")},
            optional={
                "content": _chat_content,
                "refusal": st.none() | texts,
                "audio": st.fixed_dictionaries({"id": ids}),
                "reasoning": st.none() | texts,
                "reasoning_content": texts,
                "reasoning_details": st.lists(
                    _typed("reasoning.text", text=texts, signature=texts), max_size=2
                ),
                "tool_calls": st.lists(_chat_call, max_size=3),
                "function_call": st.fixed_dictionaries({"name": names, "arguments": _arguments}),
            },
        ),
        st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids, "content": _chat_content}),
        st.fixed_dictionaries({"role": st.just("function"), "name": names, "content": texts}),
    )
)

_responses_block = st.one_of(
    _typed("input_text", text=texts),
    _typed("output_text", text=texts, annotations=st.just([])),
    _typed("refusal", refusal=texts),
    _typed("input_image", image_url=_urls),
    _typed("input_file", file_data=_urls, filename=texts),
)
_shell_chunk = st.fixed_dictionaries({"stdout": texts, "stderr": texts, "outcome": json_values})
responses_items = st.one_of(
    texts,
    _with_extras(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "assistant", "system", "developer"]),
                "content": _one_or_list(texts, _responses_block),
            },
            optional={"type": st.just("message"), "id": ids},
        )
    ),
    _typed("function_call", call_id=ids, name=names, arguments=_arguments),
    _typed("function_call_output", call_id=ids, output=_one_or_list(texts, _responses_block)),
    _typed("custom_tool_call", call_id=ids, name=names, input=texts),
    _typed("custom_tool_call_output", call_id=ids, output=texts),
    _typed("local_shell_call", call_id=ids, action=json_objects),
    _typed("local_shell_call_output", id=ids, output=texts),
    _typed("shell_call", call_id=ids, action=json_objects),
    _typed("shell_call_output", call_id=ids, output=st.lists(_shell_chunk, max_size=2)),
    _typed("apply_patch_call", call_id=ids, operation=json_objects),
    _typed(
        "apply_patch_call_output", call_id=ids, status=st.sampled_from(["completed", "failed"]), output=texts
    ),
    _typed("computer_call", call_id=ids, action=json_objects),
    _typed("computer_call_output", call_id=ids, output=_typed("computer_screenshot", image_url=_urls)),
    _typed(
        "reasoning",
        id=ids,
        summary=st.lists(_typed("summary_text", text=texts), max_size=2),
        encrypted_content=texts,
    ),
    _typed("compaction", id=ids, encrypted_content=texts),
    _typed("mcp_approval_request", id=ids, name=names, arguments=_arguments, server_label=texts),
    _typed("mcp_approval_response", approval_request_id=ids, approve=st.booleans()),
    _typed("mcp_call", id=ids, name=names, arguments=_arguments, output=texts, error=st.none()),
    _typed("web_search_call", id=ids, action=json_objects),
    _typed("file_search_call", id=ids, queries=st.lists(texts, max_size=2), results=st.none()),
    _typed(
        "code_interpreter_call", id=ids, code=texts, outputs=st.lists(_typed("logs", logs=texts), max_size=2)
    ),
    _typed("image_generation_call", id=ids, result=base64s),
    _typed("item_reference", id=ids),
    _typed("vendor_call", call_id=ids, arguments=json_values),
)


def _nested(camel, snake, inner, **more):
    camel_or_snake = st.sampled_from([camel, snake])
    return _with_extras(
        st.builds(
            lambda key, value, rest: {key: value, **rest},
            camel_or_snake,
            inner,
            st.fixed_dictionaries({}, optional=more),
        )
    )


_gemini_media = st.one_of(
    _nested(
        "inlineData",
        "inline_data",
        st.fixed_dictionaries({"mimeType": st.just("image/png"), "data": base64s}),
    ),
    _nested(
        "inlineData",
        "inline_data",
        st.fixed_dictionaries({"mime_type": st.just("audio/wav"), "data": base64s}),
    ),
    _nested(
        "fileData", "file_data", st.fixed_dictionaries({"fileUri": texts, "mimeType": st.just("video/mp4")})
    ),
)
_gemini_part = st.one_of(
    _with_extras(
        st.fixed_dictionaries({"text": texts}, optional={"thought": st.booleans(), "thoughtSignature": texts})
    ),
    _gemini_media,
    _nested(
        "functionCall",
        "function_call",
        st.fixed_dictionaries({"name": names, "args": json_objects}, optional={"id": ids}),
        thoughtSignature=texts,
    ),
    _nested(
        "functionResponse",
        "function_response",
        st.fixed_dictionaries(
            {"name": names, "response": json_objects | st.fixed_dictionaries({"output": texts})},
            optional={"id": ids, "parts": st.lists(_gemini_media, max_size=2)},
        ),
    ),
    _nested(
        "executableCode",
        "executable_code",
        st.fixed_dictionaries({"language": st.just("PYTHON"), "code": texts}),
    ),
    _nested(
        "codeExecutionResult",
        "code_execution_result",
        st.fixed_dictionaries({"outcome": st.just("OUTCOME_OK")}, optional={"output": texts}),
    ),
)
gemini_items = _with_extras(
    st.fixed_dictionaries(
        {"parts": st.lists(_gemini_part, max_size=4)},
        optional={"role": st.sampled_from(["user", "model", "function"])},
    )
)

ITEMS = {
    "anthropic": anthropic_items,
    "openai": openai_items,
    "responses": responses_items,
    "gemini": gemini_items,
}
"""Well-formed entries by the wire format's name."""


# Neutral histories -----------------------------------------------------------------------------------


def _image(data):
    return Media("image", "image/png", data, trust=trust_of(Role.USER))


@st.composite
def ordinary_histories(draw, images=True):
    """Make a history as agents make them: turns of a tool loop, every call answered at once.

    It is what every wire format can hold: no thinking, no error flags, unique plain ids.
    """
    history = []
    for _ in range(draw(st.integers(1, 4))):
        said = [Text(draw(words), trust=trust_of(Role.USER))]
        if images and draw(st.booleans()):
            said.append(_image(draw(base64s)))
        history.append(Message(Role.USER, tuple(said)))
        for _ in range(draw(st.integers(0, 2))):
            history += draw(_tool_steps(len(history)))
        reply = draw(st.lists(words, min_size=1, max_size=2))
        history.append(Message(Role.ASSISTANT, tuple(_said(text) for text in reply)))
    return history


def _said(text):
    return Text(text, trust=trust_of(Role.ASSISTANT))


@st.composite
def _tool_steps(draw, serial):
    count = draw(st.integers(1, 4))
    call_ids = [f"call_{serial}_{i}" for i in range(count)]
    calls = [
        ToolCall(call_id, draw(names), draw(json_objects), trust=trust_of(Role.ASSISTANT))
        for call_id in call_ids
    ]
    results = [ToolResult(call_id, (Text(draw(words)),)) for call_id in draw(st.permutations(call_ids))]
    spoken = [_said(text) for text in draw(st.lists(words, max_size=1))]
    return [Message(Role.ASSISTANT, (*spoken, *calls)), Message(Role.TOOL, tuple(results))]


_call_ids = st.sampled_from(["a", "b", "c:1", "d" * 70, "e\n", ""])
_any_part = st.one_of(
    st.builds(Text, texts),
    st.builds(Thinking, texts, st.none() | texts, st.booleans()),
    st.builds(ToolCall, _call_ids, names | st.just("bad name!"), json_objects | texts, st.booleans()),
    st.builds(
        ToolResult,
        _call_ids,
        st.lists(st.builds(Text, texts) | base64s.map(_image), max_size=3).map(tuple),
        st.booleans(),
        st.none() | names,
        st.booleans(),
    ),
    st.builds(
        Media,
        st.sampled_from(["image", "document", "audio", "video", "file"]),
        st.none() | st.just("audio/wav"),
        st.none() | base64s,
        st.none() | texts,
        st.none() | ids,
        st.none() | texts,
    ),
    st.builds(Compacted, st.just("compaction"), st.none() | texts, st.none() | texts),
    st.builds(ApprovalRequest, ids, names, _arguments),
    st.builds(ApprovalAnswer, ids, st.booleans(), st.none() | texts),
)
messages = st.builds(Message, st.sampled_from(Role), st.lists(_any_part, max_size=4).map(tuple))
wild_histories = st.lists(messages, max_size=8)
"""Any parts in any order: dangling calls, orphans, ids reused or refused, empty messages."""
