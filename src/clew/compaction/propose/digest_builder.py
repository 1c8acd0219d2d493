"""Build the fullest digest of a span that fits a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import Claim, ClaimKind, Digest, Shrink, Topic
from clew.compaction.plan.digest import checksum
from clew.compaction.plan.render import digest_message
from clew.compaction.propose.brief import Outline, Written, number_claims
from clew.compaction.propose.citations import label_of
from clew.compaction.propose.claim_overlap import by_turn, place
from clew.compaction.propose.digest_content import STORY, DigestContent
from clew.compaction.propose.digest_input import DigestInput, MandatoryLimits, last_words
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.tail import MOST_OF_REQUEST, WHOLE_REQUEST_SHARE, request_characters
from clew.compaction.work_claims import DELETED
from clew.message import Cite, Item, Message, words

CODE = "clew"
"""The author of a digest without a line of a model."""
TRIES = 6
WELL_FILLED = 0.97
"""Share of its room from which a digest counts as full."""
CAUTION = 0.985
"""Share of the estimated fit that is asked for, so that one try is mostly enough; chosen by hand."""


class SizedDigest(NamedTuple):
    """A digest, and the tokens of its rendered message."""

    digest: Digest
    tokens: int


class DigestBuilder:
    """The digest of a span, before its room is known."""

    def __init__(self, scene: Scene, span: Sequence[Item], terms: MandatoryLimits) -> None:
        """Compute the mandatory part of the digest and its size."""
        self._scene = scene
        said = scene.task.mandatory(span)
        claims = tuple(one._replace(trust=label_of(one, scene.original)) for one in said.claims)
        shown = scene.task.shown
        earlier = shown[1] if shown and any(item.id == shown[0] for item in span) else None
        asked = scene.task.asked
        self._inputs = DigestInput(
            span,
            MandatoryContent(said.pins, claims, said.open_items),
            earlier,
            terms,
            asked=asked,
            for_request=_for_request(scene),
            instructions=scene.task.instructions,
        )
        self._frame = _framed(scene, self._inputs)
        self._deleted = [claim for claim in claims if claim.topic is Topic.DELETED_AGAIN]
        self._least = self._weighed(self._inputs.must or last_words(scene.originals(reversed(span))))

    @property
    def least_tokens(self) -> int:
        """Return the size with only the mandatory part."""
        return self._least.tokens

    def outline(self, room: int) -> Outline:
        """Return what a model is asked to write for a digest of this size."""
        spare = max(0, room - self.least_tokens)
        choice = DigestContent(self._scene, self._inputs)
        inputs = self._inputs
        return Outline(inputs.span, inputs.brief, choice.room_to_write(spare), inputs.earlier)

    def state_hidden(self, shrinks: Iterable[Shrink]) -> None:
        """State what recent messages say and their excerpts do not show: claims, and text of files."""
        shown = {shrink.id: shrink.message for shrink in shrinks}
        results = {name: message for name, message in shown.items() if any(message.results)}
        self._inputs = replace(self._inputs, hidden=hidden_claims(self._scene, shrinks), shortened=results)

    def fullest(self, room: int, written: Written | None = None, *, is_last: bool = False) -> SizedDigest:
        """Return the fullest digest that fits the room, with the prose a model wrote, if any.

        ``is_last`` says that nothing else needs the room.
        """
        if written is not None:
            author, version = written.author, written.prompt_version
            self._frame = replace(self._frame, author=author, prompt_version=version)
        best, is_scrap = self._least, not self._inputs.must
        wanted = room - self.least_tokens
        choice = DigestContent(self._scene, self._inputs, written, is_last=is_last)
        spare = int(CAUTION * wanted)
        for _ in range(TRIES):
            if spare <= 0:
                break
            chosen = choice.claims(spare)
            digest = self._weighed([*self._inputs.must, *chosen])
            if chosen and digest.tokens <= room and (is_scrap or digest.tokens > best.tokens):
                best, is_scrap = digest, False  # anything is better than the placeholder line
            if digest.tokens <= room and (choice.is_all or digest.tokens >= room * WELL_FILLED):
                break
            spare = int(CAUTION * spare * wanted / max(1, digest.tokens - self.least_tokens))
        return self._signed(best, written) if written else best

    def _signed(self, digest: SizedDigest, written: Written) -> SizedDigest:
        """Return a digest that names the model as its author only if a line of the model is in it."""
        own = {claim.text for claim in written.claims}
        if any(claim.text in own for claim in digest.digest.claims):
            return digest
        self._frame = replace(self._frame, author=CODE, prompt_version=None)
        return self._weighed(digest.digest.claims)

    def _weighed(self, claims: Iterable[Claim]) -> SizedDigest:
        every = _without_parts(claims)
        every += self._named_though_deleted(every)
        once = {(claim.kind, claim.text, claim.sources): claim for claim in every}
        story = sorted((claim for claim in once.values() if claim.kind in STORY), key=place)
        others = (claim for claim in once.values() if claim.kind not in STORY)
        digest = replace(self._frame, claims=number_claims((*others, *story), self._frame.id))
        return SizedDigest(digest, self._scene.task.counter.count(digest_message(digest)))

    def _named_though_deleted(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return claims on the files that other claims name, as in a plan, and that were deleted since."""
        said = "\n".join(claim.text for claim in claims) if self._deleted else ""
        return [claim for claim in self._deleted if _path_end(claim.text.removeprefix(DELETED)) in said]


