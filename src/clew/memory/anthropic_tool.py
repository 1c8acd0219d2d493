"""Anthropic's memory tool backed by clew's log, for the tool runners of Anthropic's own SDK.

    client.beta.messages.run_tools(..., tools=[MemoryTool(MemoryFiles(store))])

Without the SDK, ``clew.memory.notes.commands.run_command`` takes the same calls.
"""

from __future__ import annotations

from clew.errors import InputError, MissingExtra
from clew.memory.notes.commands import MemoryFiles, run_command

try:
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError
    from anthropic.types.beta import BetaMemoryTool20250818Param
except ImportError as cause:
    raise MissingExtra("Anthropic's memory tool needs a recent Anthropic SDK, clew[anthropic]") from cause

DEFINITION: BetaMemoryTool20250818Param = {"type": "memory_20250818", "name": "memory"}


class _WithFiles:
    """What both tools share: the files, and the entry in the list of tools."""

    def __init__(self, files: MemoryFiles) -> None:
        super().__init__()
        self.files = files

    def to_dict(self) -> BetaMemoryTool20250818Param:
        """Return its entry in the list of tools."""
        return DEFINITION.copy()


class MemoryTool(_WithFiles, BetaBuiltinFunctionTool):
    """The memory tool for a synchronous client."""

    def call(self, input: object) -> str:  # noqa: A002  # the SDK's name
        """Run a call; a refusal becomes a result with ``is_error``."""
        return _answer(self.files, input)


class AsyncMemoryTool(_WithFiles, BetaAsyncBuiltinFunctionTool):
    """The memory tool for an asynchronous client. Each call is one short append to the log."""

    async def call(self, input: object) -> str:  # noqa: A002  # the SDK's name
        """Run a call; a refusal becomes a result with ``is_error``."""
        return _answer(self.files, input)


def _answer(files: MemoryFiles, command: object) -> str:
    try:
        return run_command(files, command if isinstance(command, dict) else {})
    except InputError as cause:
        raise ToolError(str(cause)) from cause
