"""Language models behind one port. Importing this imports no SDK. See README.md."""

from clew.models.exchange import PATIENCE, Patience
from clew.models.extractive import extractive
from clew.models.names import open_async_model, open_model
from clew.models.pieces import Piece, Streamed, StreamingModel
from clew.models.remote import AsyncRemoteModel, RemoteModel

__all__ = [
    "PATIENCE",
    "AsyncRemoteModel",
    "Patience",
    "Piece",
    "RemoteModel",
    "Streamed",
    "StreamingModel",
    "extractive",
    "open_async_model",
    "open_model",
]
