"""Claims on the work done, from the ledger: files, commands, test runs, refused calls and failures.

Each function takes the ledger and yields claims; ``ledger_claims.py`` puts them in order. Examples of texts::

    modified in src/billing/: rates.py, table.py
    last test run: pytest -q: 41 passed, 1 failed (edited after it: rates.py)
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.plan.digest import (
    EDITED_OTHERWISE,
    EDITED_SINCE,
    FIXED,
    FIXED_OTHERWISE,
    NOT_FIXED,
    NOT_REPEATED,
    PARTLY_REDONE,
    WORKING_FOLDER,
)
from clew.compaction.quote_claims import clip
from clew.ledger.artifacts import Artifact
from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.failures import Failure
from clew.ledger.ledger import Ledger
from clew.ledger.shell import CHANGES, Action
from clew.message import Cite, Trust
from clew.message.text import without_colours

FILES_PER_CLAIM = 10
"""Files per claim: with too little room, a session with many files loses some of them, never all."""
MOST_READ = 12
READ_OFTEN = 3
"""Reads from which a file is one that the work is about; chosen by hand."""
MOST_EDITED = 4
MOST_DELETED = 20
MOST_COMMANDS, LAST_COMMANDS = 5, 40
"""Commands that are listed, and among how many of the last ones they are looked for."""
LONGEST_COMMAND = 120
MOST_REFUSALS = 8
MOST_FAILURES = 12
RECENT_MESSAGES = 60
"""Messages after which a failure that was never retried counts as worked around; chosen by hand."""
JUST_NOW = 6
"""Messages since a failure within which the agent had no time to try again; chosen by hand."""
REPEATED = 3
"""Attempts from which a failure is worth a line although it was fixed; chosen by hand."""
_SAYS_WHY = re.compile(r"(?:[^\W\d_]{2,}\W+){2}[^\W\d_]{2,}")
"""Three words in a row: less than that does not say what failed."""
_MISTYPED = re.compile(r"syntax error near unexpected token|unexpected EOF while looking for matching")
"""What a shell says about a command that it cannot read: nothing was run."""
_EVERYDAY = re.compile(
    r"ls|cat|cd|head|tail|less|nl|wc|grep|rg|egrep|find|fd|tree|sed|awk|sort|uniq|cut|tr|xargs|echo|printf|pwd"
    r"|mkdir|touch|cp|mv|rm|chmod|git|true|test|which|type|sleep|stat|file|diff|jq|"
)
"""Programs that every session runs."""
_WAITS = re.compile(r"\bsleep [\d.]+\w?\s*(?:&&|;)?\s*")
_MINOR = re.compile(
    r"(?:^|/)\.\w|^/(?:tmp|var|private/tmp)/|\.(?:log|lock|tmp|out)$|[._-](?:test|spec)s?\.\w+$"
)
"""A path of a hidden or temporary file, of output or of a test."""
_NO_SOURCE = re.compile(
    r"(?:^|/)\.[\w-]+/|^/(?:private/)?(?:tmp|var/tmp)/|\.(?:md|markdown|rst|txt|adoc|log|out|tmp)$"
)
"""A path of prose, of output, or in a hidden or temporary folder: no test reads it."""
_OUTPUT_OF_RUN = re.compile(r"^(?:/private)?/(?:tmp|var/tmp)/[^/]+\.(?:log|out|err|pid|txt)$")
"""What a command left in a folder for temporary files: no work of the session."""
_TESTED = "last test run: "
_CHECKED = "last check: "
DELETED = f"{Action.DELETED.value}: "
_REFUSED = "refused: "
_VERDICTS = {"mocha": ("passing", "failing"), "bun": ("pass", "fail")}
"""What test runners call passing and failing tests, if not passed and failed."""


def changed_files(ledger: Ledger) -> Iterator[Claim]:
    """Yield every file that the session left changed, by action, a few per claim; no output of a run."""
    by_action: dict[str, list[Artifact]] = {}
    for artifact in ledger.artifacts.changed:
        if artifact.created and artifact.action is Action.DELETED:
            continue  # it was there neither before nor now
        if _OUTPUT_OF_RUN.match(artifact.name):
            continue
        verb = "created" if artifact.created and artifact.exists else _change(artifact).value
        by_action.setdefault(verb, []).append(artifact)
    for action, artifacts in by_action.items():
        yield from _file_claims(action, artifacts)


def _change(artifact: Artifact) -> Action:
    """Return what was done to a file; one that was changed and then read counts as changed."""
    return artifact.action if artifact.action in CHANGES else Action.MODIFIED


def folder_claim(ledger: Ledger) -> Iterator[Claim]:
    """Yield the folder in which the agent works, if its harness said so."""
    if (source := ledger.folder.source) is not None:
        text = f"{WORKING_FOLDER}{ledger.folder.path}"
        yield Claim("", ClaimKind.ARTIFACT, text, (source,), Trust.UNTRUSTED, topic=Topic.FOLDER)


def deleted_again(ledger: Ledger) -> Iterator[Claim]:
    """Yield the files that the session created and deleted. A digest lists only those that it names."""
    gone = [one for one in ledger.artifacts.changed if one.created and one.action is Action.DELETED]
    for artifact in gone[-MOST_DELETED:]:
        cites = tuple(dict.fromkeys((artifact.first, *artifact.sources)))
        text = f"{DELETED}{artifact.name}"
        yield Claim("", ClaimKind.ARTIFACT, text, cites, Trust.UNTRUSTED, topic=Topic.DELETED_AGAIN)


def looked_at(ledger: Ledger) -> Iterator[Claim]:
    """Yield the last commands and the files that were read last, first those that occur again and again."""
    failed = {one.attempts[-1] for one in ledger.failures if one.attempts and not one.is_fixed}
    latest_first = ledger.artifacts.commands[: -LAST_COMMANDS - 1 : -1]
    telling = (one for one in latest_first if not _is_everyday(one.name))
    run = list(islice(_different(telling), MOST_COMMANDS))[::-1]
    often = [command for command in run if command.count > 1]
    yield from (_command_claim(command, failed) for command in often)
    chosen, others = _files_read(ledger)
    read_often = [artifact for artifact in chosen if artifact.count >= READ_OFTEN]
    seldom = [artifact for artifact in chosen if artifact not in read_often]
    yield from _file_claims(Action.READ.value, read_often, 0 if seldom else others)
    yield from _file_claims(Action.READ.value, seldom, others)
    yield from (_command_claim(command, failed) for command in run if command not in often)


def _different(commands: Iterable[Artifact]) -> Iterator[Artifact]:
    """Yield commands without those that only differ from an earlier one in how long they wait."""
    seen: set[str] = set()
    for command in commands:
        name = _WAITS.sub("", command.name)
        if name not in seen:
            seen.add(name)
            yield command


def _files_read(ledger: Ledger) -> tuple[list[Artifact], int]:
    """Return some of the files that were only read, and how many others there are.

    Files that were read again and again come first, then other files, then tests, hidden and temporary files
    and folders; of equal ones the latest.
    """
    files = ledger.artifacts.files
    folders = {posixpath.dirname(artifact.name) for artifact in files}
    read = [artifact for artifact in files if artifact.exists and not artifact.changed]

    def weight(artifact: Artifact) -> tuple[bool, bool, int]:
        is_minor = artifact.name in folders or _MINOR.search(artifact.name) is not None
        return artifact.count < READ_OFTEN, is_minor, -_last_touched(artifact)

    chosen = sorted(sorted(read, key=weight)[:MOST_READ], key=_last_touched)
    return chosen, len(read) - len(chosen)


def _file_claims(action: str, artifacts: Sequence[Artifact], others: int = 0) -> Iterator[Claim]:
    """Yield claims on a few files each; the last says how many others there are."""
    for start in range(0, len(artifacts), FILES_PER_CLAIM):
        few = artifacts[start : start + FILES_PER_CLAIM]
        folder = _folder_of(tuple(artifact.name for artifact in few))
        names = ", ".join(artifact.name[len(folder) :] for artifact in few)
        where = f" in {folder}" if folder else ""
        cites = tuple(dict.fromkeys(cite for artifact in few for cite in artifact.sources))
        topic = Topic.FILES_READ if action == Action.READ else Topic.FILES_CHANGED
        more = f" and {others} more" if others and start + FILES_PER_CLAIM >= len(artifacts) else ""
        text = f"{action}{where}: {names}{more}"
        yield Claim("", ClaimKind.ARTIFACT, text, cites, Trust.UNTRUSTED, topic=topic)


@lru_cache(maxsize=1_024)  # several digests are tried per plan, and most files stay the same between plans
def _folder_of(names: tuple[str, ...]) -> str:
    """Return the folder that full paths share, with its slash; each keeps at least one folder of its own.

    So files stay recognisable, and the common prefix is written once.
    """
    shared = posixpath.commonprefix([posixpath.dirname(name) for name in names])
    folder = shared[: shared.rfind("/") + 1]
    return folder if folder.count("/") > 1 and not any(map(str.isspace, folder)) else ""


def _command_claim(command: Artifact, failed: Collection[Cite]) -> Claim:
    """Return what was run last, and how it ended if not well."""
    outcome = f" (exit {command.exit_code})" if command.exit_code else ""
    if not outcome and command.last in failed:
        outcome = " (failed)"
    text = f"ran: {_first_line(command.name)}{outcome}"
    return Claim("", ClaimKind.ARTIFACT, text, (command.last,), Trust.UNTRUSTED, topic=Topic.COMMAND)


@lru_cache(maxsize=1_000)
def _is_everyday(line: str) -> bool:
    """Whether a command line only looks at files or moves them about: it says nothing about how to work."""
    programs = ((without_prefixes(simple.words) or [""])[0] for simple in simple_commands(line))
    return all(map(_EVERYDAY.fullmatch, programs))


def _last_touched(artifact: Artifact) -> int:
    return artifact.last.number


def _first_line(command: str) -> str:
    line, _, more = command.strip().partition("\n")
    return f"{line[:LONGEST_COMMAND]}…" if more or len(line) > LONGEST_COMMAND else line


def last_run_claim(ledger: Ledger) -> Iterator[Claim]:
    """Yield how the last test run ended, if there was one."""
    if run := ledger.last_run:
        passes, fails = _VERDICTS.get(run.runner, ("passed", "failed"))
        passed = "" if run.passed is None else f"{run.passed} {passes}, "
        text = f"{_TESTED}{_first_line(run.command)}: {passed}{run.failed} {fails}"
        text += edited_after(ledger, run.source)
        yield Claim("", ClaimKind.ARTIFACT, text, (run.source,), Trust.UNTRUSTED, topic=Topic.TEST_RUN)


def edited_after(ledger: Ledger, run: Cite) -> str:
    """Name the files that were changed after a run: its result may no longer hold."""
    later = list(
        dict.fromkeys(
            posixpath.basename(artifact.name)
            for artifact in ledger.artifacts.changed
            if artifact.last_change and artifact.last_change.number > run.number > 0
            if _is_source(artifact, ledger)
        )
    )
    more = f" and {len(later) - MOST_EDITED} more" if len(later) > MOST_EDITED else ""
    return f" (edited after it: {', '.join(later[:MOST_EDITED])}{more})" if later else ""


def _is_source(artifact: Artifact, ledger: Ledger) -> bool:
    """Whether a changed file may change the result of a run: no prose, no output, no script to try things."""
    if artifact.created and not artifact.exists:
        return False  # it was there neither before nor now
    return not _NO_SOURCE.search(artifact.name) and not _is_scratch(artifact, ledger)


def _is_scratch(artifact: Artifact, ledger: Ledger) -> bool:
    """Whether the session created a file outside of all folders of sources and ran it as a script."""
    if not artifact.created or posixpath.dirname(artifact.name) not in ("", ledger.folder.path):
        return False
    run = re.compile(rf"(?:^|[\s;&|/]){re.escape(posixpath.basename(artifact.name))}(?:$|[\s;&|<>])")
    return any(run.search(command.name) for command in ledger.artifacts.commands)


def last_check_claim(ledger: Ledger) -> Iterator[Claim]:
    """Yield how the last check ended (a linter, a build), if there was one."""
    if check := ledger.last_check:
        text = f"{_CHECKED}{_first_line(check.command)}: {check.verdict}{edited_after(ledger, check.source)}"
        yield Claim("", ClaimKind.ARTIFACT, text, (check.source,), Trust.UNTRUSTED, topic=Topic.CHECK)


def refusal_claims(ledger: Ledger) -> Iterator[Claim]:
    """Yield the calls that the host marked as refused, with the result's words as a quote."""
    for refusal in ledger.refusals[-MOST_REFUSALS:]:
        quote = refusal.words or refusal.result
        words = f': "{clip(quote)}"' if quote else ""
        sources = (refusal.asked, refusal.answered) if refusal.answered else (refusal.asked,)
        text = f"{_REFUSED}{clip(refusal.what)}{words}"
        # Labelled lower if its sources are.
        yield Claim("", ClaimKind.ERROR, text, sources, Trust.USER, topic=Topic.REFUSAL)


