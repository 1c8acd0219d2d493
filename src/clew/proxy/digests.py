"""Write the digest of a client's conversation.

What the log does not hold yet of the conversation is appended first; the new digest builds on the last one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from clew.errors import ModelError
from clew.hosts.reminder import WorkState, missing, reminder, tokens
from clew.hosts.session_state import ledger_state
from clew.message import Message, Origin, Role, text_message
from clew.providers.model import Ask, Reply, Steps
from clew.proxy.conversations import ClientList, Conversation, Conversations, Diverged
from clew.proxy.requests import CompactionRequest
from clew.proxy.sealed import SealedDigest
from clew.session import Session
from clew.session.view import view_text
from clew.tokens import model_named

DIGEST_TOKENS = 6_000
"""Target size of an answer. Agents' own summaries have 1,000 to 8,000 tokens."""
SHORTEST_SUMMARY = 200
"""Characters; anything shorter is a refusal or an empty answer, and clew's own digest is used."""
MARKER = "(the client compacted the conversation here)"


@dataclass(frozen=True, slots=True)
class WrittenDigest:
    """The answer to a compaction request."""

    session: str
    digest: str
    text: str
    tokens_before: int
    tokens: int
    state: WorkState = field(default_factory=WorkState, repr=False)
    """Rules, goal and open work, which a summary by a model must keep."""

    def sealed(self) -> SealedDigest:
        """Return what an opaque item holds."""
        return SealedDigest(self.session, self.digest, self.text)


@dataclass(frozen=True, slots=True)
class RulesAsked:
    """A question to the client's model about rules, which waits for the reply."""

    request: CompactionRequest
    steps: Steps[str] = field(repr=False)
    ask: Ask = field(repr=False)


class DigestWriter:
    """Writes digests into one log; safe to use from several threads."""

    def __init__(self, conversations: Conversations, target_tokens: int = DIGEST_TOKENS) -> None:
        self.conversations, self.target_tokens = conversations, target_tokens

    def write(self, request: CompactionRequest) -> WrittenDigest:
        """Log what is new of a conversation, compact it, and return the digest."""
        client_list = ClientList.of(request)
        marker = text_message(Role.USER, MARKER, Origin.INJECTED)
        with self.conversations.locked(client_list) as conversation:
            session = self._log(client_list, conversation, marker)
            before = session.tokens
            limit = request.body.get("max_tokens") or request.body.get("max_output_tokens")
            target = self.target_tokens
            if isinstance(limit, int) and limit > 500:  # the client's own limit, with a margin
                target = min(target, int(limit * 0.8))
            session.compact(target_tokens=target, focus=request.focus)
            return _render(session, before)

    def ask_about_rules(self, request: CompactionRequest) -> RulesAsked | None:
        """Log what is new, and return what to ask the client's model about rules; None if nothing is new."""
        client_list, model = ClientList.of(request), str(request.body.get("model"))
        with self.conversations.locked(client_list) as conversation:
            session = self._log(client_list, conversation)
            steps = session.judging_rules(model, model_named(model).window_tokens)
            ask = next(steps, None)
        return RulesAsked(request, steps, ask) if ask else None

    def take_answer(self, asked: RulesAsked, reply: Reply | ModelError) -> str:
        """Record what the model said about rules; return why it cannot be used, if so: it changes nothing."""
        with self.conversations.locked(ClientList.of(asked.request)):
            try:
                if isinstance(reply, ModelError):
                    asked.steps.throw(reply)
                else:
                    asked.steps.send(reply)
            except StopIteration as end:
                return str(end.value)
        raise AssertionError("a second question about rules")

    def _log(
        self, client_list: ClientList, conversation: Conversation, marker: Message | None = None
    ) -> Session:
        """Log what is new of a list; return its session, one of its own if the list has diverged."""
        try:
            conversation.log(client_list, marker=marker)
        except Diverged:
            conversation = self.conversations.separate(client_list)
            conversation.log(client_list, marker=marker)
        return conversation.session


def _render(session: Session, before: int) -> WrittenDigest:
    """Return the view after the compaction as one text."""
    compactions = session.trace()
    name = compactions[-1].name if compactions else "d0"
    shown_items = (item for item in session.view() if item.message.text != MARKER)
    text = (
        f"{view_text(shown_items, compacted=bool(compactions))}\n\n"
        f"Every earlier turn is in clew's log: `clew expand {session.name} m12` prints turn m12 "
        f"(clew session {session.name}, digest {name})"
    )
    state = ledger_state(session.ledger)
    return WrittenDigest(session.name, name, text, before, session.counter.count_text(text), state)


def complete_summary(digest: WrittenDigest, summary: str) -> WrittenDigest | None:
    """Return a model's summary with what it left out; None if it is too short to be one."""
    if len(summary.strip()) < SHORTEST_SUMMARY:
        return None
    left_out = reminder(digest.state, tools=False) if missing(digest.state, summary) else ""
    source = digest.text.rsplit("\n\n", 1)[-1]
    text = "\n\n".join(filter(None, (summary.strip(), left_out, source)))
    return replace(digest, text=text, tokens=tokens(text))
