"""The log: append-only events in a hash chain, and the view as a fold of them. See README.md."""

from clew.log.canon import canonical, digest, digest_of_fields, parse
from clew.log.chain import Encoded, Header, chain, encode, link, root
from clew.log.fold import Visible, fold, load, names
from clew.log.ids import iso_time, new_event, new_id
from clew.log.kinds import (
    ABOUT,
    APPROVAL,
    CALL,
    COMPACTION,
    INSTRUCTION,
    KINDS,
    LOOP,
    MESSAGE,
    PIN,
    PROGRESS,
    REFUSAL,
    RESHAPING,
    SWITCH,
    TIER,
    TOKEN_BUDGET,
    UNDO,
    Kind,
    message_event,
    splices_to_json,
)
from clew.log.messages import message_from_json, message_to_json
from clew.log.prefix import Prefix
from clew.log.saved import view_from_json, view_to_json
from clew.log.transfer import Imported, export_session, export_session_zstd, import_session
from clew.log.verify import ChainCheck, Flaw, Row, check_session
from clew.log.view import Ref, Splice, Step, View

__all__ = [
    "ABOUT",
    "APPROVAL",
    "CALL",
    "COMPACTION",
    "INSTRUCTION",
    "KINDS",
    "LOOP",
    "MESSAGE",
    "PIN",
    "PROGRESS",
    "REFUSAL",
    "RESHAPING",
    "SWITCH",
    "TIER",
    "TOKEN_BUDGET",
    "UNDO",
    "ChainCheck",
    "Encoded",
    "Flaw",
    "Header",
    "Imported",
    "Kind",
    "Prefix",
    "Ref",
    "Row",
    "Splice",
    "Step",
    "View",
    "Visible",
    "canonical",
    "chain",
    "check_session",
    "digest",
    "digest_of_fields",
    "encode",
    "export_session",
    "export_session_zstd",
    "fold",
    "import_session",
    "iso_time",
    "link",
    "load",
    "message_event",
    "message_from_json",
    "message_to_json",
    "names",
    "new_event",
    "new_id",
    "parse",
    "root",
    "splices_to_json",
    "view_from_json",
    "view_to_json",
]
