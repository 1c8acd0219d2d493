"""``clew chat``: chat with a model in a session of clew's log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from clew.budget import DEFAULT, EARLY, Limit, Policy
from clew.chat import Answer, ApprovalRequested, Chat, ChatEnded, ChatEvent, Turn, TurnFailed, open_chat
from clew.chat.commands import is_command, run_command
from clew.chat.opening import ModelChoice, local_models, named_model
from clew.chat.sessions import Choices, choices_of, fork, import_messages, latest, names_for_import, new_name
from clew.cli.chat_terminal import InputLines, Screen
from clew.cli.inputs import (
    WORKSPACE,
    existing_name,
    is_path,
    looks_like_id,
    open_arguments,
    open_index,
    own_name,
    the_store,
)
from clew.cli.log import import_transcript
from clew.cli.rules import waiting_lines
from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.errors import ClewError, InputError, SessionDiverged
from clew.log.protocol import Ctx, Store
from clew.memory.scope import SearchScope, project_at
from clew.secrets import mask_message
from clew.session import Session
from clew.settings import Preset, Settings, load_settings, use_judge_rules
from clew.transcripts import Transcript
from clew.transcripts.transcript import tool_compactions

_ANSWERS = {
    **dict.fromkeys(("y", "yes"), Answer.YES),
    **dict.fromkeys(("a", "always"), Answer.ALWAYS),
    **dict.fromkeys(("n", "no"), Answer.NO),
}


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Run the chat until the user quits."""
    if sum(map(bool, (args.session, args.resume, args.fork))) > 1:
        raise InputError("SESSION, --resume and --fork exclude each other", "give one of them")
    if args.root and not args.root.is_dir():
        raise InputError(f"{args.root} is not a folder", "give a folder with --root")
    settings = _settings(args)
    lines = InputLines.of(sys.stdin, term.out)
    with the_store() as store, open_index(store) as index:
        name = _session_name(args, store, term, mask_secrets=settings.mask_secrets)
        wanted = _choose_model(ModelChoice(settings.model, settings.base_url, settings.offline), lines, term)
        session = Session.open(
            name,
            store,
            workspace=WORKSPACE,
            window=settings.window,
            policy=_policy(settings),
            mask_secrets=settings.mask_secrets,
            off=settings.off,
        )
        session.project = project_at(args.root or Path.cwd())
        root = args.root.resolve() if args.root else None
        trusted = root is not None and any(
            root.is_relative_to(path.resolve()) for path in settings.trust_roots
        )
        chat = open_chat(session, root=args.root, index=index, auto=settings.auto, trusted=trusted)
        chat.requests.policy = _policy_text(settings.policy_file)
        chat.memory.where = SearchScope.EVERYWHERE if settings.recall_everywhere else SearchScope.PROJECT
        chat.choose(Choices(args.window, args.auto or None).over(choices_of(session)))
        chat.set_model(named_model(wanted, session))
        screen = Screen(term, lines.is_tty)
        screen.banner(chat)
        for line in waiting_lines(session.ledger.pins.waiting, name):
            term.note(printable(line))
        with closing(chat):
            _converse(chat, screen, lines)
        screen.farewell(chat)
    return 0


# Settings --------------------------------------------------------------------------------------------


def _settings(args: argparse.Namespace) -> Settings:
    """Return the settings of files and environment, overridden by the flags."""
    flags = {
        "model": args.model,
        "base_url": args.base_url,
        "offline": args.offline or None,
        "window": args.window,
        "auto": args.auto or None,
        "off": args.off or None,
        "recall_everywhere": args.all or None,
    }
    settings = load_settings(flags).settings
    use_judge_rules(settings)
    return settings


def _policy(settings: Settings) -> Policy:
    base = EARLY if settings.preset is Preset.EARLY else DEFAULT
    return replace(
        base,
        compact_at=Limit(*settings.compact_at) if settings.compact_at else base.compact_at,
        down_to=Limit(*settings.down_to) if settings.down_to else base.down_to,
        keep_messages=settings.keep_messages,
        keep_tokens=settings.keep_tokens,
        memory=replace(base.memory, tokens=settings.notes_tokens),
    )


def _policy_text(path: Path | None) -> str:
    try:
        return path.read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError) as cause:
        raise InputError(f"cannot read the policy file {path}: {cause}", "correct policy_file") from cause


