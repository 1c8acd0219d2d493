"""A plan with the task it is checked against, and everything several checks look up, computed once.

A claim is *vouched* for if the ledger or an accepted digest states it: then no check asks for its proof.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from clew.compaction.ledger_claims import LedgerEntry
from clew.compaction.plan import Claim, ClaimKind, Condense, Digest, Drop, Plan, Shrink
from clew.compaction.plan.plan import apply
from clew.compaction.plan.render import ParsedDigest, parse_digest
from clew.compaction.task import CompactionTask
from clew.compaction.verify.wording import Wording, is_quote
from clew.message import Cite, Item, Message, Part, ToolCall, ToolResult, Trust, lowest, words
from clew.message.parts import json_leaves
from clew.message.text import once
from clew.rules.speech import Utterance, utterances

Gist: TypeAlias = tuple[ClaimKind, str, tuple[Cite, ...]]
"""What a claim says: its kind, text and sources."""
CUT = "…"
"""The end of a claim that quotes only the beginning of something."""
LEAST_BEGINNING = 40
"""Characters of its beginning by which a shortened open item is recognised; chosen by hand."""
_MAY_BE_CUT = (ClaimKind.GOAL, ClaimKind.OPEN, ClaimKind.NEXT)


class CitedPart:
    """The text of one part of a message."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.text = words(part)
        """The text that citation offsets refer to."""

    @once
    def wording(self) -> Wording:
        """The whole text; for a call also its arguments without JSON escapes, as the model meant them."""
        data = self.part.input if isinstance(self.part, ToolCall) else None
        if not data:
            return Wording(self.text)
        values = [leaf for leaf in json_leaves(data) if leaf is not None]
        texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
        return Wording("\n".join([self.text, *texts]))

    def at(self, cite: Cite) -> Wording:
        """Return the text at a cited place."""
        if cite.start == 0 and cite.end is None:
            return self.wording
        text = self.text[cite.start : cite.end]
        return Wording(f"{text}\n{_unescape(text)}" if isinstance(self.part, ToolCall) else text)


class SpokenPassage(NamedTuple):
    """A passage spoken by the user or the model."""

    utterance: Utterance
    wording: Wording


class ClaimCheck:
    """A claim together with the text at the places that it cites."""

    def __init__(self, claim: Claim, context: VerificationContext) -> None:
        self.claim = claim
        self.gist = gist(claim)
        self.vouched = context.is_vouched(self.gist)
        """It comes from the ledger or from an accepted digest, so it needs no proof."""
        self.sources: list[CitedPart] = []
        """The parts it cites."""
        self.missing: list[Cite] = []
        """Cited places that do not exist."""
        self._cited: list[Cite] = []
        labels = []
        for cite in claim.sources:
            source = context.source(cite)
            if source is None:
                self.missing.append(cite)
                continue
            self.sources.append(source)
            self._cited.append(cite)
            labels.append(context.label(cite, source))
        self.lowest = lowest(labels)
        """The lowest label of the cited places; untrusted if none exists."""
        self.exact = self._is_exact()
        """Whether the claim equals the text at its first cited place, character by character."""
        # Initialised here: an attribute added later would cost each of thousands of objects a dict.
        self._quoted: bool | None = None
        self._cited_texts: list[Wording] | None = None

    def _is_exact(self) -> bool:
        if not self.sources or self._cited[0] is not self.claim.sources[0]:
            return False  # the first cited place does not exist
        _, _, start, end = self._cited[0]
        return self.claim.text == self.sources[0].text[start:end]

    @property
    def cited_texts(self) -> list[Wording]:
        """The text at each cited place."""
        if self._cited_texts is None:
            self._cited_texts = [
                source.at(cite) for source, cite in zip(self.sources, self._cited, strict=True)
            ]
        return self._cited_texts

    @property
    def ceiling(self) -> Trust:
        """The highest trust label the claim may have; in a summariser's own words at most that of a model."""
        proven = self.vouched or self.quoted
        return self.lowest if proven else min(self.lowest, Trust.ASSISTANT)

    @property
    def cited_messages(self) -> str:
        """The cited messages, for messages to people."""
        return ", ".join(dict.fromkeys(cite.message for cite in self.claim.sources))

    @property
    def quoted(self) -> bool:
        """Whether the claim quotes what it cites."""
        if self._quoted is None:
            self._quoted = self._is_quoted()
        return self._quoted

    def _is_quoted(self) -> bool:
        text = self.claim.text.strip()
        if self.exact:  # the common case, known without a search
            return bool(text)
        if any(text == place.text.strip() for place in self.cited_texts):
            return bool(text)
        if any(is_quote(text, place) for place in self.cited_texts):
            return True
        # Models see a message as one text, so a quote may continue from one part into the next.
        whole = "\n".join(place.text for place in self.cited_texts)
        return len(self.cited_texts) > 1 and is_quote(text, Wording(whole))


