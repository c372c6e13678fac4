"""Asks for one call, waits for the decision, and gets the start, once."""
from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from .connection import Connection
from .errors import CountersignError, NotPerformed, Refused, Waiting, outcome
from .started import Started

logger = logging.getLogger("countersign")
_POLL_S = 50
_LONGEST_PAUSE_S = 15.0


class Recorded(NamedTuple):
    """The call was done before, by whichever program: nothing runs."""

    output: Any
    answer: Mapping[str, Any]


class Stopped(CountersignError):
    """The coroutine that waits was cancelled."""


class Asking:
    """`timeout`: how many seconds to wait for the decision; None: without end. `lease`: in seconds, renewed while it runs."""

    def __init__(self, connection: Connection, ask: Mapping[str, Any], timeout: float | None, lease: int) -> None:
        self._connection = connection
        self._ask = ask
        self._tool = str(ask["tool"])
        self._lease = lease
        self._until = math.inf if timeout is None else time.monotonic() + timeout
        self._answer: Mapping[str, Any] = {}
        self._stop = threading.Event()
        self._is_told = False

    def stop(self) -> None:
        """Ends the waiting in the thread that waits. The request stays pending."""
        self._stop.set()
        self._tell_left()

    def begin(self) -> Started | Recorded:
        """Raises what came of a call that must not run here."""
        try:
            self._answer = self._send("POST", "", self._ask)
            return self._begun()
        except KeyboardInterrupt:
            self._tell_left()
            raise

    def _begun(self) -> Started | Recorded:
        pause = 1.0
        while True:
            answer = self._answer
            status = answer.get("status")
            if status == "done":
                return Recorded(answer.get("output"), answer)
            if status in ("pending", "started"):
                self._wait(answer)
                pause = 1.0
            elif status == "approved":
                started = self._start(answer)
                if started is not None:
                    return started
                if self._answer.get("status") == "approved":
                    # A freeze keeps it from starting.
                    self._check_time(self._answer)
                    self._pause(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE_S)
            else:
                raise outcome(self._tool, answer)

    def _wait(self, answer: Mapping[str, Any]) -> None:
        left = self._check_time(answer)
        if not self._is_told:
            self._is_told = True
            what = "waits for a decision" if answer.get("status") == "pending" else "is run by another program"
            logger.warning("%s %s: %s", self._tool, what, answer.get("url"))
        asked_at = time.monotonic()
        seconds = math.ceil(min(_POLL_S, left))
        self._answer = self._send("GET", f"/{answer['runId']}?wait={seconds}")
        # A server that stops answers at once.
        if self._answer.get("status") == answer.get("status") and time.monotonic() - asked_at < 0.5:
            self._pause(1.0)

    def _check_time(self, answer: Mapping[str, Any]) -> float:
        left = self._until - time.monotonic()
        if left > 0:
            return left
        what = {"pending": "nobody has decided", "started": "another program still runs it"}
        why = what.get(str(answer.get("status")), "a freeze keeps it from starting")
        text = f"{self._tool} did not run here: {why}. Ask again with the same key to go on waiting, or withdraw it."
        raise Waiting(f"{text} See {answer.get('url')}", self._tool, answer)

    def _start(self, answer: Mapping[str, Any]) -> Started | None:
        # Only this process knows it, and only as long as it lives: a program that was started again must not get the same answer.
        token = secrets.token_urlsafe(24)
        path = f"/{answer['runId']}"
        try:
            granted = self._send("POST", f"{path}/started", {"token": token, "lease": self._lease})
            return Started(self._connection, self._tool, answer, {**granted, "token": token}, self._lease)
        except Refused as refused:
            gate = refused.problem.get("gate")
            if refused.code != "start-refused" or not isinstance(gate, dict):
                raise
            self._answer = gate
            return None
        except BaseException:
            # It may have been granted without an answer. Nothing runs, and nobody has to be asked about it.
            report = {"token": token, "error": "It was interrupted before it ran.", "notPerformed": True}
            try:
                self._connection.send("POST", f"{path}/result", report, patience=0)
            except CountersignError:
                pass  # If it was granted, it becomes a doubt after its lease.
            raise

    def _send(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = self._connection.send(method, path, body, pause=self._pause)
        if self._stop.is_set():
            raise Stopped("The coroutine was cancelled.")
        return answer

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Stopped("The coroutine was cancelled.")

    def _tell_left(self) -> None:
        if self._answer.get("status") in ("pending", "approved"):
            url = self._answer.get("url")
            text = "%s was not run, and its request stays open: %s Ask again with the same key to go on, or withdraw it."
            logger.warning(text, self._tool, url)


def not_wanted(begun: Started | Recorded) -> None:
    """The coroutine was cancelled when its start was granted."""
    if isinstance(begun, Started):
        begun.failed(NotPerformed("It was cancelled before it ran."))
