"""The exceptions of the gate. Each text says what happened and what to do next."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NotPerformed(Exception):
    """Raise it in a gated function when nothing was done: the call then failed without an effect."""


class CountersignError(Exception):
    """Base of everything that the gate raises."""


class GateError(CountersignError):
    """A call that did not run here, or whose outcome the record does not have. `answer` is what the server said last."""

    def __init__(self, message: str, tool: str, answer: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.tool = tool
        self.answer = answer
        self.run_id: str = str(answer.get("runId", ""))
        self.url: str = str(answer.get("url", ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.tool, dict(self.answer))


class Rejected(GateError):
    """A person rejected the call, or it was withdrawn. It did not run and never will."""

    @property
    def reason(self) -> str:
        return str(self.answer.get("reason", ""))


class ChangesAsked(Rejected):
    """A person asks for changes. Ask for the changed call with another key and `revises=error.run_id`."""

    @property
    def comment(self) -> str:
        return str(self.answer["revise"]["comment"])

    @property
    def by(self) -> str | None:
        """The person who asks for changes, if known."""
        by = self.answer["revise"].get("by")
        return None if by is None else str(by)


class Expired(Rejected):
    """Nobody decided before the deadline."""


class Doubt(GateError):
    """The call was started, and its outcome is unknown: it may have taken effect. A person is asked at `url`."""


class Failed(GateError):
    """The call ran under this key before, and failed."""

    @property
    def error(self) -> str:
        return str(self.answer.get("error", ""))

    @property
    def may_have_acted(self) -> bool:
        return self.answer.get("mayHaveActed") is not False


class AlreadyDone(GateError):
    """The block of `with gate.call(…)` must not run: the call is done. `output` is what was reported."""

    @property
    def output(self) -> Any:
        return self.answer.get("output")


class Waiting(GateError, TimeoutError):
    """The time is over: nobody has decided, or another program still runs the call. Asking again finds the same call."""


class Unreported(GateError):
    """The function ran here, and the record does not have its result. `result` is what it returned. Do not run it again."""

    def __init__(self, message: str, tool: str, answer: Mapping[str, Any], result: Any) -> None:
        super().__init__(message, tool, answer)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.tool, dict(self.answer), self.result)


class Refused(CountersignError):
    """The server refused a request. `code` is stable; see the error codes in the documentation of the server."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = problem
        self.code: str = str(problem.get("code", ""))
        detail = str(problem.get("detail") or f"The server answered {status}.")
        super().__init__(f"{detail}{_ADVICE.get(self.code) or _ADVICE.get(str(status), '')}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, dict(self.problem))


class Conflict(Refused):
    """The key was used for a call with another input. Nothing was asked."""


class Unreachable(CountersignError):
    """The server could not be reached for `patience` seconds."""


class NotExact(CountersignError, ValueError):
    """A value that JSON cannot carry exactly, so that people would decide about something else."""


_ADVICE = {
    "gate-conflict": " Use another key for another call.",
    "401": " Check COUNTERSIGN_TOKEN: it is missing, revoked or of another server.",
    "403": " The token needs the scope `start`: countersign tokens create NAME --scopes start.",
    "404": " Check COUNTERSIGN_URL: it is the address of the server, without /api.",
}


def refused(status: int, problem: Mapping[str, Any]) -> Refused:
    return (Conflict if problem.get("code") == "gate-conflict" else Refused)(status, problem)


def outcome(tool: str, answer: Mapping[str, Any]) -> GateError:
    """The exception for a call that is over, or in doubt."""
    status, url = answer.get("status"), answer.get("url", "")
    if status == "rejected":
        revise = answer.get("revise")
        if isinstance(revise, Mapping):
            comment = answer["revise"]["comment"]
            text = f"A person asks for changes to {tool}: {comment} It did not run."
            return ChangesAsked(f"{text} Ask for the changed call with another key and revises=error.run_id.", tool, answer)
        reason = answer.get("reason", "")
        if answer.get("expired"):
            text = f"{tool} did not run: nobody decided before its deadline. {reason}"
            return Expired(f"{text} Ask again with another key if it is still wanted.", tool, answer)
        return Rejected(f"{tool} did not run: {reason} Do not ask for the same again. See {url}", tool, answer)
    if status == "doubt":
        text = f"{tool} was started and its outcome is unknown: it may have taken effect. Do not repeat it."
        return Doubt(f"{text} A person is asked what happened: {url}", tool, answer)
    if status == "failed":
        acted = "It may have taken effect." if answer.get("mayHaveActed") is not False else "Nothing was done."
        text = f"{answer.get('error', '')} {acted} To try again, check what happened and use another key."
        return Failed(text, tool, answer)
    if status == "done":
        return AlreadyDone(f"{tool} is done. It does not run again with this key. See {url}", tool, answer)
    return GateError(f"The server answered with the unknown status {status!r}. Update this package.", tool, answer)
