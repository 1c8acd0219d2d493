"""The rules that only a digest shows, stated again after the newest message of a compacted list.

Models follow best what they read last. Nothing before that entry changes, so that the provider's cache keeps
what it holds: no entry is added where the API would take it for something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.budget import Region
from clew.message import Message, Role
from clew.request.assemble import end_message
from clew.request.assembled import with_end
from clew.request.pieces import restated_rules
from clew.tokens import TokenCounter

if TYPE_CHECKING:
    from clew.session.result import CompactResult


def restated(result: CompactResult) -> list[Any]:
    """Return the entry to send after ``result.messages``, in a list; empty if there is nothing to restate.

    Also empty if the list ends with words of the model, which it is to continue, or with a tool result while
    the model thinks in a tool loop, or if the window has no room for it.
    """
    conversation = result.conversation
    if conversation is None or result.digest is None or conversation.record.counter is None:
        return []
    _, counter = conversation.record.counter
    codec, messages = conversation.record.codec, [item.message for item in result.items]
    if not messages or messages[-1].role is Role.ASSISTANT:
        return []
    piece = restated_rules(result.rules, result.items, counter.count_text)
    end = end_message([piece], None, announced=True) if piece else None
    if end is None or not _has_room(result, end, counter):
        return []
    if codec.wire is not None and with_end(messages, end, codec.wire)[-1] is not end:
        return []  # it would go into the last tool result, which the client may have marked to be cached
    return list(codec.write([end]))


def _has_room(result: CompactResult, end: Message, counter: TokenCounter) -> bool:
    """Return True if an entry fits the window beside the list, the fixed parts and the reply."""
    if result.budget is None:
        return False
    allotment = result.budget.allotment
    beside = (Region.SYSTEM, Region.TOOLS, Region.REPLY)
    taken = result.tokens_after + sum(allotment.of(region).given for region in beside)
    return taken + counter.count_all([end]) <= allotment.window_tokens
