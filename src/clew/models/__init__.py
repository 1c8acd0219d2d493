"""Clients for language models. Importing this package does not import any SDK."""

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
