"""A model without a network: it quotes and cites what it is shown, and declines what a rule forbids.

It is no language model and says so. It exists so that everything about a chat can be tried and tested
without a key: it answers from the view and from memory, calls tools in a small fixed way, and says that it
does not know where nothing answers.
"""

from clew.chat.offline.model import OFFLINE, OfflineModel, answer

__all__ = ["OFFLINE", "OfflineModel", "answer"]
