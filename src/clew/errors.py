"""All errors that clew raises, as one tree.

    ClewError
    ├── InputError            the input cannot be used
    │   ├── NotJson           text that is not JSON
    │   ├── UnknownWire       an unknown wire format
    │   ├── UnknownEntry      a message with an unknown role or shape
    │   ├── UnknownFormat     an unknown session file format
    │   ├── NotFound          a session, file or id that does not exist
    │   ├── CannotCarry       a message that the target format cannot express
    │   ├── StalePlan         a compaction that was planned for another view
    │   ├── Unauthorized      a request without a valid token
    │   ├── TooLarge          a request that is too long
    │   ├── ExportDamaged     an exported session that was changed or truncated
    │   └── SessionDiverged   an imported session that continued differently here
    ├── StoreError            the log could not be read or written
    │   ├── StoreBusy         another process holds the lock
    │   ├── HeadMoved         another process appended first
    │   ├── DuplicateEvent    an event that was already appended
    │   ├── StoreFull         no space left on the disk
    │   ├── StoreUnwritable   no permission to write
    │   ├── DiskFailed        the disk reported an error
    │   ├── StoreDamaged      the data on disk was changed or damaged
    │   ├── StoreUnreachable  the database server does not answer
    │   ├── StoreTooNew       written by a later version of clew
    │   ├── NoIndex           a store that cannot be searched
    │   └── UnsafeFileSystem  a network file system, unsafe for SQLite
    ├── ModelError            a model did not answer
    │   ├── ModelBusy         rate limited or overloaded
    │   ├── ModelTimeout      it took too long
    │   ├── ModelRefused      it rejected the request
    │   ├── ContextTooLong    the request is larger than its window
    │   └── ModelFailed       its server or the network failed
    ├── SummaryFailed         a model wrote no usable summary
    ├── BudgetExceeded        what must be sent does not fit the window
    │   ├── MessagesDoNotFit  the last messages do not stay verbatim in the size asked for
    │   └── PinsDoNotFit      it would fit without the pinned rules
    │       └── NothingToGain the mandatory part alone is as large as the view
    ├── CompactionUnderWay    another compaction of the session is running
    ├── CompactionRefused     no proposal passed the checks
    ├── MissingExtra          an optional part is not installed
    └── PackageDamaged        an installed package is not the one that was published

An error's docstring is its default message and says what to do next::

    try:
        store.append(ctx, events, expect=head)
    except clew.errors.HeadMoved:
        ...  # read the new head, decide again
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


class ClewError(Exception):
    """Something went wrong in clew"""

    def __init__(self, detail: str = "", advice: str | None = None) -> None:
        """Compose the message: what happened, then what to do next (default: the class docstring)."""
        if advice is None:
            advice = (type(self).__doc__ or "").strip()
        super().__init__(f"{detail}: {advice}" if detail and advice else detail or advice)
        self.detail = detail

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the finished message; calling ``__init__`` again would append the advice twice."""
        return _unpickle, (type(self), str(self), vars(self))


def _unpickle(kind: type[ClewError], text: str, attributes: dict[str, object]) -> ClewError:
    error = kind.__new__(kind, text)
    vars(error).update(attributes)
    return error


class InputError(ClewError):
    """check the input and try again"""


class NotJson(InputError):
    """this is not JSON; check that the file is complete and not compressed twice"""


class UnknownWire(InputError):
    """use one of anthropic, openai, responses, gemini"""


class UnknownEntry(InputError):
    """nothing was read; pass entries of a provider's list, each with its role (see `clew formats`)"""


class UnknownFormat(InputError):
    """clew does not recognise this session file; name its format with --format, or see `clew formats`"""


class NotFound(InputError):
    """`clew sessions` lists what exists"""


class CannotCarry(InputError):
    """the target format cannot express this; convert without --strict to carry it as text"""


class StalePlan(InputError):
    """this plan was made for another view; nothing was changed, propose a new one"""


class Unauthorized(InputError):
    """send the header `Authorization: Bearer TOKEN` with a token of this server"""


class TooLarge(InputError):
    """send less at once"""


class ExportDamaged(InputError):
    """this export was changed or truncated; nothing was imported, export the session again"""


class SessionDiverged(InputError):
    """the session of this name continued differently here; import it into another workspace"""


class StoreError(ClewError):
    """the log could not be read or written; nothing was changed"""


class StoreBusy(StoreError):
    """another process is writing; try again, or raise the busy timeout"""


