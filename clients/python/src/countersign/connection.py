"""Requests to the server. Each request of the gate may be repeated, so lost answers are asked for again."""
from __future__ import annotations

import http.client
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any, cast

from .errors import Refused, Unreachable, refused
from .exact import decode, encode

_READ_S = 90.0
_LONGEST_PAUSE_S = 15.0
_LARGEST_ANSWER = 64 * 1024 * 1024


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to another place."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


class Connection:
    def __init__(self, url: str, token: str, user_agent: str, patience: float) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"The url of the server must begin with https:// or http://, and is {url!r}.")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("The token must be one of `countersign tokens create NAME --scopes start`.")
        self._base = f"{url.rstrip('/')}/api/v1/gate"
        self._headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/json",
            "user-agent": user_agent,
        }
        self._patience = patience
        self._opener = urllib.request.build_opener(_NoRedirects())

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        patience: float | None = None,
        pause: Callable[[float], object] = time.sleep,
    ) -> dict[str, Any]:
        """Repeats the request after lost connections, 408, 429 and 5xx, for `patience` seconds. `pause` waits between."""
        until = time.monotonic() + (self._patience if patience is None else patience)
        wait = 0.5
        while True:
            try:
                return self._once(method, path, body)
            except _Again as again:
                wait = again.after if again.after is not None else wait
                if time.monotonic() + wait > until:
                    raise again.problem from again.__cause__
                pause(wait * random.uniform(0.8, 1.2))
                wait = min(wait * 2, _LONGEST_PAUSE_S)

    def _once(self, method: str, path: str, body: Any) -> dict[str, Any]:
        data = None if body is None else encode(body)
        headers = self._headers if data is None else {**self._headers, "content-type": "application/json"}
        request = urllib.request.Request(self._base + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_READ_S) as response:
                text = response.read(_LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            with error:
                raise _problem_in(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise Unreachable(f"The certificate of {self._base} is not valid: {reason}") from error
            raise _Again(Unreachable(f"{self._base} cannot be reached: {reason}")) from error
        try:
            answer = decode(text)
        except ValueError as error:
            raise _Again(Unreachable(f"{self._base} did not answer with JSON. Is it a Countersign server?")) from error
        if not isinstance(answer, dict):
            raise _Again(Unreachable(f"{self._base} did not answer as a Countersign server does."))
        return cast("dict[str, Any]", answer)


class _Again(Exception):
    """The request may be repeated. `problem` is raised when there is no time left; `after`: in how many seconds."""

    def __init__(self, problem: Exception, after: float | None = None) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.after = after


def _problem_in(error: urllib.error.HTTPError) -> Exception:
    try:
        problem = decode(error.read(_LARGEST_ANSWER))
    except (ValueError, OSError, http.client.HTTPException):
        problem = {}
    failure: Refused = refused(error.code, cast("dict[str, Any]", problem) if isinstance(problem, dict) else {})
    if error.code in (408, 429) or error.code >= 500:
        after = error.headers.get("retry-after", "")
        return _Again(failure, min(float(after), 60.0) if after.isdigit() else None)
    return failure
