# The scripted model of make.sh: a service of the form of OpenAI chat on loopback. It writes its address to the file of
# its argument. What it answers depends on the directive that it reads, and on the results that the request has.
import http.server, json, sys, time


odd = {
    "surrogate": r'{"file_path": "\ud800"}',
    "twice": '{"file_path": "issue.md", "file_path": "x"}',
    "number": '{"file_path": "issue.md", "offset": 1e999}',
}


def called(name, arguments, raw=None):
    call = {"index": 0, "id": "call-1", "type": "function", "function": {"name": name, "arguments": raw or json.dumps(arguments)}}
    return {"tool_calls": [call]}, "tool_calls"


failed = []


def answer(request):
    text = "\n".join(m["content"] for m in request["messages"] if isinstance(m.get("content"), str))
    results = [m for m in request["messages"] if m["role"] == "tool"]
    tools = {t["function"]["name"] for t in request.get("tools", [])}
    if "Write only the summary" in text:
        return {"content": "The issue was read."}, "stop"
    if "Wait without an end." in text and results:
        time.sleep(600)
    if "Fail once" in text and results and not failed:
        failed.append(True)
        return None
    if "Remove the build." in text and not results:
        return called("rye__bash__bash", {"command": "rm -r build"})
    if "Start a triage." in text and not results:
        return called("rye__agent__threads__thread_directive", {"directive_id": "demo/triage", "inputs": {"file": "issue.md"}})
    for kind in odd:
        if f"Send a {kind}." in text and not results:
            return called("rye__file-system__read", None, odd[kind])
    if not results and "rye__file-system__read" in tools:
        return called("rye__file-system__read", {"file_path": "issue.md"})
    return called("directive_return", {"label": "bug"})


class Service(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        chosen = answer(request)
        if not chosen:
            self.send_error(400)
            return
        delta, finish = chosen
        text = json.dumps(request)
        tokens = 9223372036854775807 if "Send a counts." in text and '"role": "tool"' not in text else 100
        usage = {"prompt_tokens": tokens, "completion_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for choice in {"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": finish}:
            event = {"id": "x", "model": "scripted-1", "choices": [choice | {"index": 0}]}
            if choice["finish_reason"]:
                event["usage"] = usage
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
server.daemon_threads = True
with open(sys.argv[1], "w") as out:
    out.write(f"http://127.0.0.1:{server.server_port}\n")
server.serve_forever()
