"""
Asks people before a Python program acts, with a Countersign server. Standard library only.

    from countersign import Gate, Rejected

    gate = Gate("https://approvals.example.com", token, agent="billing")

    @gate.gated(tool="pay", title="Pay {amount} to {to}", key="invoice-{invoice}")
    def pay(to: str, amount: int, invoice: int) -> dict[str, int]:
        return bank.transfer(to, amount)
"""
from .errors import (
    AlreadyDone,
    ChangesAsked,
    Conflict,
    CountersignError,
    Doubt,
    Expired,
    Failed,
    GateError,
    NotExact,
    NotPerformed,
    Refused,
    Rejected,
    Unreachable,
    Unreported,
    Waiting,
)
from .gate import Call, Gate, asking, gated
from .version import VERSION as __version__

__all__ = [
    "AlreadyDone",
    "Call",
    "ChangesAsked",
    "Conflict",
    "CountersignError",
    "Doubt",
    "Expired",
    "Failed",
    "Gate",
    "GateError",
    "NotExact",
    "NotPerformed",
    "Refused",
    "Rejected",
    "Unreachable",
    "Unreported",
    "Waiting",
    "__version__",
    "asking",
    "gated",
]
