"""The log: append-only events in a hash chain, and views folded from them. See README.md.

Events 1, 2, 3 (``message``) and 4 (``compaction`` of the first two) fold into a view that shows the digest of
event 4 and the message of event 3; an ``undo`` as event 5 brings the first two messages back.
"""

from clew.log.chain import (
    ChainCheck,
    EncodedEvent,
    EventRow,
    Flaw,
    canonical,
    chain,
    check_session,
    digest,
    digest_of_fields,
    encode,
    iso_time,
    new_event,
    new_id,
    parse_body,
    root,
)
from clew.log.fold import (
    ABOUT,
    APPROVAL,
    CALL,
    COMPACTION,
    INSTRUCTION,
    JUDGEMENT,
    KINDS,
    LOOP,
    MESSAGE,
    PIN,
    PROGRESS,
    REFUSAL,
    RESHAPING,
    RESUME,
    RULES,
    SWITCH,
    TOKEN_BUDGET,
    TOOL_COMPACTION,
    UNDO,
    EventKind,
    VisibleMessage,
    apply_event,
    fold,
    load_messages,
    message_event,
    named_messages,
    splices_to_json,
)
from clew.log.transfer import ImportResult, export_session, export_session_zstd, import_session
from clew.log.view import LogProblem, Prefix, Ref, Splice, View, view_from_json, view_to_json
from clew.message.codec import message_from_json, message_to_json

__all__ = [
    "ABOUT", "APPROVAL", "CALL", "COMPACTION", "INSTRUCTION", "JUDGEMENT", "KINDS", "LOOP", "MESSAGE", "PIN",
    "PROGRESS", "REFUSAL", "RESHAPING", "RESUME", "RULES", "SWITCH", "TOKEN_BUDGET", "TOOL_COMPACTION",
    "UNDO", "ChainCheck", "EncodedEvent", "EventKind", "EventRow", "Flaw", "ImportResult", "LogProblem",
    "Prefix", "Ref", "Splice", "View", "VisibleMessage", "apply_event", "canonical", "chain",
    "check_session", "digest", "digest_of_fields", "encode", "export_session", "export_session_zstd",
    "fold", "import_session", "iso_time", "load_messages", "message_event", "message_from_json",
    "message_to_json", "named_messages", "new_event", "new_id", "parse_body", "root", "splices_to_json",
    "view_from_json", "view_to_json",
]  # fmt: skip
