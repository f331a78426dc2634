import json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step continuation in Python."
PERSISTENT = "lines"
#include text


def step(p):
    usage, cfg = p["usage"], p["config"]["agent/coordination"].get("continuation", {})
    tokens, window = usage["context_tokens"], usage["window"]
    ratio = int(tokens / window * 1000 + 0.5) / 1000 if window > 0 else 0
    limit = window > 0 and ratio >= cfg.get("trigger_threshold", 1)
    pressure = window > 0 and ratio >= cfg.get("pressure_threshold", 1)
    figures, events = {"ratio": ratio, "tokens": tokens, "window": window}, []
    seen = [l["event"] for l in conversation(p) if l["event"] in ("context_pressure", "context_compacted", "thread_continued")]
    if limit:
        events.append({"event": "context_limit", "data": figures})
    elif pressure and seen[-1:] != ["context_pressure"]:
        events.append({"event": "context_pressure", "data": figures})
    more = {"pressure": pressure, "limit": limit, "code": "CONTEXT_FULL" if limit else "", "event": events[0]["event"] if events else ""}
    return figures | more, events


#include lines
