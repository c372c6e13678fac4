"""The gate: asks people before a function or a block runs, runs exactly what they approved, and reports the result."""
from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import math
import os
import re
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from .asking import Asking, Recorded, not_wanted
from .connection import Connection
from .errors import CountersignError, outcome
from .exact import canonical, exact
from .signature import Parameters
from .started import Started
from .threads import in_thread
from .version import VERSION

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import GatedOptions, Options

P = ParamSpec("P")
R = TypeVar("R")

_LONGEST_TITLE = 200
_DAY_S = 86_400


class Gate:
    """
    A Countersign server, for one program.

    `agent` names the program: it is part of derived keys, and a label on its cards. `lease`: how many seconds after the death of
    this program a person is asked what happened; it is renewed while a call runs. `timeout`: how many seconds to wait for a decision;
    None: without end. `patience`: for how many seconds requests that fail are repeated.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        agent: str | None = None,
        lease: int = 120,
        timeout: float | None = None,
        patience: float = 300,
    ) -> None:
        if not 1 <= lease <= _DAY_S:
            raise ValueError(f"`lease` must be 1 to {_DAY_S} seconds, and is {lease}.")
        self._agent = agent
        self._lease = lease
        self._timeout = timeout
        self._connection = Connection(url, token, f"countersign-python/{VERSION}", patience)

    @classmethod
    def from_environment(cls, **options: Any) -> Gate:
        """With COUNTERSIGN_URL and COUNTERSIGN_TOKEN, and COUNTERSIGN_AGENT if it is set."""
        found = {name: os.environ.get(f"COUNTERSIGN_{name}") for name in ("URL", "TOKEN", "AGENT")}
        missing = [f"COUNTERSIGN_{name}" for name in ("URL", "TOKEN") if not found[name]]
        if missing:
            text = "Set them, or make a Gate(url, token) and use its @gate.gated."
            raise CountersignError(f"{' and '.join(missing)} missing in the environment. {text}")
        options.setdefault("agent", found["AGENT"] or None)
        return cls(str(found["URL"]), str(found["TOKEN"]), **options)

    def gated(self, tool: str | None = None, **about: Unpack[GatedOptions]) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """
        Around a function, `def` or `async def`: each call asks, waits, runs with the approved input, and reports.

        tool: the name that rules go by; the name of the function by default.
        title, description, key: texts, with the values of the input in braces (`"Pay {amount} to {to}"`), or functions of the input.
        key: identifies the call: a call with a key that was used never runs twice, and returns the recorded result. It may use what is
            left out of the input. Without it, it is derived from the agent, the tool and the input.
        risk, reversibility, labels, policy, expires_in, notice: as on the card; see the HTTP API.
        schema: JSON Schema of the input; by default from the annotations; False for none. output_schema: of the result.
        leave_out: parameters that are not part of the input, such as the context of a framework.
        timeout, lease: instead of those of the gate.
        """
        return _gated(lambda: self, tool, about)

    def call(
        self, tool: str, input: Any, *, key: str | None = None, revises: str | None = None, **about: Unpack[Options]
    ) -> Call:
        """
        For a block: `with gate.call("pay", {"to": "ann"}, key="invoice-7") as call:`. Do exactly `call.input`, and set `call.output`.
        The block does not begin if the call is done (`AlreadyDone`) or must not run. Works with `async with`, too.
        """
        return Call(self.asking(tool, exact(input, "input"), about, key, revises), tool)

    def read(self, run_id: str) -> Mapping[str, Any]:
        """The call as it is now, as the server sends it."""
        return self._connection.send("GET", f"/{_checked(run_id)}")

    def withdraw(self, run_id: str, reason: str | None = None) -> Mapping[str, Any]:
        """A pending or approved call then never starts."""
        body = {} if reason is None else {"reason": reason}
        return self._connection.send("POST", f"/{_checked(run_id)}/withdraw", body)

    def asking(
        self, tool: str, input: Any, about: Mapping[str, Any], key: str | None, revises: str | None
    ) -> Asking:
        """For `gated` and `call`."""
        more = {**about}
        timeout, lease = more.pop("timeout", self._timeout), more.pop("lease", self._lease)
        given = {_OPTIONS[name]: value for name, value in _known(tool, more).items() if value not in (None, False)}
        for name in ("title", "description"):
            if name in given:
                given[name] = _text(given[name], input)
        if "title" in given and len(given["title"]) > _LONGEST_TITLE:
            given["title"] = f"{given['title'][: _LONGEST_TITLE - 1]}…"
        if self._agent is not None:
            given["labels"] = [*given.get("labels", ()), self._agent]
        if revises is not None:
            given["revises"] = revises
        key = self._key(tool, input) if key is None else key
        return Asking(self._connection, {"tool": tool, "input": input, "key": key, **given}, timeout, _whole(lease))

    def _key(self, tool: str, input: Any) -> str:
        """The same program that asks for the same means the same call."""
        return f"auto-{hashlib.sha256(canonical([self._agent, tool, input])).hexdigest()}"


class Call:
    """A block of code behind the gate. `input` is what a person approved, perhaps edited; set `output` to the result."""

    def __init__(self, asking: Asking, tool: str) -> None:
        self._asking = asking
        self._tool = tool
        self._started: Started | None = None
        self.output: Any = None

    @property
    def input(self) -> Any:
        if self._started is None:
            raise CountersignError(f"{self._tool} was not started: the approved input is known inside of the block.")
        return self._started.input

    @property
    def lease_ended(self) -> bool:
        """A long block may look: if it is true, a person may be asked what happened. Report, and begin nothing new."""
        return self._started is not None and self._started.lease_ended.is_set()

    def __enter__(self) -> Call:
        return self._entered(self._asking.begin())

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave(error)

    async def __aenter__(self) -> Call:
        return self._entered(await _begun(self._asking))

    async def __aexit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        await in_thread(lambda: self._leave(error))

    def _entered(self, begun: Started | Recorded) -> Call:
        if isinstance(begun, Recorded):
            raise outcome(self._tool, begun.answer)
        self._started = begun
        return self

    def _leave(self, error: BaseException | None) -> None:
        started = self._started
        if started is None:
            return
        if error is not None:
            started.failed(error)
        else:
            started.done(self.output)


def gated(tool: str | None = None, **about: Unpack[GatedOptions]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As `gate.gated`, with the gate of the environment: COUNTERSIGN_URL and COUNTERSIGN_TOKEN. It is made at the first call."""
    return _gated(_default, tool, about)


