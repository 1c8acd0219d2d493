"""The commands of a chat (``/compact``, ``/undo``, …): one table, one function each. See ``table.py``."""

from clew.chat.commands.table import COMMANDS, ChatCommand, command_named, is_command, run_command

__all__ = ["COMMANDS", "ChatCommand", "command_named", "is_command", "run_command"]
