"""Every error that clew raises, as one tree.

    ClewError
    ├── InputError            what you gave cannot be used
    │   ├── NotJson           text that is not JSON
    │   ├── UnknownWire       a wire format clew does not speak
    │   ├── UnknownEntry      a message whose role or shape clew does not know
    │   ├── UnknownFormat     a session file clew does not recognise
    │   ├── NotFound          a session, file or id that is not there
    │   ├── CannotCarry       a message that the target format has no place for
    │   ├── StalePlan         a compaction that was planned for another view
    │   ├── ExportDamaged     an exported session that was changed or cut
    │   └── SessionDiverged   an imported session that went another way here
    ├── StoreError            the log could not be read or written
    │   ├── StoreBusy         another process holds it
    │   ├── HeadMoved         somebody appended first
    │   ├── DuplicateEvent    an event that was appended before
    │   ├── StoreFull         no room left on the disk
    │   ├── StoreUnwritable   clew may not write there
    │   ├── DiskFailed        the disk reported an error
    │   ├── StoreDamaged      what is on disk is not what was written
    │   ├── StoreTooNew       written by a later clew
    │   └── UnsafeFileSystem  the disk cannot keep SQLite's promises
    ├── ModelError            a model gave no answer
    │   ├── ModelBusy         it has too much to do just now
    │   ├── ModelTimeout      it took too long
    │   ├── ModelRefused      it does not take this request
    │   ├── ContextTooLong    the request is larger than its window
    │   └── ModelFailed       its server or the network broke
    ├── SummaryFailed         a model wrote nothing that can be used
    ├── BudgetExceeded        what may not be cut does not fit the window
    │   └── PinsDoNotFit      the pins are what does not fit
    │       └── NothingToGain the pins alone would take as much as there is
    ├── CompactionUnderWay    a compaction was begun inside another
    ├── CompactionRefused     no proposal keeps what must be kept
    └── MissingExtra          an optional part is not installed

An error's docstring is its default message and says what to do next::

    try:
        store.append(ctx, events, expect=head)
    except clew.errors.HeadMoved:
        ...  # read the new head, decide again
"""

from __future__ import annotations


class ClewError(Exception):
    """Something went wrong in clew"""

    def __init__(self, detail: str = "", advice: str | None = None) -> None:
        """Say what happened, then what to do next: ``advice``, or else the class's own."""
        if advice is None:
            advice = (type(self).__doc__ or "").strip()
        super().__init__(f"{detail}: {advice}" if detail and advice else detail or advice)
        self.detail = detail

    def __reduce__(self) -> tuple[object, ...]:
        """Go to another process as it is: to be made anew would say the advice twice."""
        return _sent, (type(self), str(self), vars(self))


def _sent(kind: type[ClewError], text: str, held: dict[str, object]) -> ClewError:
    error = kind.__new__(kind, text)
    vars(error).update(held)
    return error


class InputError(ClewError):
    """check the input and try again"""


class NotJson(InputError):
    """this is not JSON; check that the file is whole and not compressed twice"""


class UnknownWire(InputError):
    """use one of anthropic, openai, responses, gemini"""


class UnknownEntry(InputError):
    """nothing was read; give entries of a provider's list, each with its role (see `clew formats`)"""


class UnknownFormat(InputError):
    """clew does not recognise this session file; name its format with --format, or see `clew formats`"""


class NotFound(InputError):
    """look with `clew sessions` for what there is"""


class CannotCarry(InputError):
    """the target format has no place for this; convert without --strict to carry it as text"""


class StalePlan(InputError):
    """this plan was made for another view; nothing was changed, propose a new one"""


class ExportDamaged(InputError):
    """this export was changed or cut after it was written; nothing was imported, export the session again"""


class SessionDiverged(InputError):
    """the session of this name went another way here; import it into another workspace"""


class StoreError(ClewError):
    """the log could not be read or written; nothing was changed"""


class StoreBusy(StoreError):
    """another process is writing; try again, or raise the busy timeout"""


class HeadMoved(StoreError):
    """somebody appended to this session first; read its new head and decide again"""


class DuplicateEvent(StoreError):
    """an event of this id is already in the session; an earlier try went through, nothing is left to do"""


class StoreFull(StoreError):
    """the disk is full; free some space and try again, everything written before can still be read"""


class StoreUnwritable(StoreError):
    """clew may not write there; check who owns the file and its directory, or set CLEW_HOME elsewhere"""


class DiskFailed(StoreError):
    """the disk reported an error; check the disk, then run `clew audit` to see that all is there"""


class StoreDamaged(StoreError):
    """what is on disk is not what was written; run `clew audit` to see exactly what"""


class StoreTooNew(StoreError):
    """this file was written by a later clew; upgrade clew to open it"""


class UnsafeFileSystem(StoreError):
    """SQLite's write-ahead log does not work on network file systems; keep the store on a local disk"""


class ModelError(ClewError):
    """the model gave no answer; go on without it, or ask another"""


class ModelBusy(ModelError):
    """the model has too much to do just now; wait, then ask again"""

    def __init__(self, detail: str = "", retry_after: float | None = None) -> None:
        """Say what happened and, where the provider told, how many seconds to wait."""
        super().__init__(detail)
        self.retry_after = retry_after


class ModelTimeout(ModelError):
    """the model took too long; ask for less, or allow more time"""


class ModelRefused(ModelError):
    """the provider does not take this request; check the key, the model's name and the reason it gives"""


class ContextTooLong(ModelError):
    """the request is larger than the model's window; send less of the history at once"""

    def __init__(self, detail: str = "", tokens: int | None = None, limit: int | None = None) -> None:
        """Say what happened and, where the provider told, how long the request was and may be."""
        super().__init__(detail)
        self.tokens = tokens
        self.limit = limit


class ModelFailed(ModelError):
    """the model's server or the network broke; ask again later, or ask another model"""


class SummaryFailed(ClewError):
    """the model wrote no summary that can be used; the digest without a model takes its place"""


class BudgetExceeded(ClewError):
    """nothing was sent; shorten the system prompt, offer fewer tools, or take a model with a larger window"""


class PinsDoNotFit(BudgetExceeded):
    """no pin is dropped silently; revoke or shorten some, or take a model with a larger window"""


class NothingToGain(PinsDoNotFit):
    """it is left as it is; a compaction pays when there is more besides the rules and the open work"""


class CompactionUnderWay(ClewError):
    """another compaction of this session has begun and not ended; wait for it, the view will be smaller"""


class CompactionRefused(ClewError):
    """no proposal keeps what must be kept, so nothing was changed; allow more tokens, or revoke a rule"""


class MissingExtra(ClewError):
    """install the named extra, for example with `pip install 'clew[exact]'`"""
