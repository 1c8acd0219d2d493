"""Language models behind one port. Importing this imports no SDK. See README.md."""

from clew.models.exchange import PATIENCE, Patience
from clew.models.extractive import extractive
from clew.models.names import open_async_model, open_model
from clew.models.remote import AsyncRemoteModel, RemoteModel

__all__ = [
    "PATIENCE",
    "AsyncRemoteModel",
    "Patience",
    "RemoteModel",
    "extractive",
    "open_async_model",
    "open_model",
]
