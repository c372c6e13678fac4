"""The gate of a Countersign server, with the standard library only.

    from gate import Gate

    gate = Gate("https://approvals.example.com", token)
    with gate.start("deploy", {"to": "production"}, key="build-7", title="Deploy build 7") as call:
        call.output = deploy(call.input)   # exactly what a person approved, perhaps edited
"""
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid


class Refused(Exception):
    """The call must not be started: rejected, done before, started by another program, or in doubt."""

    def __init__(self, call):
        self.call = call
        super().__init__(f"The call is {call['status']}. See {call['url']}")


class Failed(Exception):
    """The server refused the request."""

    def __init__(self, problem):
        self.problem = problem
        super().__init__(problem.get("detail", "The server refused the request."))


class Gate:
    def __init__(self, url, token):
        self.base = url.rstrip("/") + "/api/v1/gate"
        self.token = token

    def start(self, tool, input, key, lease=600, **about):
        """Asks, waits for the decision, and gets the start. Raises Refused if the call must not be started."""
        call = self.send("POST", "", {"tool": tool, "input": input, "key": key, "wait": 50, **about})
        print(f"{tool} is {call['status']}: {call['url']}", flush=True)
        while call["status"] == "pending":
            call = self.send("GET", f"/{call['runId']}?wait=50")
        if call["status"] != "approved":
            raise Refused(call)
        return Started(self, call["runId"], lease)

    def send(self, method, path, body=None):
        """Sends a request until it is answered. Every request of the gate may be repeated."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        for pause in (1, 2, 4, 8, 16, None):
            try:
                request = urllib.request.Request(self.base + path, data, headers, method=method)
                with urllib.request.urlopen(request, timeout=90) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                if error.code < 500 and error.code != 429 or pause is None:
                    raise Failed(json.loads(error.read() or b"{}")) from None
            except OSError:
                if pause is None:
                    raise
            time.sleep(pause)


class Started:
    """A start that was granted to this program. Leaving the `with` block reports what happened."""

    def __init__(self, gate, run_id, lease):
        self.gate, self.run_id, self.lease = gate, run_id, lease
        # The same token gets the same answer again, so a lost answer can be asked for again.
        self.token = str(uuid.uuid4())
        self.output = None

    def __enter__(self):
        try:
            body = {"token": self.token, "lease": self.lease}
            self.input = self.gate.send("POST", f"/{self.run_id}/started", body)["input"]
        except Failed as failed:
            if "gate" in failed.problem:
                raise Refused(failed.problem["gate"]) from None
            raise
        return self

    def __exit__(self, kind, error, trace):
        report = {"output": self.output} if error is None else {"error": f"{kind.__name__}: {error}"}
        self.gate.send("POST", f"/{self.run_id}/result", {"token": self.token, **report})
