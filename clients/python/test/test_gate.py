"""What needs no server: keys, options, errors."""
import os
import pickle
import unittest
from typing import Any
from unittest import mock

import countersign
from countersign import ChangesAsked, CountersignError, Doubt, Expired, Failed, Gate, Refused, Rejected, gated
from countersign.errors import outcome

URL, TOKEN = "http://127.0.0.1:9", "cs_token"


def key_of(input: Any, tool: str = "pay", agent: "str | None" = None) -> str:
    asking = Gate(URL, TOKEN, agent=agent).asking(tool, input, {}, None, None)
    return str(vars(asking)["_ask"]["key"])


class GateTest(unittest.TestCase):
    def test_derived_keys_are_equal_for_equal_calls_only(self) -> None:
        self.assertEqual(key_of({"a": 1, "b": 2}), key_of({"b": 2.0, "a": 1}))
        others = [key_of({"a": 1}), key_of({"a": "1"}), key_of({"a": True}), key_of({"a": 1}, "send"), key_of({"a": 1}, agent="x")]
        self.assertEqual(len({*others}), len(others))

    def test_wrong_options_are_refused_before_anything_is_asked(self) -> None:
        gate = Gate(URL, TOKEN)
        wrong: Any = {"titel": "Pay"}
        with self.assertRaisesRegex(TypeError, "unknown option titel"):
            gate.gated("pay", **wrong)(key_of)
        with self.assertRaisesRegex(TypeError, "unknown option titel"):
            gate.call("pay", 1, **wrong)
        with self.assertRaisesRegex(TypeError, "parentheses"):
            function: Any = key_of
            gate.gated(function)
        with self.assertRaisesRegex(TypeError, "not a gated function"):
            countersign.asking(key_of, key="k")

        def numbers() -> Any:
            yield 1

        with self.assertRaisesRegex(TypeError, "generator"):
            gate.gated()(numbers)
        for url, token in (("file:///etc/passwd", TOKEN), ("approvals.example.com", TOKEN), (URL, ""), (URL, "a\nb: c")):
            with self.assertRaises(ValueError):
                Gate(url, token)
        with self.assertRaises(ValueError):
            gate.read("../../etc")

    def test_a_missing_environment_says_what_to_set(self) -> None:
        with mock.patch.dict(os.environ, {"COUNTERSIGN_URL": URL}, clear=True):
            with self.assertRaisesRegex(CountersignError, "COUNTERSIGN_TOKEN missing"):
                Gate.from_environment()

    def test_a_gated_function_keeps_its_name_and_signature(self) -> None:
        @gated(tool="pay")
        def pay(to: str) -> None:
            """Pays."""

        self.assertEqual((pay.__name__, pay.__doc__, pay.__annotations__["to"]), ("pay", "Pays.", str))

    def test_every_status_is_an_exception_that_says_what_to_do(self) -> None:
        about = {"runId": "gate.x", "url": "https://x/r"}
        revise = {"status": "rejected", "reason": "r", "revise": {"comment": "Less.", "by": None}, **about}
        cases: list[tuple[dict[str, Any], type[CountersignError], str]] = [
            ({"status": "rejected", "reason": "No.", **about}, Rejected, "No."),
            (revise, ChangesAsked, "Less.*another key.*revises"),
            ({"status": "rejected", "reason": "", "expired": True, **about}, Expired, "deadline.*another key"),
            ({"status": "doubt", **about}, Doubt, "Do not repeat.*https://x/r"),
            ({"status": "failed", "error": "E.", "mayHaveActed": False, **about}, Failed, "Nothing was done"),
            ({"status": "failed", "error": "E.", **about}, Failed, "may have taken effect"),
            ({"status": "new", **about}, CountersignError, "Update"),
        ]
        for answer, kind, text in cases:
            error = outcome("pay", answer)
            self.assertIs(type(error), kind if kind is not CountersignError else countersign.GateError)
            self.assertRegex(str(error), text)
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again), again.run_id), (type(error), str(error), "gate.x"))
        refused = pickle.loads(pickle.dumps(Refused(401, {"code": "x", "detail": "No."})))
        self.assertEqual((refused.code, refused.status), ("x", 401))


if __name__ == "__main__":
    unittest.main()
