import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step cancel_checker in Python."

p = json.load(sys.stdin)
action, reason, messages, events = "continue", "", 0, []


def text(payload):
    if isinstance(payload, str):
        return payload
    for key in ("message", "reason", "text"):
        if isinstance(payload, dict) and isinstance(payload.get(key), str):
            return payload[key]
    return ""


for row in (p["params"] or {}).get("inbox") or []:
    kind, payload = row["kind"], row.get("payload")
    events.append({"event": "inbox", "data": {"kind": kind, "by": row.get("by", ""), "payload": payload}})
    if kind == "message":
        messages += 1
        blocks = [{"type": "text", "text": text(payload)}]
        events.append({"event": "message_added", "data": {"role": "user", "source": "person", "blocks": blocks}})
    elif kind == "cancel" and action != "cancel" or kind == "suspend" and action == "continue":
        action, reason = kind, text(payload)
print(json.dumps({"success": True, "data": {"action": action, "reason": reason, "messages": messages}, "events": events}))
