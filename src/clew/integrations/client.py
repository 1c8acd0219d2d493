"""``clew.wrap(client)``: an Anthropic or OpenAI client whose requests always fit the model's window.

``messages.create`` and ``stream``, ``chat.completions.create``, ``responses.create`` and the like send a
list that fits, with as much room for the reply as the request allows (``max_tokens``), followed by the rules
that only its digest shows. Conversations are distinguished by the start of their lists. Requests whose
history is kept by the provider (``previous_response_id``) are not changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, Unpack, cast

from clew.budget import Limit, Policy
from clew.errors import InputError
from clew.integrations.fitting import Fitting, FittingOptions

Client = TypeVar("Client")
"""The type of the wrapped client: ``wrap`` returns the same."""
_METHODS = ("create", "stream", "parse")
"""The methods that send messages, if ``_wire`` knows their path, such as ``messages.create``."""
_SDKS = ("anthropic", "openai")
"""Packages whose clients can be wrapped."""
_ROOTS = ("messages", "chat", "responses")
"""Attributes of a client of which it must have one to be wrapped."""
_RESOURCES = ("messages", "completions", "responses")
"""Attributes whose methods send messages."""
_STORED = ("previous_response_id", "conversation", "thread")  # the provider adds earlier messages itself
_FIXED = ("tools", "instructions")  # sent with every request in addition to the messages
_OWN = ("_inner", "_path", "fitting")
"""Attributes of the wrapper; the others are the client's."""
_REPLY = ("max_completion_tokens", "max_output_tokens", "max_tokens")
"""Parameters that limit the reply."""
MOST_REPLY = 0.5
"""The share of the window up to which the reply that a request allows is kept free. A caller may set a window
far smaller than the model's, and a limit for the reply above that. Chosen by hand."""


def wrap(client: Client, **options: Unpack[FittingOptions]) -> Client:
    """Return a client that compacts what it sends; ``window``, ``policy`` and ``session`` are optional."""
    if isinstance(client, _Wrapped):  # the new options apply
        return cast(Client, _Wrapped(client._inner, Fitting(**options), client._path))
    path = _path_of(client)
    if path is None and not any(_sdk_class(getattr(client, name, None)) for name in _ROOTS):
        kind = f"{type(client).__module__}.{type(client).__qualname__}"
        raise InputError(
            f"{kind} is no client of the Anthropic or OpenAI SDK", "use clew.Compactor for other clients"
        )
    return cast(Client, _Wrapped(client, Fitting(**options), path or ()))


class _Wrapped:
    """Wraps a client or one of its resources; other attributes are read and set there."""

    def __init__(self, inner: Any, fitting: Fitting, path: tuple[str, ...] = ()) -> None:  # noqa: ANN401
        self._inner, self._path, self.fitting = inner, path, fitting

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any attribute of the client
        result, path = getattr(self._inner, name), (*self._path, name)
        if name in _METHODS and _wire(path):
            return _wrap_call(result, self.fitting, path, _is_async(self._inner))
        if name in ("with_options", "copy"):
            return lambda *args, **fields: _Wrapped(result(*args, **fields), self.fitting)
        if _sdk_class(result):
            return _Wrapped(result, self.fitting, path)
        if name in _RESOURCES and _wire(path) and hasattr(result, "create"):
            kind = f"{type(result).__module__}.{type(result).__qualname__}"
            told = f"clew does not compact what {'.'.join(path)} sends: {kind} is no class of the SDK"
            warnings.warn(told, RuntimeWarning, stacklevel=2)
        return result

    def __setattr__(self, name: str, value: object) -> None:
        if name in _OWN:
            super().__setattr__(name, value)
        else:
            setattr(self._inner, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._inner, name)

    def __enter__(self) -> _Wrapped:
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._inner.__exit__(*raised)

    async def __aenter__(self) -> _Wrapped:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._inner.__aexit__(*raised)


def _sdk_class(value: object) -> type | None:
    """Return the class of an SDK that a value is an instance of, also by a subclass; None if none."""
    return next(
        (kind for kind in value.__class__.__mro__ if kind.__module__.partition(".")[0] in _SDKS), None
    )


