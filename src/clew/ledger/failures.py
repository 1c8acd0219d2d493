"""Failures: the error lines, the attempts, and the changes that preceded success.

Calls that do the same thing (a program with the same first words, a tool with the same file) are attempts at
one thing. It counts as fixed if one of them succeeds, if the file that could not be read or changed is read
or changed by another tool, or if the failed tests pass in another run. A search that found nothing, and a
failure without output, count only if repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from clew.ledger.exchange import Ended, Exchange, Reading
from clew.ledger.shell import Simple, simple_commands, without_prefixes
from clew.ledger.testruns import run_of, selected_by
from clew.ledger.tool_actions import BY_NAME, ActionKind, ToolAction, touches
from clew.message import Cite
from clew.message.patterns import lazy_pattern

LONGEST_SUBJECT = 300
_KEY_WORDS = 2
_OPTION_VALUE = lazy_pattern(r"-|\d+$|.*=")
_SETTING_UP = frozenset(("cd", "export", "source", "set", "echo", "sleep"))
_RUN_PROGRAMS = frozenset(("uv", "poetry", "pdm", "hatch", "rye", "pipenv"))
_STARTERS = _RUN_PROGRAMS | {"npx", "bunx", "timeout", "rtk"}
"""Programs that start another program and return its exit code."""
_PYTHON = lazy_pattern(r"(?:.*/)?python[\d.]*")
_LOOKS = frozenset(
    """
    ls cat head tail less more grep egrep fgrep rg ag find fd which whereis type stat file wc tree du df
    readlink realpath test [ pwd printenv jq awk diff cmp man
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Programs that only read."""
_LOOKS_BY_WORDS = frozenset(("git log", "git show", "git diff", "git status", "git grep", "sed -n"))
_TRIES_OUT = frozenset(("--help", "--version", "--dry-run"))
_LOOKING = frozenset((ActionKind.READ, ActionKind.SEARCH))
_NAMES_PROGRAM = lazy_pattern(r"\s*(?:[\w/.-]*sh: )?(?:line \d+: )?(?:\d+: )?([\w./-]+): ")
_SAID_BY_GIT = lazy_pattern(r"\s*(?:fatal|error|hint): ")


class Attempt(NamedTuple):
    """What a call tried to do."""

    signature: str
    """Calls with the same signature attempt the same thing."""
    subject: str
    """How a person would name it."""


class _Pipeline(NamedTuple):
    """The first command of a pipeline, and the operator after the last one."""

    head: Simple
    then: str


def signatures(action: ToolAction) -> list[str]:
    """Return the signatures of a call: calls that share one attempt the same thing.

    A command line has one for each of its pipelines that must have succeeded if the call did: those followed
    by ``&&``, the last one, and the first one, whose exit code a semicolon hides.
    """
    if action.kind is not ActionKind.SHELL:
        return [_of_tool(action)]
    found: list[str] = []
    for pipeline in _pipelines(action.subject):
        words = _key_words(pipeline.head)
        if words and (not found or pipeline.then in ("&&", "")):
            found.append("$ " + " ".join(words))
    return found


def attempt(action: ToolAction, output_lines: Sequence[str]) -> Attempt | None:
    """Return which part of a failed call is to blame, judging by the error lines; None if nothing is."""
    if action.kind is not ActionKind.SHELL:
        return Attempt(_of_tool(action), _subject(action))
    pipelines = [candidate for candidate in _pipelines(action.subject) if _key_words(candidate.head)]
    if not pipelines:
        return None
    pipeline = _pipeline_named_in(pipelines, output_lines)
    to_blame = (pipeline or pipelines[-1]).head
    whole = len(pipelines) == 1 or (pipeline is None and _is_one_chain(action.subject, pipelines))
    subject = _subject(action) if whole else " ".join(to_blame.words)
    return Attempt("$ " + " ".join(_key_words(to_blame)), subject[:LONGEST_SUBJECT])


def only_looks(action: ToolAction) -> bool:
    """Return True if a call only reads: its failure merely says that something is missing."""
    if action.kind is not ActionKind.SHELL:
        return action.kind in _LOOKING
    commands = [without_prefixes(simple.words) for simple in simple_commands(action.subject)]
    programs = [words for words in commands if words and words[0] not in _SETTING_UP]
    return bool(programs) and all(map(_looks, programs))


def _looks(words: list[str]) -> bool:
    program = words[0].rsplit("/", 1)[-1]
    return (
        program in _LOOKS
        or " ".join((program, *words[1:2])) in _LOOKS_BY_WORDS
        or not _TRIES_OUT.isdisjoint(words[1:])
    )


def _of_tool(action: ToolAction) -> str:
    if action.kind is ActionKind.SEARCH:  # each search is its own attempt
        return f"{action.tool}\n{json.dumps(action.arguments)[:LONGEST_SUBJECT]}"
    return f"{action.tool}\n{action.title[:LONGEST_SUBJECT]}" if action.subject else action.tool


def _subject(action: ToolAction) -> str:
    if action.title or action.kind is not ActionKind.SEARCH:
        return action.title[:LONGEST_SUBJECT]
    texts = (value for value in action.arguments.values() if isinstance(value, str) and value.strip())
    return " ".join(texts)[:LONGEST_SUBJECT]


def _pipelines(line: str) -> Iterator[_Pipeline]:
    head: Simple | None = None
    for simple in simple_commands(line):
        head = head or simple
        if simple.then != "|":
            yield _Pipeline(head, simple.then)
            head = None
    if head is not None:
        yield _Pipeline(head, "")


def _is_one_chain(line: str, pipelines: list[_Pipeline]) -> bool:
    """Return True if a command is one line whose parts run only if the one before them succeeded."""
    return "\n" not in line.strip() and all(pipeline.then == "&&" for pipeline in pipelines[:-1])


def _pipeline_named_in(pipelines: list[_Pipeline], output_lines: Sequence[str]) -> _Pipeline | None:
    """Return the command that an output line names as the failed one."""
    by_program = {_program(candidate.head): candidate for candidate in reversed(pipelines)}
    for line in output_lines:
        match = _NAMES_PROGRAM.match(line)
        if match and (pipeline := by_program.get(match[1].rsplit("/", 1)[-1])):
            return pipeline
        if _SAID_BY_GIT.match(line) and "git" in by_program:
            return by_program["git"]
    return None


def _program(simple: Simple) -> str:
    words = without_prefixes(simple.words)
    return words[0].rsplit("/", 1)[-1] if words else ""


def _key_words(simple: Simple) -> list[str]:
    """Return program and first operands of a command without its launcher; [] if it only sets up."""
    words = without_prefixes(simple.words)
    if words[1:2] == ["-m"] and _PYTHON.fullmatch(words[0]):
        words = words[2:]
    plain = [word for word in words if not _OPTION_VALUE.match(word)]
    if not plain or plain[0] in _SETTING_UP:
        return []
    if plain[:2] == ["git", "commit"]:
        return plain[:2]  # the message differs from one attempt to the next
    while len(plain) > 1 and plain[0] in _STARTERS:
        plain = plain[2:] if plain[1] == "run" and plain[0] in _RUN_PROGRAMS else plain[1:]
    return [plain[0].rsplit("/", 1)[-1], *plain[1 : _KEY_WORDS + 1]] if plain else []


MOST_LINES = 3
MOST_ATTEMPTS = 8
MOST_CHANGES = 8
MOST_OPEN = 200
MOST_FIXED = 1_000
"""Failures kept, fixed and open ones separately (chosen by hand); above that the oldest are dropped."""
_LONGEST_LINE = 300
_LOOKED_AT = 60_000
"""Characters at each end of a failed output that are searched for error lines; chosen by hand."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that did not work."""

    id: str
    tool: str
    subject: str
    """The command line or the path; the first line of a long one."""
    lines: tuple[str, ...]
    """The most informative lines of the last failed attempt, verbatim."""
    sources: tuple[Cite, ...]
    """Positions of these lines."""
    attempts: tuple[Cite, ...]
    """The failed calls: the first ones and the latest."""
    count: int = 1
    """Number of failed attempts."""
    last_number: int = 0
    """Index of the message with the last failed result."""
    exit_code: int | None = None
    changed: tuple[str, ...] = ()
    """Files that were changed since it first failed."""
    fixed_by: Cite | None = None
    """The call that succeeded: the same attempt, a change of the same file, or a run of the same tests."""
    runner: str = ""
    """Of a test run: the runner."""
    slight: bool = False
    """It only read something, or has no output: one occurrence is not a failure."""

    @property
    def is_fixed(self) -> bool:
        """Whether it works now."""
        return self.fixed_by is not None


@dataclass(slots=True)
class Failures:
    """Tracks failures by what was attempted."""

    open: dict[str, Failure] = field(default_factory=dict)
    fixed: list[Failure] = field(default_factory=list)
    count: int = 0

    @property
    def all(self) -> tuple[Failure, ...]:
        """Return the failures that count, fixed ones first."""
        return tuple(
            failure
            for failure in (*self.fixed, *self.open.values())
            if failure.count > 1 or not failure.slight
        )

    def add(self, reading: Reading, changed: list[str]) -> None:
        """Read a message; ``changed`` are the files that its results show as changed."""
        for exchange in reading.exchanges:
            ended = exchange.outcome.ended
            if ended is Ended.REFUSED or (ended is Ended.OK and not self.open):
                continue
            if ended is Ended.OK:
                self._mark_fixed(
                    [
                        *signatures(exchange.action),
                        *self._same_tests(exchange),
                        *self._read_after_all(exchange),
                        *self._edited_by_command(exchange),
                    ],
                    exchange.asked,
                )
            else:
                self._add_failure(exchange, reading.number)
        if changed and self.open:
            self._mark_fixed(self._same_files(changed), reading.exchanges[-1].asked)
            self._note_changes(changed)
        if len(self.fixed) > MOST_FIXED:
            del self.fixed[: MOST_FIXED // 4]

    def _mark_fixed(self, signatures: list[str], call_cite: Cite) -> None:
        for signature in signatures:
            if signature in self.open:
                self.fixed.append(replace(self.open.pop(signature), fixed_by=call_cite))

    def _same_tests(self, exchange: Exchange) -> list[str]:
        """Return the failed test runs that a passing run covers, however it was started."""
        if exchange.action.kind is not ActionKind.SHELL or not any(
            earlier.runner for earlier in self.open.values()
        ):
            return []
        run = run_of(exchange.action.subject, exchange.result.text)
        if run is None or run.failed:
            return []
        return [
            signature
            for signature, failure in self.open.items()
            if failure.runner == run.runner and run.covers(failure.subject, selected_by(failure.subject))
        ]

    def _same_files(self, changed: list[str]) -> list[str]:
        """Return the failed edits of files that have been changed since, by any tool."""
        return [
            signature
            for signature, path in self._open_calls(_CHANGE_FILES)
            if any(_same_file(path, name) for name in changed)
        ]

    def _edited_by_command(self, exchange: Exchange) -> list[str]:
        """Return the failed edits of files that a command names which does more than read.

        An agent whose edit does not match often writes a script that makes the change.
        """
        if exchange.action.kind is not ActionKind.SHELL:
            return []
        command = exchange.action.subject
        found = [
            signature
            for signature, path in self._open_calls(_CHANGE_FILES)
            if (name := path.replace("\\", "/").rpartition("/")[2]) and name in command
        ]
        return found if found and not only_looks(exchange.action) else []

    def _read_after_all(self, exchange: Exchange) -> list[str]:
        """Return the failed reads of files that a call reads now, by any tool."""
        unread = list(self._open_calls(_READS))
        if not unread:
            return []
        names = [touch.name for touch in touches(exchange.action, exchange.result.text)]
        return [signature for signature, path in unread if any(_same_file(path, name) for name in names)]

    def _open_calls(self, kinds: Collection[ActionKind]) -> Iterator[tuple[str, str]]:
        """Yield the signature and subject of the failed calls of tools, not commands, that do such things."""
        for signature, failure in self.open.items():
            if not signature.startswith("$ ") and BY_NAME.get(failure.tool.lower()) in kinds:
                yield signature, failure.subject

    def _add_failure(self, exchange: Exchange, number: int) -> None:
        """Record a failed call: a new failure, or one more attempt of a known one."""
        text = exchange.result.text
        if _NOT_ITS_OWN.match(text):
            return
        spans = error_spans(text)
        lines = tuple(text[start:end] for start, end in spans)
        tried = attempt(exchange.action, lines)
        if tried is None:
            return
        sources = tuple(exchange.answered._replace(start=start, end=end) for start, end in spans)
        before = self.open.pop(tried.signature, None)  # re-inserted at the end, as the latest
        if before is None:
            before = self._first(tried, exchange)
        self.open[tried.signature] = replace(
            before,
            lines=lines,
            sources=sources,
            attempts=(*before.attempts[: MOST_ATTEMPTS - 1], exchange.asked),
            count=before.count + 1,
            last_number=number,
            exit_code=exchange.outcome.exit_code,
            runner=_runner(exchange),
            slight=not lines or only_looks(exchange.action),
        )
        if len(self.open) > MOST_OPEN:
            del self.open[next(iter(self.open))]

    def _first(self, tried: Attempt, exchange: Exchange) -> Failure:
        self.count += 1
        return Failure(f"e{self.count}", exchange.action.tool, tried.subject, (), (), (), count=0)

    def _note_changes(self, changed: list[str]) -> None:
        for signature, failure in self.open.items():
            new = [name for name in changed if name not in failure.changed]
            if new and len(failure.changed) < MOST_CHANGES:
                self.open[signature] = replace(failure, changed=(*failure.changed, *new)[:MOST_CHANGES])


_READS = frozenset((ActionKind.READ,))
_CHANGE_FILES = frozenset((ActionKind.EDIT, ActionKind.WRITE, ActionKind.PATCH))


def _same_file(path: str, other: str) -> bool:
    return bool(path) and (path == other or path.endswith(f"/{other}") or other.endswith(f"/{path}"))


def _runner(exchange: Exchange) -> str:
    run = (
        run_of(exchange.action.subject, exchange.result.text)
        if exchange.action.kind is ActionKind.SHELL
        else None
    )
    return run.runner if run else ""


_NOT_ITS_OWN = lazy_pattern(r"\s*<tool_use_error>(?:Sibling tool call errored|Cancelled)")
_ERROR_LINE = lazy_pattern(
    r"""^[ \t]*+(?:
      (?P<cause>
        (?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Failure)\b(?:[ :(].*)?
      | (?:E|error|Error|ERROR|fatal|FATAL|panic|PANIC|npm\ ERR!|npm\ error|Caused\ by|error\[E\d+\])
        (?::|\s\s|\sTS\d+|!).*
      | (?:<tool_use_error>|MCP\ error|apply_patch\ verification\ failed).*
      | \S+:\d+(?::\d+)?:?[ \t]+[^\s].*
      | .{0,120}\b
        (?:command\ not\ found|No\ such\ file\ or\ directory|Permission\ denied|not\ found|does\ not\ exist
          |timed\ out|refused|unrecognized|undefined|cannot\ find|could\ not|unable\ to|is\ not\ defined
          |unexpected|invalid)
        \b.*
      )
    | (?P<sign>
        (?:FAILED|FAIL|---\ FAIL|✕|✗|×|✖|not\ ok)\b.*
      | .*\b(?:[Ee]rror|ERROR|[Ff]ailed|FAILED)\b.*
      )
    )$""",
    re.VERBOSE | re.MULTILINE,
)
_FRAME = lazy_pattern(r"\s*(?:at |File \")|.*\b(?:node_modules|site-packages)\b")
_WARNING = lazy_pattern(r"(?!.*\b(?:[Ee]rror|ERROR)\b)[^'\"]{0,200}\b\w*(?:Warning|warning)\b")
"""A warning: it names a cause only if nothing else does."""
_ASSERTED = lazy_pattern(r"E[ \t]{2,}")
"""A line of pytest's explanation; the first of a block says what failed, the others give details."""
_WORD = lazy_pattern(r"[^\W\d_]{2,}")
_BEFORE_OUTPUT = lazy_pattern(
    r"(?:\s*(?:Exit code:? -?\d+|Wall time: .*|Output:|<returncode>-?\d+</returncode>|<output>|Chunk ID: .*|"
    r"Process exited with code -?\d+|Original token count: \d+|\$ .*|> .*)(?:\n|$))+"
)


def error_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the lines of a failed output that name the cause: a few, in order."""
    pieces = [(0, min(len(text), _LOOKED_AT))]
    if len(text) > _LOOKED_AT:
        pieces.append((max(_LOOKED_AT, len(text) - _LOOKED_AT), len(text)))
    causes: list[tuple[int, int]] = []
    signs: list[tuple[int, int]] = []
    warnings: list[tuple[int, int]] = []
    explained = -1  # where the last line of an explanation ended
    for start, end in pieces:
        for match in _ERROR_LINE.finditer(text, start, end):
            if _FRAME.match(match[0]):
                continue
            if _ASSERTED.match(match[0]):
                is_detail, explained = match.start() == explained + 1, match.end()
                if is_detail:
                    continue
            kind = causes if match.lastgroup == "cause" else signs
            (warnings if _WARNING.match(match[0]) else kind).append(_bounds(text, *match.span()))
    # The last cause usually matters most (a traceback ends with it); the first shows where it began.
    best = causes or signs or warnings
    chosen = best if len(best) <= MOST_LINES else [best[0], *best[-(MOST_LINES - 1) :]]
    return list(dict.fromkeys(chosen)) or _first_line(text)


def _first_line(text: str) -> list[tuple[int, int]]:
    """Return the span of the first line with a word in it, after the tool's own header."""
    opening = _BEFORE_OUTPUT.match(text)
    word = _WORD.search(text, opening.end() if opening else 0) or _WORD.search(text)
    if word is None:
        return []
    end = text.find("\n", word.start())
    return [_bounds(text, text.rfind("\n", 0, word.start()) + 1, end if end >= 0 else len(text))]


def _bounds(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    end = min(end, start + _LONGEST_LINE)
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