def failure_claims(ledger: Ledger) -> Iterator[Claim]:
    """Yield failures worth knowing: repeated ones, and recent ones that were not fixed."""
    worth_knowing = [one for one in ledger.failures if _is_worth_knowing(one, ledger)]
    for failure in worth_knowing[-MOST_FAILURES:]:
        text = _failure_text(failure, len(ledger))
        yield Claim("", ClaimKind.ERROR, text, failure.sources, Trust.UNTRUSTED, topic=Topic.FAILURE)


def _is_worth_knowing(failure: Failure, ledger: Ledger) -> bool:
    """Whether a failure was repeated or may still be worked on, and its lines say what failed."""
    is_open = not failure.fixed_by and _is_recent(failure, ledger)
    if failure.count < REPEATED and not is_open:
        return False
    text = " ".join(failure.lines)
    return _SAYS_WHY.search(text) is not None and _MISTYPED.search(text) is None


def _failure_text(failure: Failure, messages: int) -> str:
    lines = clip(" / ".join(without_colours(line).strip() for line in failure.lines))
    tries = f", failed {failure.count} times" if failure.count > 1 else ""
    return f"{failure.subject[:120] or failure.tool}{tries}: {lines}.{_state(failure, messages)}"


def _state(failure: Failure, messages: int) -> str:
    """Say what became of a failure, by what the messages after it show."""
    if failure.fixed_by:
        return FIXED_OTHERWISE if failure.otherwise else FIXED
    if failure.redone:
        return PARTLY_REDONE
    if failure.changed:
        return EDITED_OTHERWISE if failure.aims else EDITED_SINCE
    return NOT_FIXED if messages - failure.last_number <= JUST_NOW else NOT_REPEATED


def _is_recent(failure: Failure, ledger: Ledger) -> bool:
    """Whether a failure is so recent that work may still be about it; others were worked around."""
    number = failure.sources[-1].number if failure.sources else 0
    return not number or len(ledger) - number <= RECENT_MESSAGES
