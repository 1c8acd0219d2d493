"""Bodies and messages of every shape, broken text included."""

from dataclasses import replace

from hypothesis import strategies as st

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Media,
    Message,
    Native,
    Origin,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
)

texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=20),  # half surrogate pairs too
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=8), st.integers(5, 40)),
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
bodies = st.dictionaries(texts, json_values, max_size=4)


@st.composite
def natives(draw, around=None):
    """Draw a native value: its own, or a piece of the one around it, with or without its text."""
    pieces = [around] if around is not None else []
    for piece in pieces:
        if isinstance(piece, dict | list):
            pieces.extend(piece.values() if isinstance(piece, dict) else piece)
    value = draw(st.sampled_from(pieces)) if pieces and draw(st.booleans()) else draw(json_values)
    return Native(draw(st.sampled_from(["anthropic", "openai"])), value, draw(st.none() | texts))


def _strings(value):
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield key
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)


@st.composite
def parts(draw, around=None, nested=True):
    native = draw(st.none() | natives(around))
    held = list(_strings(native.value if native else around))
    text = st.sampled_from(held) | texts if held else texts
    objects = [v for v in (around, native and native.value) if isinstance(v, dict)]
    arguments = (st.sampled_from(objects) if objects else st.nothing()) | bodies | text
    maybe = st.none() | text
    flags = st.booleans()
    options = [
        st.builds(Text, text),
        st.builds(Thinking, text, maybe, flags, maybe),
        st.builds(ToolCall, text, text, arguments, flags),
        st.builds(
            Media,
            st.sampled_from(["image", "document", "audio", "video", "file"]),
            maybe,
            maybe,
            maybe,
            maybe,
            maybe,
        ),
        st.builds(Compacted, text, maybe, maybe),
        st.builds(ApprovalRequest, text, text, arguments),
        st.builds(ApprovalAnswer, text, flags, maybe),
        st.builds(Unknown, text),
    ]
    if nested:
        inner = st.lists(parts(around, nested=False), max_size=3).map(tuple)
        options.append(st.builds(ToolResult, text, inner, flags, maybe, flags))
    part = draw(st.one_of(options))
    return replace(part, trust=draw(st.sampled_from(Trust)), native=native)


@st.composite
def messages(draw):
    native = draw(st.none() | natives())
    around = native.value if native else None
    return Message(
        draw(st.sampled_from(Role)),
        tuple(draw(st.lists(parts(around), max_size=4))),
        draw(st.sampled_from(Origin)),
        native,
    )
