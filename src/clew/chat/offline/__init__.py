"""The offline model: quotes and cites the view, and declines what a rule forbids.

It is not a language model and says so. It makes a chat testable without an API key: it answers from the view
and from memory, calls tools for a few fixed phrasings, and says that it does not know otherwise.
"""

from clew.chat.offline.model import OFFLINE, OfflineModel, answer

__all__ = ["OFFLINE", "OfflineModel", "answer"]
