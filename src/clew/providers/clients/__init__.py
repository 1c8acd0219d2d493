"""Clients for language models. Importing this package does not import any SDK."""

from clew.providers.clients.exchange import PATIENCE, Patience
from clew.providers.clients.names import open_async_model, open_model
from clew.providers.clients.pieces import Piece, Streamed, StreamingModel
from clew.providers.clients.remote import AsyncRemoteModel, RemoteModel

__all__ = [
    "PATIENCE",
    "AsyncRemoteModel",
    "Patience",
    "Piece",
    "RemoteModel",
    "Streamed",
    "StreamingModel",
    "open_async_model",
    "open_model",
]
