"""Values that JSON carries exactly, and those that it does not."""
import math
import unittest
from collections import OrderedDict
from decimal import Decimal
from enum import IntEnum
from typing import Any

from countersign import NotExact
from countersign.exact import LARGEST, canonical, decode, encode, exact, same


class Size(IntEnum):
    LARGE = 3


class ExactTest(unittest.TestCase):
    def test_plain_values_come_back_as_they_are(self) -> None:
        values: list[Any] = [0, "", False, None, [], {}, -1, 0.1, 1e300, 5e-324, LARGEST, -LARGEST, "ä\u2028\0", {"": [None]}]
        for value in values:
            copy: Any = decode(encode(exact(value, "value")))
            self.assertEqual(copy, value)
            self.assertEqual(type(copy).__name__, type(value).__name__)

    def test_subclasses_become_plain_values(self) -> None:
        self.assertEqual(exact({"size": Size.LARGE, "pair": (1, 2)}, "value"), {"size": 3, "pair": [1, 2]})
        plain: Any = exact(OrderedDict(a=1), "value")
        self.assertEqual(type(plain).__name__, "dict")

    def test_a_copy_is_sent(self) -> None:
        value = {"to": ["ann"]}
        copy = exact(value, "value")
        value["to"].append("eve")
        self.assertEqual(copy, {"to": ["ann"]})

    def test_what_json_cannot_carry_is_refused_by_name(self) -> None:
        loop: list[Any] = []
        loop.append(loop)
        cases: list[tuple[Any, str]] = [
            (math.nan, "nan"),
            (math.inf, "inf"),
            (LARGEST + 1, "exact up to"),
            (-(2**63), "exact up to"),
            (Decimal("0.1"), "Decimal"),
            (b"x", "bytes"),
            ({1, 2}, "set"),
            ({1: "x"}, "key 1"),
            ("\ud800", "surrogate"),
            ({"\udfff": 1}, "surrogate"),
            (loop, "nested"),
            (object(), "object"),
        ]
        for value, text in cases:
            with self.assertRaisesRegex(NotExact, rf"amount.*{text}"):
                exact({"to": [value]}, "amount")

    def test_the_name_says_where_the_value_is(self) -> None:
        with self.assertRaisesRegex(NotExact, r"^input\.lines\[1\]\.price is nan"):
            exact({"lines": [{"price": 1}, {"price": math.nan}]}, "input")

    def test_numbers_that_the_server_writes_as_large_integers_are_floats(self) -> None:
        self.assertEqual(decode(b"100000000000000000000"), 1e20)
        self.assertIsInstance(decode(b"100000000000000000000"), float)

    def test_equal_values_have_equal_bytes_and_true_is_not_one(self) -> None:
        self.assertEqual(canonical({"b": 1, "a": 950.0}), canonical({"a": 950, "b": 1.0}))
        self.assertEqual(encode(exact(-0.0, "zero")), b"0.0")
        self.assertFalse(same(True, 1))
        self.assertFalse(same(0, False))
        self.assertTrue(same([1, {}], [1.0, {}]))


if __name__ == "__main__":
    unittest.main()
