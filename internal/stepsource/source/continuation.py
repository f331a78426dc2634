import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step continuation in Python."

p = json.load(sys.stdin)
usage = p["usage"]
lines = [json.loads(line) for line in open(p["conversation_file"])]
tokens, window = usage["context_tokens"], usage["window"]
ratio = round(tokens / window, 3) if window else 0
limit, pressure = bool(window) and ratio >= 0.9, bool(window) and ratio >= 0.8
figures = {"ratio": ratio, "tokens": tokens, "window": window}
events = []
if limit:
    events.append({"event": "context_limit", "data": figures})
elif pressure and [l["event"] for l in lines if l["event"] in ("context_pressure", "context_compacted")][-1:] != ["context_pressure"]:
    events.append({"event": "context_pressure", "data": figures})
data = figures | {"pressure": pressure, "limit": limit, "code": "CONTEXT_FULL" if limit else "", "event": events[0]["event"] if events else ""}
print(json.dumps({"success": True, "data": data, "events": events}))