# Which session, which model --------------------------------------------------------------------------


def _session_name(args: argparse.Namespace, store: Store, term: Terminal, *, mask_secrets: bool) -> str:
    """Return the session to chat in: resumed, forked, found, imported from a file, or new."""
    if args.resume:
        return latest(store, WORKSPACE)
    if args.fork:
        return fork(store, WORKSPACE, existing_name(store, args.fork))
    if not args.session:
        return new_name(store, WORKSPACE)
    name = str(args.session)
    if store.head(Ctx(workspace=WORKSPACE, session=name)).seq:
        return name  # also if the folder has an entry of that name
    if not is_path(name):
        # Only ids may be shortened: a prefix of a chosen name is the name of a new session.
        known = own_name(store, name) if looks_like_id(name) else name
        if known:
            return known
    source = open_arguments(argparse.Namespace(file=name, format=None, session=None))
    transcript = source.single_session(term)
    messages = [entry.message for entry in transcript.full_entries()]
    name = Path(name).name if is_path(name) else f"{transcript.format}:{transcript.id}"
    if messages and tool_compactions(transcript):
        return _import_compacted(store, transcript, name, mask_secrets=mask_secrets)
    return import_messages(store, WORKSPACE, name, messages, mask_secrets=mask_secrets)


def _import_compacted(store: Store, transcript: Transcript, name: str, *, mask_secrets: bool) -> str:
    """Import a session that its tool compacted: the chat goes on from what the tool's model sees."""
    first = transcript.full_entries()[0].message
    for candidate in names_for_import(name, mask_message(first) if mask_secrets else first):
        with suppress(SessionDiverged):
            return import_transcript(
                store, transcript, name=candidate, keep_secrets=not mask_secrets, current=True
            ).ctx.session
    raise AssertionError("the names do not end")


def _choose_model(choice: ModelChoice, lines: InputLines, term: Terminal) -> str:
    """Return the model's name; without a name or key, offer one that runs on this computer."""
    name = choice.name()
    if choice.offline or choice.model or not name.startswith("clew/"):
        return name
    local = local_models()
    if not local:
        return name
    if not lines.is_tty:
        term.note(f"clew: Ollama is running on this computer; use --model {local[0]} to chat with it.")
        return name
    model = local[0].partition("/")[2].partition("@")[0]
    answer = lines.read(f"Ollama is running on this computer with {model}. Chat with it? [y/N] ")
    return local[0] if _ANSWERS.get((answer or "").strip().lower()) is Answer.YES else name


# The conversation ------------------------------------------------------------------------------------


def _converse(chat: Chat, screen: Screen, lines: InputLines) -> None:
    """Process lines until /quit or the end of input."""
    while True:
        try:
            line = lines.read(screen.prompt(chat) if lines.is_tty else "")
        except KeyboardInterrupt:
            screen.notify("(/quit ends)")
            continue
        if line is None:
            return
        if not line.strip():
            continue
        try:
            turn = run_command(chat, line) if is_command(line) else chat.turn(line)
            if not _play(turn, screen, lines):
                return
        except KeyboardInterrupt:
            screen.notify("interrupted; the messages so far are kept")
        except ClewError as error:
            screen.show(TurnFailed(error))


def _play(turn: Turn, screen: Screen, lines: InputLines) -> bool:
    """Print the events of one turn; return whether the chat continues."""
    step: Callable[[], ChatEvent] = partial(next, turn)
    with closing(turn):
        while True:
            try:
                event = step()
            except StopIteration:
                screen.settle()
                return True
            if isinstance(event, ChatEnded):
                return False
            try:
                screen.show(event)
                answer = _ask_approval(screen, lines) if isinstance(event, ApprovalRequested) else None
                step = partial(turn.send, answer)
            except KeyboardInterrupt:
                step = partial(turn.throw, KeyboardInterrupt())


def _ask_approval(screen: Screen, lines: InputLines) -> Answer:
    """Ask for approval. In a script, any other line than an answer means no, and becomes the next turn."""
    while True:
        line = lines.read(screen.question if lines.is_tty else "")
        if line is None:
            return Answer.NO
        answer = _ANSWERS.get(line.strip().lower())
        if answer:
            return answer
        if not lines.is_tty:
            lines.put_back(line)
            return Answer.NO