def _for_request(scene: Scene) -> int:
    """Return the characters for the request in progress: all of it, if that leaves enough room."""
    asked, most = scene.task.request or scene.task.goal, request_characters(scene.room)
    if asked is None:
        return most
    text = scene.task.asked.in_full.get(asked.sources[0].message, asked).text
    is_short = most < len(text) <= MOST_OF_REQUEST
    fits = is_short and scene.task.counter.count_text(text) <= scene.room * WHOLE_REQUEST_SHARE
    return len(text) if fits else most


def _path_end(path: str) -> str:
    """Return the last two components of a path: texts often leave out the first ones."""
    return "/".join(path.replace("\\", "/").split("/")[-2:])


def _without_parts(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims without sentences of the user that a longer quote of the same message contains."""
    every = list(claims)
    quotes = by_turn(claim for claim in every if claim.kind in _QUOTES_USER)
    return [
        claim
        for claim in every
        if claim.kind not in _QUOTED_ALONE
        or not claim.verbatim
        or not any(
            claim.text != text and claim.text in text for text in quotes.get(claim.sources[0].message, ())
        )
    ]


_QUOTES_USER = (ClaimKind.USER, ClaimKind.GOAL, ClaimKind.NEXT)
_QUOTED_ALONE = (ClaimKind.USER, ClaimKind.DECISION)


def hidden_claims(scene: Scene, shrinks: Iterable[Shrink]) -> tuple[Claim, ...]:
    """Return the ledger's decisions and failures that the smaller forms of messages do not show."""
    shown = {shrink.id: shrink.message for shrink in shrinks}
    claims = (
        scene.task.mandatory([Item(name, message) for name, message in shown.items()]).claims if shown else ()
    )
    return tuple(
        claim._replace(trust=label_of(claim, scene.original))
        for claim in claims
        if claim.kind in (ClaimKind.DECISION, ClaimKind.ERROR)
        and any(
            cite.message in shown and not _is_readable(scene, cite, shown[cite.message])
            for cite in claim.sources
        )
    )


def _is_readable(scene: Scene, cite: Cite, shown_message: Message) -> bool:
    """Whether the cited words, or the first line of several, are in the message as it is shown."""
    whole_message = scene.source(cite.message)
    if whole_message is None or cite.part >= min(len(whole_message.parts), len(shown_message.parts)):
        return False
    cited = words(whole_message.parts[cite.part])[cite.start : cite.end]
    return cited.strip().split("\n", 1)[0] in words(shown_message.parts[cite.part])


def _framed(scene: Scene, inputs: DigestInput) -> Digest:
    """Return a digest with its span and rules, and no claims yet."""
    earlier = inputs.earlier
    names = [item.id for item in inputs.span]
    own_items: Sequence[Item] = inputs.span
    if earlier and (shown := scene.task.shown):
        index = names.index(shown[0])
        names[index : index + 1] = earlier.covers
        own_items = [item for item in inputs.span if item.id != shown[0]]
    return Digest(
        scene.task.digest_id,
        earlier.level + 1 if earlier else 0,
        tuple(names),
        checksum(own_items, earlier.checksum if earlier else ""),
        (),
        inputs.brief.pins,
        folds=(earlier.id,) if earlier else (),
    )
