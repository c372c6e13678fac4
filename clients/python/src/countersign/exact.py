"""JSON that carries a value exactly: what is sent is what people decide about, and what runs."""
from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .errors import NotExact

LARGEST = 2**53 - 1
_DEEPEST = 100


def exact(value: Any, what: str) -> Any:
    """A plain copy of the value. `what` names it in errors. Tuples become lists."""
    return _copy(value, what, 0)


def _copy(value: Any, at: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise NotExact(f"{at[:80]}… is nested more than {_DEEPEST} levels deep, or contains itself.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise NotExact(f"{at} is {value}: JSON numbers are exact up to {LARGEST}. Pass it as a string.")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotExact(f"{at} is {value}, which JSON does not have. Pass a number, a string or None.")
        # JSON has one zero.
        return float(value) or 0.0
    if isinstance(value, str):
        text = str.__str__(value)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise NotExact(f"{at} has half of a surrogate pair, which is not text.")
        return text
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        return [_copy(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(items)]
    if isinstance(value, Mapping):
        copy: dict[str, Any] = {}
        for key, item in cast("Mapping[Any, Any]", value).items():
            if not isinstance(key, str):
                raise NotExact(f"{at} has the key {key!r}: JSON has only strings as keys.")
            copy[_copy(key, f"a key of {at}", depth)] = _copy(item, f"{at}.{key}", depth + 1)
        return copy
    kind = type(value).__name__
    raise NotExact(f"{at} is a {kind}, which JSON does not have. Pass a string, a number, a list or a dict instead.")


def encode(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def canonical(value: Any) -> bytes:
    """The same bytes for equal values: 1 and 1.0 are one number."""
    return json.dumps(_numbers(value), allow_nan=False, separators=(",", ":"), sort_keys=True).encode()


def _numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST:
        return int(value)
    if isinstance(value, list):
        return [_numbers(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def decode(text: bytes) -> Any:
    """Numbers that JSON does not carry exactly as int are floats, as the server has them."""
    return json.loads(text, parse_int=_number)


def _number(digits: str) -> int | float:
    if len(digits) > 400:
        return float(digits)
    number = int(digits)
    return number if abs(number) <= LARGEST else float(digits)


def same(one: Any, other: Any) -> bool:
    """Whether two values of JSON are equal. In Python, True == 1."""
    return canonical(one) == canonical(other)