class HeadMoved(StoreError):
    """another process appended to this session first; read its new head and decide again"""


class DuplicateEvent(StoreError):
    """an event with this id is already in the session; an earlier try succeeded, nothing is left to do"""


class StoreFull(StoreError):
    """the disk is full; free some space and try again, everything written before can still be read"""


class StoreUnwritable(StoreError):
    """no permission to write; check the owner of the file and its directory, or set CLEW_HOME"""


class DiskFailed(StoreError):
    """the disk reported an error; check the disk, then run `clew audit` to verify the log"""


class StoreDamaged(StoreError):
    """the stored data was changed or damaged; run `clew audit` for details"""


class StoreUnreachable(StoreError):
    """the database server does not answer; check its address and that it runs, then try again"""


class NoIndex(StoreError):
    """use a SqliteStore or a PostgresStore, or pass an index to clew.memory.Memory"""


class StoreTooNew(StoreError):
    """this file was written by a later version of clew; upgrade clew to open it"""


class UnsafeFileSystem(StoreError):
    """SQLite's write-ahead log does not work on network file systems; keep the store on a local disk"""


class ModelError(ClewError):
    """the model did not answer; continue without it, or use another"""


class ModelBusy(ModelError):
    """the model is rate limited or overloaded; wait, then try again"""

    def __init__(self, detail: str = "", retry_after: float | None = None) -> None:
        """``retry_after`` is the number of seconds to wait, if the provider sent it."""
        super().__init__(detail)
        self.retry_after = retry_after


class ModelTimeout(ModelError):
    """the model took too long; send less, or allow more time"""


class ModelRefused(ModelError):
    """the provider rejected this request; check the key, the model's name and the reason it gives"""


class ContextTooLong(ModelError):
    """the request is larger than the model's window; send less of the history at once"""

    def __init__(self, detail: str = "", tokens: int | None = None, limit: int | None = None) -> None:
        """``tokens`` is the size of the request and ``limit`` the maximum, if the provider sent them."""
        super().__init__(detail)
        self.tokens = tokens
        self.limit = limit


class ModelFailed(ModelError):
    """the model's server or the network failed; try again later, or use another model"""


class SummaryFailed(ClewError):
    """the model wrote no usable summary; the model-free digest is used instead"""


class BudgetExceeded(ClewError):
    """nothing was sent; shorten the system prompt, offer fewer tools, or use a model with a larger window"""


class PinsDoNotFit(BudgetExceeded):
    """no pin is dropped silently; revoke or shorten some, or use a model with a larger window"""


class NothingToGain(PinsDoNotFit):
    """the view is unchanged; compaction helps once there is more than rules and open work"""


class MessagesDoNotFit(BudgetExceeded):
    """nothing was changed; ask for more tokens, or keep fewer of the last messages verbatim"""


class CompactionUnderWay(ClewError):
    """another compaction of this session is running; wait for it to finish"""


class CompactionRefused(ClewError):
    """no proposal keeps what must be kept; nothing was changed, allow more tokens or revoke a rule"""


class MissingExtra(ClewError):
    """install the named extra, for example with `pip install 'clew[exact]'`"""

    def __init__(self, detail: str = "", advice: str | None = None) -> None:
        """Advise the command that adds the extra in ``detail`` to clew as it is installed here."""
        if advice is None and (extra := re.search(r"clew\[(\w+)\]", detail)):
            advice = f"install it with `{_install_command(extra[1])}`"
        super().__init__(detail, advice)


class PackageDamaged(ClewError):
    """its files were changed or damaged; install it again, with `pip install --force-reinstall`"""


def _install_command(extra: str) -> str:
    """Return the command that installs clew again, from where it came, with an extra."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from shlex import quote
    from urllib.parse import unquote, urlsplit

    source, editable, installer = "clew", "", "pip"
    try:
        installed = distribution("clew")
        installer = (installed.read_text("INSTALLER") or "pip").strip()
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if "vcs_info" in origin:
        source = f"clew @ {origin['vcs_info']['vcs']}+{origin['url']}"
    elif origin.get("url", "").startswith("file:"):
        source = unquote(urlsplit(origin["url"]).path)
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    package, _, rest = source.partition(" @ ")
    what = quote(f"{package}[{extra}]{' @ ' if rest else ''}{rest}")
    if Path(sys.prefix, "uv-receipt.toml").exists():
        return f"uv tool install --force {editable}{what}"
    return f"{'uv pip' if installer == 'uv' else 'pip'} install {editable}{what}"
