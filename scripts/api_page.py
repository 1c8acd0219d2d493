"""Write docs/reference/api.md from the signatures and docstrings of the public names.

    uv run python scripts/api_page.py

The page is the snapshot of the public API: ``tests/test_api.py`` fails if it is out of date, so every change
of a public name, parameter, default or docstring shows in a diff.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clew

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "api.md"
HEAD = """# Python API

Written by `scripts/api_page.py` from the docstrings; do not edit. Everything here is importable from `clew`;
what is not listed may change without notice. Errors have [a page of their own](errors.md).
"""
GROUPS = {
    "Compact a list": ("compact", "compact_async", "Compactor", "CompactResult", "wrap"),
    "Sessions": ("Session", "Compaction", "SqliteStore", "MemoryStore", "Store"),
    "Settings": ("Policy", "Limit", "Model", "Usage"),
    "What a compaction returns": ("Digest", "Plan", "Report", "Rule", "TokenBudget"),
    "Messages": ("Message", "Role", "Text", "ToolCall", "ToolResult", "Thinking", "Trust", "text_message"),
    "Formats and files": ("check", "convert", "cut_points", "find_sessions", "load"),
    "Errors": ("ClewError",),
}

RECEIVED = {
    "Session",
    "CompactResult",
    "Compaction",
    "Digest",
    "Plan",
    "Report",
    "Rule",
    "TokenBudget",
    "Usage",
}
"""Classes that callers do not construct themselves."""


def page() -> str:
    """Return the whole page."""
    listed = [name for names in GROUPS.values() for name in names]
    if sorted(listed) != sorted(set(clew.__all__) - {"__version__"}):
        raise SystemExit(f"GROUPS and clew.__all__ differ: {set(listed) ^ set(clew.__all__)}")
    blocks = [HEAD]
    for title, names in GROUPS.items():
        blocks += [f"## {title}\n", *(_entry(name) for name in names)]
    return "\n".join(blocks)


def _entry(name: str) -> str:
    value = getattr(clew, name)
    lines = [f"### {name}\n"]
    if inspect.isclass(value):
        lines += [*_class(name, value)]
    else:
        lines += [_code(_signature(name, value)), _doc(value)]
    return "\n".join(lines)


def _class(name: str, value: type) -> Iterator[str]:
    if issubclass(value, enum.Enum):
        yield _doc(value)
        yield "Members: " + ", ".join(f"`{member.name}`" for member in value) + ".\n"
        return
    made = _init(name, value)
    if made:
        yield _code(made)
    yield _doc(value)
    rows = [*_fields(value), *_members(value)]
    if rows:
        yield "\n".join(["| name | meaning |", "|---|---|", *rows, ""])


def _init(name: str, value: type) -> str:
    if getattr(value, "_is_protocol", False) or issubclass(value, BaseException) or name in RECEIVED:
        return ""
    return _signature(name, value)


def _fields(value: type) -> Iterator[str]:
    if not dataclasses.is_dataclass(value):
        return
    notes = _notes(value)
    for field in dataclasses.fields(value):
        if not field.name.startswith("_"):
            kind = (
                field.type
                if isinstance(field.type, str)
                else getattr(field.type, "__name__", str(field.type))
            )
            yield _row(f"{field.name}: {kind}", notes.get(field.name, ""))


def _notes(value: type) -> dict[str, str]:
    """Return the string below each field in the source of a class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    found = {}
    for field, note in zip(body.body, body.body[1:], strict=False):  # type: ignore[attr-defined]
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            is_note = isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant)
            text = str(note.value.value) if is_note else ""  # type: ignore[attr-defined]
            found[field.target.id] = " ".join(text.split()).replace("``", "`")
    return found


def _members(value: type) -> Iterator[str]:
    """Yield a row for each public member, those of the parts of ``Session`` first."""
    parts = [kind for kind in reversed(value.__mro__) if kind.__module__.startswith("clew.session")]
    members = [item for kind in parts or [value] for item in vars(kind).items()]
    for name, member in members:
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield _row(name, _first(member))
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            plain = member if inspect.isfunction(member) else member.__func__
            yield _row(_signature(name, plain), _first(plain))


def _row(name: str, meaning: str) -> str:
    shown = (
        " ".join(name.split()).replace("( ", "(").replace(",)", ")").replace(", )", ")").replace("|", "\\|")
    )
    return f"| `{shown}` | {meaning} |"


def _signature(name: str, value: Any) -> str:  # noqa: ANN401  # any callable
    """Return a signature on one line, or with one parameter a line if that is too long."""
    signature = inspect.signature(value)
    shown, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL or parameter.name in ("self", "cls"):
            starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        elif parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        if parameter.name not in ("self", "cls"):
            shown.append(_parameter(parameter))
    returns = signature.return_annotation
    end = "" if returns in (inspect.Signature.empty, None, "None") else f" -> {returns}"
    one = f"{name}({', '.join(shown)}){end}"
    return one if len(one) <= 100 else "\n".join([f"{name}(", *(f"    {part}," for part in shown), f"){end}"])


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}"
    if parameter.annotation is not parameter.empty:
        text += f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return text
    default = parameter.default
    shown = (
        f"{type(default).__name__}()"
        if default == clew.Policy()
        else str(default)
        if isinstance(default, enum.Enum)
        else repr(default)
    )
    return f"{text} = {'…' if shown.startswith('<') else shown}"


def _code(text: str) -> str:
    return f"<!-- not run: a signature -->\n```python\n{text}\n```\n"


def _doc(value: Any) -> str:  # noqa: ANN401  # any documented object
    """Return a docstring as Markdown: ``Args:`` become a list, double backquotes single ones."""
    lines = []
    for line in (inspect.getdoc(value) or "").replace("``", "`").split("\n"):
        words = line.strip()
        if line in ("Args:", "Raises:"):
            lines.append("" if line == "Args:" else "\nRaises:\n")
        elif line.startswith("    ") and not line.startswith("        ") and ": " in words and lines:
            name, _, rest = words.partition(": ")
            lines.append(f"- `{name}`: {rest}" if name.isidentifier() else line)
        else:
            lines.append(f"  {words}" if line.startswith("        ") else line)
    text = "\n".join(lines).replace("\n\n::\n", "\n").replace("::\n", ":\n").replace("\n\n\n", "\n\n")
    return text.rstrip() + "\n"


def _first(value: Any) -> str:  # noqa: ANN401  # any documented object
    return (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
