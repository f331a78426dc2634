# rye:signed:2026-11-20T00:00:00Z:284db3e790b1a60b99513188e073455ca94c32c886f2279c14934d851d3d7b83:509oFcF2Je6rNzyN36Pluq+ZfM3hIDFsnieto0lLXmfpvjrwC+Z2USuVGK1En/vy3bZvrYEwabFF4kOR4BppDQ:a1ae3899d5f9ee5766f556e5033d2ceedd334eb3e192c9506528618b728f96a4
"""Calls rye from a tool whose item has sandbox: {broker: true} and calls: [...].

    import rye
    text = rye.execute("rye/file-system/read", file_path="README.md")["content"]
    hits = rye.search("open an issue", scope="tool")["results"]
    page = rye.load("knowledge:acme/api")["content"]

Each function returns the data of the result, or raises rye.Error. Threads may call at
the same time. A call has the permissions of the tool's caller and what the item lists
in calls, whichever is less.
"""

import json
import os
import socket
import threading

REVISION = "2026-07-28"


class Error(Exception):
    """A call that failed, with its code, message and details."""

    def __init__(self, code, message, details=None):
        super().__init__(code + ": " + message)
        self.code = code
        self.message = message
        self.details = details or {}


class _Connection:
    """The connection to rye: one line of JSON for each message."""

    def __init__(self, fd):
        self.socket = socket.socket(fileno=os.dup(fd))
        self.input = self.socket.makefile("rb")
        self.state = threading.Condition()
        self.writing = threading.Lock()
        self.last = 0
        self.answers = {}
        self.reading = False

    def ask(self, method, params):
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "rye.py", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        with self.state:
            self.last += 1
            number = self.last
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            with self.writing:
                self.socket.sendall(line)
        except OSError as e:
            raise Error("CANCELLED", "rye has closed the connection") from e
        return self.answer(number)

    def answer(self, number):
        """Return the answer with a number. One thread reads for all that wait."""
        while True:
            with self.state:
                while number not in self.answers and self.reading:
                    self.state.wait()
                if number in self.answers:
                    return self.answers.pop(number)
                self.reading = True
            message = None
            try:
                line = self.input.readline()
                message = json.loads(line) if line.endswith(b"\n") else None
            except OSError:
                pass  # the same as the end of the input
            finally:
                with self.state:
                    self.reading = False
                    if message is not None and "id" in message:
                        self.answers[message["id"]] = message
                    self.state.notify_all()
            if message is not None and message.get("id") is None and "error" in message:
                raise Error("USAGE", message["error"].get("message", ""))
            if message is None:
                raise Error("CANCELLED", "rye has closed the connection")


_connection = None
_opening = threading.Lock()


def _connected():
    global _connection
    with _opening:
        if _connection is None:
            fd = os.environ.get("RYE_BROKER_FD")
            if fd is None:
                raise Error("PERMISSION_DENIED", "this tool has no broker: its item needs sandbox: {broker: true} and calls: [...]")
            _connection = _Connection(int(fd))
        return _connection


def call(verb, arguments):
    """Call a verb with arguments as rye serve lists them."""
    message = _connected().ask("tools/call", {"name": verb, "arguments": arguments})
    if "error" in message:
        raise Error("USAGE", message["error"].get("message", ""), message["error"].get("data"))
    reply = json.loads(message["result"]["content"][0]["text"])
    if not reply.get("success"):
        error = reply.get("error") or {}
        raise Error(error.get("code", "INTERNAL"), error.get("message", ""), error.get("details"))
    return reply.get("data")


def _item(item, kind):
    if ":" in item:
        kind, item = item.split(":", 1)
    return {"item_type": kind, "item_id": item}


def execute(item, /, **parameters):
    """Execute an item: "acme/tool", or "directive:acme/task"."""
    return call("execute", dict(_item(item, "tool"), parameters=parameters))


def search(query, /, **options):
    """Search items; options are those of the verb, such as scope and limit."""
    return call("search", dict(options, query=query))


def load(item, /, **options):
    """Load an item for reading."""
    return call("load", dict(options, **_item(item, "tool")))


def sign(item, /, **options):
    """Sign a draft with the agent's key."""
    return call("sign", dict(options, **_item(item, "tool")))
