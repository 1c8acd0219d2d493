"""A claim's own words: which share occurs in its sources, and whether one is turned into its opposite."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from clew.compaction.verify.quotes import begins_word, is_unspaced, plain, stands_in
from clew.ledger.kinds import KNOWN_WORDS, WORD
from clew.rules.languages import is_function_word

FEWEST = 3
"""If a claim has fewer long words than this, short ones count too: a share of one or two means nothing."""
OF_THE_RECORD = frozenset(("next", "step", "todo", "task", "still", "open", "remai", "need", "needs"))
"""Stems with which a record refers to itself."""
DONE_TO_FILES = frozenset(("read", "wrote", "writt", "creat", "chang", "edit", "edite", "modif", "updat"))
"""Stems that say what was done to a file; tools use other words for the same."""
_ACTS = tuple(
    tuple(group.split())
    for group in (
        "delet remov drop wipe erase destr purge rm trunc unlin reset rever disca unins",
        "clean",
        "push publi deplo relea uploa merge send ship submi force share",
        "skip disab bypas ignor overr suppr omit",
        "pay buy purch trans refun cance book",
        "order",
        "commi",
        "sudo",
        "curl wget downl fetch",
    )
)
"""Stems of actions that are hard to undo; those of one row are equivalent."""
_RUN = re.compile(r"[^\W\d_]{2,}")
_ENDING = re.compile(r"(?<=\w{3})(\w?)(?:(?<=(\w))\2)?(?:ed|ing|e?s)$")
"""English endings, with a doubled letter before them: dropped, pushing."""
_ENDINGS = ("s", "ed", "ing")
_DIGIT = re.compile(r"\d")
_LONGER = 4
_STEM = 5


def support(text: str, plain_source: str, spared: Collection[str] = ()) -> float:
    """Return the share of a text's longer words that occur in a source, with any ending.

    If there are hardly any, all content words count.
    """
    stems = {stem for stem in _stems(_prose(text)) if _is_longer(stem) and stem not in spared}
    return share(stems if len(stems) >= FEWEST else content(text, spared), plain_source)


def content(text: str, spared: Collection[str] = ()) -> list[str]:
    """Return the stems of a text's content words, without repetition and without exact values."""
    return [stem for stem in things(_prose(text)) if stem not in spared]


def things(text: str) -> list[str]:
    """Return the stems of everything in a text that has content, without repetition."""
    return list(dict.fromkeys(_stems(text, is_function_word)))


def unheard_act(text: str, plain_source: str) -> str:
    """Return an action that is hard to undo and that the source never mentions; "" if there is none."""
    said = set(things(text))
    for group in _ACTS:
        act = next((stem for stem in group if stem in said), "")
        if act and not any(begins_word(stem, plain_source) for stem in group):
            return act
    return ""


def share(stems: Collection[str], plain_source: str) -> float:
    """Return the share of these stems that occurs in a source."""
    return sum(stands(stem, plain_source) for stem in stems) / len(stems) if stems else 1.0


def stands(stem: str, plain_source: str) -> bool:
    """Whether a word with this stem occurs in a source."""
    # Short stems also occur inside other words: "rm" in "form".
    return stem in plain_source if _is_longer(stem) else begins_word(stem, plain_source)


def _is_longer(stem: str) -> bool:
    return len(stem) >= _LONGER or is_unspaced(stem[0])


def _prose(text: str) -> str:
    """Return a text without its exact values and numbers, which are checked separately."""
    values = {word for word in WORD.findall(text) if KNOWN_WORDS[word] is not None}
    return " ".join(word for word in text.split() if word not in values and not _DIGIT.search(word))


def _stems(text: str, is_left_out: Callable[[str], bool] | None = None) -> Iterator[str]:
    for run in _RUN.findall(text.casefold()):
        if is_left_out is not None and is_left_out(run):
            continue
        if is_unspaced(run[0]):
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        else:
            yield _without_ending(run)[:_STEM]


def _without_ending(word: str) -> str:
    ending = _ENDING.search(word) if word.endswith(_ENDINGS) else None
    return word[: ending.end(1)] if ending else word


_OPPOSITES = (
    ("always", "never"),
    ("passed", "failed"),
    ("passes", "fails"),
    ("passing", "failing"),
    ("succeeded", "failed"),
    ("success", "failure"),
    ("enabled", "disabled"),
    ("enable", "disable"),
    ("allowed", "forbidden"),
    ("allowed", "prohibited"),
    ("valid", "invalid"),
    ("can", "cannot"),
    ("can", "can't"),
    ("is", "isn't"),
    ("do", "don't"),
    ("does", "doesn't"),
    ("did", "didn't"),
    ("will", "won't"),
    ("should", "shouldn't"),
    ("must", "must not"),
    ("do", "do not"),
    ("is", "is not"),
    ("true", "false"),
    ("with", "without"),
    ("included", "excluded"),
)
"""English only: an opposite in another language is not noticed."""
_TURNS = tuple(turn for pair in _OPPOSITES for turn in (pair, pair[::-1]))


def turned(text: str, plain_source: str) -> tuple[str, str] | None:
    """Return a word whose opposite occurs in the source while the word itself does not."""
    words = plain(text)
    for said, opposite in _TURNS:
        if (
            said in words
            and opposite in plain_source
            and stands_in(said, words)
            and not stands_in(opposite, words)
            and stands_in(opposite, plain_source)
            and not stands_in(said, plain_source.replace(opposite, ""))
        ):
            return said, opposite
    return None