def asking(
    function: Callable[P, R], *, key: str | None = None, revises: str | None = None
) -> Callable[P, R]:
    """The gated function with a key for this call, or as the revision of a call that a person sent back."""
    outside = getattr(function, "__func__", function)
    make = getattr(outside, "_countersign", None)
    if make is None:
        raise TypeError(f"{function!r} is not a gated function.")
    changed = make(key, revises)
    owner = getattr(function, "__self__", None)
    return changed if owner is None else functools.partial(changed, owner)


def _gated(
    gate: Callable[[], Gate], tool: str | None, about: Mapping[str, Any]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    if callable(tool):
        raise TypeError("Write the parentheses: @gate.gated() or @gate.gated(tool=…).")

    def around(function: Callable[P, R]) -> Callable[P, R]:
        return _wrapped(gate, function, tool or function.__name__, about)

    return around


def _wrapped(gate: Callable[[], Gate], function: Callable[..., Any], tool: str, about: Mapping[str, Any]) -> Any:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{tool} is a generator: its effect would come after its report. Gate a function that returns.")
    more = {**about}
    parameters = Parameters(function, more.pop("leave_out", ()))
    key_of = more.pop("key", None)
    schema = more.pop("schema", None)
    if schema is not False:
        more["schema"] = parameters.schema() if schema is None else schema
    _known(tool, {name: value for name, value in more.items() if name not in ("timeout", "lease")})

    def wrap(key: str | None, revises: str | None) -> Any:
        def asked(args: Any, kwargs: Any) -> tuple[Asking, Mapping[str, Any]]:
            input, left = parameters.input(args, kwargs)
            own = key if key is not None or key_of is None else _text(key_of, {**input, **left})
            return gate().asking(tool, input, more, own, revises), left

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waits(*args: Any, **kwargs: Any) -> Any:
                ask, left = asked(args, kwargs)
                begun = await _begun(ask)
                if isinstance(begun, Recorded):
                    return begun.output
                try:
                    result = await parameters.call(function, begun.input, left)
                except GeneratorExit as error:
                    # The loop is closed: nothing can be awaited.
                    begun.failed(error)
                    raise
                except BaseException as error:
                    await in_thread(functools.partial(begun.failed, error))
                    raise
                await in_thread(lambda: begun.done(result))
                return result

            wrapper: Any = waits
        else:

            @functools.wraps(function)
            def runs(*args: Any, **kwargs: Any) -> Any:
                ask, left = asked(args, kwargs)
                begun = ask.begin()
                if isinstance(begun, Recorded):
                    return begun.output
                try:
                    result = parameters.call(function, begun.input, left)
                except BaseException as error:
                    begun.failed(error)
                    raise
                begun.done(result)
                return result

            wrapper = runs
        wrapper._countersign = wrap
        return wrapper

    return wrap(None, None)


async def _begun(ask: Asking) -> Started | Recorded:
    try:
        return await in_thread(ask.begin, not_wanted)
    except asyncio.CancelledError:
        ask.stop()
        raise


_OPTIONS = {
    **{name: name for name in ("title", "description", "risk", "reversibility", "labels", "policy", "schema", "notice")},
    "output_schema": "outputSchema",
    "expires_in": "expiresIn",
}


def _known(tool: str, about: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = [name for name in about if name not in _OPTIONS]
    if unknown:
        names = ", ".join(sorted([*_OPTIONS, "key", "lease", "leave_out", "timeout"]))
        raise TypeError(f"{tool} has the unknown option {', '.join(unknown)}. Options are: {names}.")
    return about


def _text(text: str | Callable[..., str], input: Any) -> str:
    values = cast("dict[str, Any]", input) if isinstance(input, dict) else {"input": input}
    if callable(text):
        return text(**values)
    return text.format_map(values) if "{" in text else text


def _checked(run_id: str) -> str:
    if not re.fullmatch(r"gate\.[\w-]{22}", run_id, re.ASCII):
        raise ValueError(f"{run_id!r} is not the run_id of a call.")
    return run_id


def _whole(lease: float) -> int:
    return max(1, math.ceil(lease))


_lock = threading.Lock()
_of_environment: Gate | None = None


def _default() -> Gate:
    global _of_environment
    with _lock:
        _of_environment = _of_environment or Gate.from_environment()
        return _of_environment
