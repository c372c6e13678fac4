"""A call whose start was granted to this program: its lease, and the report of what came of it."""
from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from .connection import Connection
from .errors import CountersignError, NotExact, NotPerformed, Refused, Unreported, outcome
from .exact import exact, same

logger = logging.getLogger("countersign")
_LONGEST_ERROR = 10_000


class Started:
    """While it exists and has not reported, a thread renews its lease."""

    def __init__(
        self, connection: Connection, tool: str, answer: Mapping[str, Any], granted: Mapping[str, Any], lease: int
    ) -> None:
        self.tool = tool
        self.answer = answer
        self.input: Any = granted["input"]
        #: The lease has ended: a person may be asked what happened, and may let the call start again.
        self.lease_ended = threading.Event()
        self._connection = connection
        self._path = f"/{answer['runId']}"
        self._token = str(granted["token"])
        self._over = threading.Event()
        renewing = _Renewing(weakref.ref(self), connection, self._path, self._token, lease, self._over)
        threading.Thread(target=renewing.run, daemon=True, name="countersign-lease").start()

    def done(self, output: Any) -> None:
        """Reports the result. Raises `Unreported` if the record does not have it afterwards."""
        try:
            value = exact(output, f"the result of {self.tool}")
        except NotExact as error:
            self._fail(f"It ran, and its result cannot be recorded: {error}")
            raise
        try:
            answer = self._report({"output": value})
        except CountersignError as error:
            text = f"{self.tool} ran, and its result could not be reported: {error} Do not run it again."
            raise Unreported(f"{text} A person will be asked what happened.", self.tool, self.answer, output) from error
        if answer.get("status") == "failed":
            raise outcome(self.tool, answer)
        if answer.get("status") != "done" or not same(answer.get("output"), value):
            text = f"{self.tool} ran, but its lease had ended, and the record says otherwise"
            status = f"{text}: {answer.get('status')}. Check whether it ran twice: {answer.get('url')}"
            raise Unreported(status, self.tool, answer, output)

    def failed(self, error: BaseException) -> None:
        """Reports that the function raised. Logs what cannot be reported, because the caller needs the error itself."""
        if isinstance(error, NotPerformed):
            self._fail(str(error) or "Nothing was done.", notPerformed=True)
        else:
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, text: str, **more: bool) -> None:
        plain = text.encode("utf-8", "replace").decode()[:_LONGEST_ERROR]
        try:
            self._report({"error": plain, **more})
        except CountersignError as problem:
            logger.error("%s failed, and this could not be reported: %s A person will be asked.", self.tool, problem)

    def _report(self, report: Mapping[str, Any]) -> dict[str, Any]:
        self._over.set()
        return self._connection.send("POST", f"{self._path}/result", {"token": self._token, **report})


class _Renewing:
    """Knows its call weakly: a call that the program has dropped is renewed no longer, and becomes a doubt."""

    def __init__(
        self,
        call: weakref.ref[Started],
        connection: Connection,
        path: str,
        token: str,
        lease: int,
        over: threading.Event,
    ) -> None:
        self._call = call
        self._connection = connection
        self._path = path
        self._body = {"token": token, "lease": lease}
        self._every = lease / 3
        self._over = over

    def run(self) -> None:
        while not self._over.wait(self._every) and self._call() is not None:
            try:
                self._connection.send(
                    "POST", f"{self._path}/renew", self._body, patience=self._every, pause=lambda s: self._over.wait(s)
                )
            except Refused as refused:
                self._ended(refused)
                return
            except CountersignError as error:
                logger.warning("The lease of a call could not be extended, and is tried again: %s", error)

    def _ended(self, refused: Refused) -> None:
        call = self._call()
        if call is None or self._over.is_set():
            return
        if refused.code == "start-refused":
            call.lease_ended.set()
        logger.warning("The lease of %s was not extended: %s", call.tool, refused)