class VerificationContext:
    """A plan with the task it is for. What is ``@once`` is an attribute, computed when it is first read."""

    def __init__(self, plan: Plan, task: CompactionTask) -> None:
        """Compute the view after the plan; raise ``StalePlan`` if the plan is for another view."""
        self.plan = plan
        self.task = task
        self.required = task.required
        self.after = apply(plan, task.view)
        self.before = {item.id: item.message for item in task.view}
        self._sources: dict[tuple[str, int], CitedPart] = {}
        self._speech: dict[str, list[SpokenPassage]] = {}

    # What the plan does ----------------------------------------------------------------------------------

    @once
    def condenses(self) -> tuple[Condense, ...]:
        """Return its digests, with the messages they replace."""
        return tuple(op for op in self.plan.operations if isinstance(op, Condense))

    @once
    def shrinks(self) -> dict[str, Shrink]:
        """Return the messages it shows in a smaller form, by id."""
        return {op.id: op for op in self.plan.operations if isinstance(op, Shrink)}

    @once
    def removed(self) -> frozenset[str]:
        """Return the ids of what it condenses or drops."""
        return frozenset().union(*(op.ids for op in self.plan.operations if isinstance(op, Condense | Drop)))

    @once
    def shown_digests(self) -> dict[str, Digest]:
        """Return the digest in the view before, by the id of its message; a view has at most one."""
        return dict([self.task.shown]) if self.task.shown else {}

    @once
    def digests_after(self) -> tuple[Digest, ...]:
        """Return the digests in the view after the plan: kept ones, then new ones."""
        staying = (digest for name, digest in self.shown_digests.items() if self.is_shown(name))
        return (*staying, *self.plan.digests)

    @once
    def rendered(self) -> dict[str, str]:
        """Return the rendered text of the digests in the view after, by digest id."""
        shown = {name: digest.id for name, digest in self.shown_digests.items() if self.is_shown(name)}
        shown.update((digest.id, digest.id) for digest in self.plan.digests)
        return {digest_id: self.after_by_id[name].text for name, digest_id in shown.items()}

    @once
    def after_by_id(self) -> dict[str, Message]:
        """Return the messages of the view after the plan; a digest's message has the digest's id."""
        return dict(self.after)

    @once
    def read_back(self) -> dict[str, ParsedDigest | None]:
        """Return the digests as parsed from their rendering: the checks look at what the model would read."""
        return {name: parse_digest(text) for name, text in self.rendered.items()}

    @once
    def cited(self) -> frozenset[str]:
        """Return the ids of the messages cited by the digests in the view after."""
        claims = (
            cite.message for digest in self.digests_after for claim in digest.claims for cite in claim.sources
        )
        return frozenset(claims).union(
            pin.source.message for digest in self.digests_after for pin in digest.pins
        )

    @once
    def covered(self) -> frozenset[str]:
        """Return the ids of the messages covered by the digests in the view after."""
        return frozenset(name for digest in self.digests_after for name in digest.covers)

    @once
    def folded(self) -> frozenset[str]:
        """Return the ids of the digests folded into those in the view after."""
        return frozenset(name for digest in self.digests_after for name in digest.folds)

    def is_shown(self, name: str) -> bool:
        """Whether a message of the view before stays in the view, whole or smaller."""
        shrink = self.shrinks.get(name)
        leaves = name in self.removed or (shrink is not None and not shrink.message.parts)
        return name in self.before and not leaves

    def shown_message(self, name: str) -> Message | None:
        """Return a message of the view before as it would be shown; None if it would be removed."""
        if not self.is_shown(name):
            return None
        shrink = self.shrinks.get(name)
        return shrink.message if shrink else self.before[name]

    # Sizes -----------------------------------------------------------------------------------------------

    @once
    def sizes(self) -> dict[str, int]:
        """Return the tokens of the messages of the view before, by id."""
        if self.task.sizes is not None:
            return dict(zip(self.before, self.task.sizes, strict=True))
        return {name: self.task.counter.count(message) for name, message in self.before.items()}

    @once
    def tokens_before(self) -> int:
        """Return the tokens of the view before, with the rules beside it that a digest states from now on."""
        return sum(self.sizes.values()) + (self.task.beside_tokens if self.condenses else 0)

    @once
    def tokens_after(self) -> int:
        """Return the tokens of the view after."""
        return sum(self.sizes_after.values())

    @once
    def sizes_after(self) -> dict[str, int]:
        """Return the tokens of the messages of the view after, by id."""
        count, before, sizes = self.task.counter.count, self.before, self.sizes
        return {
            name: sizes[name] if before.get(name) is message else count(message)
            for name, message in self.after
        }

    # Sources ---------------------------------------------------------------------------------------------

    def message(self, name: str) -> Message | None:
        """Return a message of the session in its original form; None if there is none with this id."""
        find = self.task.originals
        message = find(name) if find else None
        return message if message is not None else self.before.get(name)

    def has_words(self, name: str) -> bool:
        """Whether a message of the session has any text; one with only images has none."""
        message = self.message(name)
        return message is not None and any(words(part).strip() for part in message.parts)

    def source(self, cite: Cite) -> CitedPart | None:
        """Return the part that a citation points into; None if that place does not exist."""
        key = (cite.message, cite.part)
        source = self._sources.get(key)
        if source is None:
            message = self.message(cite.message)
            if message is None or not 0 <= cite.part < len(message.parts):
                return None
            source = self._sources[key] = CitedPart(message.parts[cite.part])
        end = len(source.text) if cite.end is None else cite.end
        return source if 0 <= cite.start <= end <= len(source.text) else None

    def label(self, cite: Cite, source: CitedPart) -> Trust:
        """Return the trust label of the text at a place."""
        if isinstance(source.part, ToolResult) and len(source.part.parts) > 1:
            for speech, _ in self.speech(cite.message):  # a person's words next to a tool result
                end = speech.start + len(speech.text)
                is_within = cite.end is not None and speech.start <= cite.start and cite.end <= end
                if speech.part == cite.part and is_within:
                    return speech.trust
        return source.part.trust

    def speech(self, name: str) -> list[SpokenPassage]:
        """Return what the user and the model say in a message, and the whole text around a request."""
        if name not in self._speech:
            message = self.message(name)
            item = Item(name, message) if message else None
            spoken = dict.fromkeys((*utterances(item), *utterances(item, in_full=True))) if item else ()
            self._speech[name] = [SpokenPassage(utterance, Wording(utterance.text)) for utterance in spoken]
        return self._speech[name]

    @once
    def claim_checks(self) -> dict[str, list[ClaimCheck]]:
        """Return every claim the plan would add, with its sources looked up, by digest id."""
        return {
            digest.id: [ClaimCheck(claim, self) for claim in digest.claims] for digest in self.plan.digests
        }

    def all_claim_checks(self) -> Iterator[ClaimCheck]:
        """Yield every claim the plan would add."""
        for claim_checks in self.claim_checks.values():
            yield from claim_checks

    # Claims that need no proof ---------------------------------------------------------------------------

    def is_vouched(self, gist: Gist) -> bool:
        """Whether a claim comes from the ledger or from an accepted digest.

        Goal and open items may be shortened to their beginning for lack of room.
        """
        if gist[1] in self._vouched_texts and gist in self._vouched:
            return True
        return gist[0] in _MAY_BE_CUT and self._begins_vouched(gist)

    def _begins_vouched(self, gist: Gist) -> bool:
        """Whether a claim ending in ``…`` is the beginning of one that needs no proof."""
        kind, text, sources = gist
        if not text.endswith(CUT) or len(text) < LEAST_BEGINNING:
            return False
        start = text.removesuffix(CUT)
        return any(
            known.startswith(start)
            for claim_kind, known, places in self._vouched
            if (claim_kind, places) == (kind, sources)
        )

    @once
    def _vouched_texts(self) -> frozenset[str]:
        """Their texts, as a quick first test: a string caches its hash, a gist does not."""
        return frozenset(text for _, text, _ in self._vouched)

    @once
    def _vouched(self) -> frozenset[Gist]:
        """What the ledger requires, what earlier digests say, and the current request."""
        earlier = (claim for digest in self.shown_digests.values() for claim in digest.claims)
        loops = map(open_claim, self.required.open_items)
        request = self.task.request
        asked = (request, request._replace(kind=ClaimKind.GOAL)) if request else ()
        return frozenset(map(gist, (*self.required.claims, *earlier, *loops, *asked)))


def open_claim(loop: LedgerEntry) -> Claim:
    """Return the claim that states an open item from the ledger."""
    return Claim("", ClaimKind.OPEN, loop.text, (loop.source,), Trust.UNTRUSTED)


def gist(claim: Claim) -> Gist:
    """Return what a claim says and its sources, without its id and label, which are checked separately."""
    return claim.kind, claim.text, claim.sources


def _unescape(text: str) -> str:
    """Decode a piece of a JSON string; return "" if it is not one."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return ""
