"""What a program may say about a call: the options of `gated` and `call`."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Union

Text = Union[str, Callable[..., str]]
Schema = Mapping[str, Any]


class Options(TypedDict, total=False):
    """On the card: title, description, risk, reversibility, labels, notice. Times are in seconds."""

    title: Text
    description: Text
    risk: Literal["low", "medium", "high"]
    reversibility: Literal["read-only", "reversible", "irreversible"]
    labels: Sequence[str]
    policy: str
    schema: Schema | Literal[False]
    output_schema: Schema
    expires_in: int | str
    notice: Literal["title-only"]
    timeout: float | None
    lease: float


class GatedOptions(Options, total=False):
    """`key`: a text with the values of the input in braces, or a function of them."""

    key: Text
    leave_out: Iterable[str]
