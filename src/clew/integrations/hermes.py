"""Hermes: with clew installed beside it, ``hermes plugins enable clew`` and ``context.engine: clew``.

Hermes continues with the list that its context engine returns; the earlier messages stay in its database. The
compaction state is stored there too, so another process continues from it. Options in ``config.yaml``:
``context: {clew: {window: 100000, recall: true}}``.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Unpack

from agent.context_engine import ContextEngine

from clew.budget import DEFAULT
from clew.integrations.fitting import Fitting, FittingOptions, state_of
from clew.integrations.recall import Recall, descriptions
from clew.session.result import CompactOptions
from clew.tokens import counter_for

FIELDS = ("role", "content", "tool_calls", "tool_call_id", "reasoning_content")  # that Hermes stores
LEAST_GROWTH = 10  # compacted again after growing by a tenth of the window; chosen by hand


class ClewEngine(ContextEngine):
    """Compacts a conversation without a model; ``window``, ``policy`` and ``session`` are optional."""

    name = "clew"

    def __init__(self, *, recall: bool = False, **options: Unpack[FittingOptions]) -> None:
        """Set up; ``recall=True`` adds the tools ``recall`` and ``expand``."""
        self.fitting = Fitting(**options)
        self._window, self._policy = options.get("window"), options.get("policy", DEFAULT)
        self._recall = Recall(self.fitting) if recall else None
        self._model, self._usable = "", 0
        self.bind_session_state()

    def __deepcopy__(self, _memo: dict[int, Any]) -> ClewEngine:
        """Return the copy that Hermes makes for each agent; all copies share one ``Fitting``."""
        return copy.copy(self)

    def update_model(self, model: str, context_length: int, *_: Any, **__: Any) -> None:  # noqa: ANN401
        """Take over the model's window, unless ``window`` sets a smaller one."""
        self._model, self.context_length = model, context_length
        window = min(self._window or context_length, context_length)
        self._usable = window - self._policy.reply.of(window)
        self.threshold_tokens = self._policy.compact_at.of(self._usable)

    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Take over the tokens of the last request."""
        for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
            setattr(self, f"last_{name}", usage.get(name) or 0)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether the window is nearly full, and the conversation has grown since it was compacted."""
        used = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        return 0 < max(self.threshold_tokens, self._not_before) <= used

    def compress(
        self,
        messages: list[dict[str, Any]],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the compacted list; the same list if clew fails."""
        used, tokens = current_tokens or 0, counter_for(self._model or "unknown").count_text(str(messages))
        fixed = min(max(0, used - tokens), self._usable // 2)  # system prompt and tools
        target = max(self._policy.down_to.of(self._usable) - fixed, tokens // 5)
        if force:
            target = min(target, tokens // 2)
        options = CompactOptions(target_tokens=target, focus=focus_topic, wire="openai", model=self._model)
        known = [{name: entry[name] for name in FIELDS if name in entry} for entry in messages]
        result = self.fitting.fit(known, self._key, **options)
        if result is None or not result.changed:
            return messages
        self.compression_count += 1
        self._not_before = used - result.tokens_before + result.tokens_after + self._usable // LEAST_GROWTH
        self._save()
        originals: dict[str, list[Any]] = {}  # Hermes' own objects, which have more fields, by what clew saw
        for entry, message in zip(known, messages, strict=True):
            originals.setdefault(str(entry), []).append(message)
        return [
            originals[str(entry)].pop(0) if originals.get(str(entry)) else dict(entry)
            for entry in result.messages
        ]

    def bind_session_state(self, session_db: Any = None, session_id: str = "") -> None:  # noqa: ANN401
        """Continue the conversation of a session of Hermes, from what its database has of it."""
        self._database, self._session_id, self._key, self._not_before = session_db, session_id, session_id, 0
        with self.fitting.reporting():
            text = session_db.get_meta(f"clew/{session_id}") if session_db else None
            self.fitting.restore(json.loads(text) if text else None, self._key)

    def on_session_start(self, session_id: str, **fields: Any) -> None:  # noqa: ANN401
        """Continue under another id after a compaction; else begin the conversation of that session."""
        if fields.get("boundary_reason") == "compression":
            self._session_id = session_id
            self._save()
        elif session_id != self._session_id:
            self.bind_session_state(self._database, session_id)

    def _save(self) -> None:
        with self.fitting.reporting():
            if self._database and (result := self.fitting.compactor.last(self._key)):
                self._database.set_meta(f"clew/{self._session_id}", json.dumps(state_of(result)))

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools for reading earlier turns, if asked for."""
        tools = descriptions() if self._recall else []
        return [{"name": name, "description": about, "parameters": schema} for name, about, schema in tools]

    def handle_tool_call(self, name: str, args: dict[str, Any], **_: Any) -> str:  # noqa: ANN401
        """Answer one of the tools, as JSON."""
        return json.dumps({"result": self._recall.run(name, args, self._key) if self._recall else ""})


def register(ctx: Any) -> None:  # noqa: ANN401  # Hermes' plugin context
    """Offer the engine to Hermes, with the options of its ``config.yaml``."""
    from hermes_cli.config import load_config

    options = (load_config().get("context") or {}).get("clew") or {}
    ctx.register_context_engine(ClewEngine(window=options.get("window"), recall=bool(options.get("recall"))))
