"""The arguments of a function as the input that people decide about, and back."""
from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from .errors import NotExact, NotPerformed
from .exact import exact

_SCALARS: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class Parameters:
    """`leave_out`: parameters that are not part of the input, such as `self`. The function gets them as they were passed."""

    def __init__(self, function: Callable[..., Any], leave_out: Iterable[str] = ()) -> None:
        self._name = getattr(function, "__name__", "the function")
        self._signature = inspect.signature(function)
        names = list(self._signature.parameters)
        self._left_out = {*leave_out, *[name for name in names[:1] if name in ("self", "cls")]}
        self._open: str | None = None
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                raise TypeError(f"{self._name} has *{name}: people decide about named values. Name its parameters.")
            if parameter.kind is parameter.VAR_KEYWORD:
                self._open = name
        unknown = self._left_out - {*names}
        if unknown:
            raise TypeError(f"{self._name} has no parameter {', '.join(sorted(unknown))}, which `leave_out` names.")
        self._hints = _hints(function)

    def input(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The input, and what is left out of it. Defaults are part of the input: people see them."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = dict(bound.arguments)
        if self._open is not None:
            values.update(values.pop(self._open, {}))
        left = {name: values.pop(name) for name in self._left_out if name in values}
        return {name: exact(value, name) for name, value in values.items()}, left

    def call(self, function: Callable[..., Any], decided: Any, left: Mapping[str, Any]) -> Any:
        """Calls the function with the decided input. Raises `NotPerformed` if a person has changed it to something else."""
        if not isinstance(decided, dict):
            raise NotPerformed(f"The approved input is not an object, and {self._name} takes named values.")
        positional: list[Any] = []
        named = {name: self._fit(name, value) for name, value in cast("dict[str, Any]", decided).items()}
        named.update(left)
        for name, parameter in self._signature.parameters.items():
            is_optional = parameter.kind is parameter.VAR_KEYWORD
            if name not in named and not is_optional:
                raise NotPerformed(f"The approved input has no {name}, which {self._name} takes.")
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(named.pop(name))
        try:
            self._signature.bind(*positional, **named)
        except TypeError as error:
            raise NotPerformed(f"The approved input does not fit {self._name}: {error}.") from None
        return function(*positional, **named)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the input, from the annotations, so that an edit that does not fit is refused."""
        kinds = self._signature.parameters
        names = [name for name in kinds if name not in self._left_out and name != self._open]
        return {
            "type": "object",
            "properties": {name: schema_of(self._hints.get(name, Any)) for name in names},
            "required": names,
            "additionalProperties": self._open is not None,
        }

    def _fit(self, name: str, value: Any) -> Any:
        # JSON has one kind of number: 950.0 comes back as 950.
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return float(value) if is_whole and self._hints.get(name) is float else value


def schema_of(hint: Any) -> dict[str, Any]:
    """JSON Schema for an annotation; `{}`, which takes anything, for those that it does not know."""
    if hint is None:
        hint = type(None)
    if isinstance(hint, type) and hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        choices = [schema_of(choice) for choice in inner]
        return {} if {} in choices else {"anyOf": choices}
    if origin is typing.Literal:
        try:
            return {"enum": exact(list(inner), "Literal")}
        except NotExact:
            return {}
    if hint is list or origin is list:
        items = schema_of(inner[0]) if inner else {}
        return {"type": "array", "items": items} if items else {"type": "array"}
    if hint is dict or origin is dict:
        values = schema_of(inner[1]) if len(inner) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    return {}


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # Annotations may name what exists only for type checkers.
        return {}
