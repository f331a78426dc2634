import json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step cancel_checker in Python."
PERSISTENT = "lines"
#include text


def said(payload):
    if isinstance(payload, str):
        return payload
    for key in ("message", "reason", "text"):
        if isinstance(payload, dict) and isinstance(payload.get(key), str):
            return payload[key]
    return ""


def event_text(row):
    payload = row.get("payload") or {}
    head = "Event %s of %s" % (payload.get("event", ""), row.get("by", ""))
    if payload.get("payload") is None:
        return head
    return head + ": " + json.dumps(payload["payload"], separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def step(p):
    action, reason, messages, events = "continue", "", 0, []
    rank = {"continue": 0, "handoff": 1, "suspend": 2, "cancel": 3}
    for row in (p["params"] or {}).get("inbox") or []:
        kind, payload, by = row["kind"], row.get("payload"), row.get("by", "")
        taken = {"kind": kind, "by": by, "payload": payload}
        if row.get("id"):
            taken["id"] = row["id"]
        events.append({"event": "inbox", "data": taken})
        added = None
        if kind == "message":
            added = ("person", said(payload))
        elif kind == "event":
            added = (by, event_text(row))
        elif rank.get(kind, 0) > rank[action]:
            action, reason = kind, said(payload)
        if kind == "handoff" and said(payload):
            added = (by, said(payload))
        if added:
            messages += 1
            blocks = [{"type": "text", "text": added[1]}]
            events.append({"event": "message_added", "data": {"role": "user", "source": added[0], "blocks": blocks}})
    return {"action": action, "reason": reason, "messages": messages}, events


#include lines