def _path_of(value: object) -> tuple[str, ...] | None:
    """Return the path of a resource in its client, empty for a client; None if neither is of an SDK."""
    kind = _sdk_class(value)
    return tuple(filter(None, kind.__module__.partition(".resources.")[2].split("."))) if kind else None


def _is_async(resource: object) -> bool:
    """Return True if a resource, or the class of the SDK that it extends, is to be awaited."""
    kind = _sdk_class(resource) or type(resource)
    return kind.__name__.startswith("Async")


def _wire(path: tuple[str, ...]) -> str | None:
    """Return the format of the list that a method takes; None for a method that takes none."""
    if "completions" in path and "chat" in path:
        return "openai"
    if "responses" in path:
        return "responses"
    return "anthropic" if "messages" in path and "threads" not in path and "batches" not in path else None


def _body(key: str, fields: dict[str, Any]) -> dict[str, Any] | None:
    """Return the argument of a request to fit, its messages made a list; None if there is none."""
    given = fields.get(key)
    if isinstance(given, Iterable) and not isinstance(given, list | str | Mapping):
        fields[key] = list(given)  # the SDKs take anything that can be read once
    if not isinstance(fields.get(key), list) or any(fields.get(name) for name in _STORED):
        return None
    system = {"system": fields["system"]} if isinstance(fields.get("system"), str | list) else {}
    return {key: fields[key], "model": fields.get("model"), **system}


def _wrap_call(
    call: Callable[..., Any], fitting: Fitting, path: tuple[str, ...], is_async: bool
) -> Callable[..., Any]:
    """Return an SDK's method with its messages compacted before each call: blocking, async or streaming."""
    wire = _wire(path) or ""
    key = "input" if wire == "responses" else "messages"

    def options(fields: dict[str, Any]) -> dict[str, Any]:
        fixed = [fields[name] for name in _FIXED if fields.get(name)]
        policy = _with_reply(fitting.policy, fields)
        return {"fixed": fixed, "wire": wire, "model": fields.get("model"), "policy": policy}

    def call_sync(*args: Any, **fields: Any) -> Any:  # noqa: ANN401  # the client's own arguments
        body = _body(key, fields)
        result = fitting.fit(body, **options(fields)) if body else None
        return call(*args, **({**fields, key: fitting.to_send(result)} if result else fields))

    async def fit_and_call(*args: Any, **fields: Any) -> Any:  # noqa: ANN401  # the client's own arguments
        body = _body(key, fields)
        result = await fitting.fit_async(body, **options(fields)) if body else None
        return call(*args, **({**fields, key: fitting.to_send(result)} if result else fields))

    async def call_async(*args: Any, **fields: Any) -> Any:  # noqa: ANN401  # the client's own arguments
        return await (await fit_and_call(*args, **fields))

    def open_stream(*args: Any, **fields: Any) -> _Stream:  # noqa: ANN401  # the client's own arguments
        return _Stream(partial(fit_and_call, *args, **fields))

    if not is_async:
        return call_sync
    is_stream = path[-1] == "stream" or "with_streaming_response" in path
    return open_stream if is_stream else call_async


def _with_reply(policy: Policy, fields: Mapping[str, Any]) -> Policy:
    """Return a policy that keeps free what the request allows for the reply; the same if it sets no limit."""
    limits = [limit for name in _REPLY if isinstance(limit := fields.get(name), int) and limit > 0]
    return replace(policy, reply=Limit(share=MOST_REPLY, tokens=limits[0])) if limits else policy


class _Stream(AbstractAsyncContextManager[Any]):
    """A stream that is opened when it is entered, so that fitting its messages does not block."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        self._opened = opened

    async def __aenter__(self) -> Any:  # noqa: ANN401  # the stream of the SDK
        self._manager = await self._opened()
        return await self._manager.__aenter__()

    async def __aexit__(self, *raised: object) -> bool | None:
        return await self._manager.__aexit__(*raised)  # type: ignore[no-any-return]
