"""Arguments as the input that people decide about, and back."""
import unittest
from typing import Any, Literal, Optional

from countersign import NotExact, NotPerformed
from countersign.signature import Parameters, schema_of


class SignatureTest(unittest.TestCase):
    def test_defaults_are_part_of_the_input(self) -> None:
        def pay(to: str, /, amount: int = 0, *, note: Optional[str] = None, **more: Any) -> list[Any]:
            return [to, amount, note, more]

        parameters = Parameters(pay)
        input, left = parameters.input(("ann",), {"fee": False})
        self.assertEqual((input, left), ({"to": "ann", "amount": 0, "note": None, "fee": False}, {}))
        self.assertEqual(parameters.call(pay, input, left), ["ann", 0, None, {"fee": False}])

    def test_self_and_what_is_left_out_reach_the_function_as_they_were(self) -> None:
        class Bank:
            def pay(self, ctx: object, to: str) -> tuple[object, object, str]:
                return self, ctx, to

        bank, ctx = Bank(), object()
        parameters = Parameters(Bank.pay, ["ctx"])
        input, left = parameters.input((bank, ctx, "ann"), {})
        self.assertEqual(input, {"to": "ann"})
        self.assertEqual(parameters.call(Bank.pay, {"to": "bob"}, left), (bank, ctx, "bob"))
        self.assertEqual(list(parameters.schema()["properties"]), ["to"])

    def test_an_edit_that_does_not_fit_performs_nothing(self) -> None:
        calls: list[Any] = []

        def pay(to: str, amount: int = 1) -> None:
            calls.append((to, amount))

        parameters = Parameters(pay)
        for decided in ({"to": "ann"}, {"amount": 1}, {"to": "ann", "amount": 1, "fee": 2}, ["ann", 1], None):
            with self.assertRaises(NotPerformed):
                parameters.call(pay, decided, {})
        self.assertEqual(calls, [])

    def test_a_float_stays_a_float(self) -> None:
        def pay(amount: float, count: int, flag: bool) -> list[Any]:
            return [amount, count, flag]

        result = Parameters(pay).call(pay, {"amount": 950, "count": 2, "flag": True}, {})
        self.assertEqual([type(value) for value in result], [float, int, bool])

    def test_wrong_functions_and_arguments_are_refused(self) -> None:
        def many(*names: str) -> None: ...

        def pay(to: Any) -> None: ...

        with self.assertRaisesRegex(TypeError, r"has \*names"):
            Parameters(many)
        with self.assertRaisesRegex(TypeError, "no parameter ctx"):
            Parameters(pay, ["ctx"])
        with self.assertRaises(TypeError):
            Parameters(pay).input((), {})
        with self.assertRaisesRegex(NotExact, "^to is a complex"):
            Parameters(pay).input((1j,), {})

    def test_annotations_become_a_schema(self) -> None:
        cases: list[tuple[Any, dict[str, Any]]] = [
            (str, {"type": "string"}),
            (bool, {"type": "boolean"}),
            (None, {"type": "null"}),
            (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            (list[float], {"type": "array", "items": {"type": "number"}}),
            (dict[str, list[str]], {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}),
            (Literal["a", 1, None], {"enum": ["a", 1, None]}),
            (Literal[b"a"], {}),
            (Any, {}),
            (Optional[object], {}),
        ]
        for hint, schema in cases:
            self.assertEqual(schema_of(hint), schema)

    def test_annotations_that_cannot_be_read_are_left_out(self) -> None:
        place: dict[str, Any] = {}
        exec("def pay(to: 'Unknown') -> None: ...", place)
        self.assertEqual(Parameters(place["pay"]).schema()["properties"], {"to": {}})


if __name__ == "__main__":
    unittest.main()
