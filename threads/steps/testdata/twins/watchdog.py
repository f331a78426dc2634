import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step watchdog in Python."

p = json.load(sys.stdin)
lines = [json.loads(line) for line in open(p["conversation_file"])]
calls = {l["data"]["call_id"]: l["data"] for l in lines if l["event"] == "tool_call"}
content = {l["data"]["call_id"]: l["data"].get("content") for l in lines if l["event"] == "tool_result"}


def resolved(blocks):
    if len(blocks) == 1 and blocks[0].get("text", "").startswith("{\"same_as\":"):
        return content.get(json.loads(blocks[0]["text"])["same_as"], blocks)
    return blocks


def code(blocks):
    try:
        return json.loads(blocks[0]["text"])["error"]["code"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


last = []
for at, l in reversed(list(enumerate(lines))):
    if l["event"] == "tool_result":
        d = l["data"]
        made = json.dumps([d["ref"], calls[d["call_id"]]["input"], resolved(d["content"])], sort_keys=True)
        last.append((at, d["ref"], made, d["is_error"], code(d["content"])))


def leading(same):
    n = 0
    while n < len(last) and same(last[n]):
        n += 1
    return n


def hinted(kind, count):
    return any(l["event"] == "watchdog" and l["data"]["kind"] == kind for l in lines[last[count - 1][0]:])


def event(kind, count):
    return {"event": "watchdog", "data": {"kind": kind, "count": count, "fingerprint": "sha256:" + "0" * 64}}


def hint(kind, count, text):
    blocks = [{"type": "text", "text": text}]
    return [event(kind, count), {"event": "message_added", "data": {"role": "user", "source": "watchdog", "blocks": blocks}}]


stop, events, hints = None, [], 0
if last:
    tool = last[0][1].removeprefix("tool:")
    same = leading(lambda r: r[1:3] == last[0][1:3])
    failed = leading(lambda r: r[1] == last[0][1] and r[3])
    if same >= 5:
        stop = {"code": "LIMIT_EXCEEDED", "limit": "repeated_calls", "value": same, "max": 5}
        events = [event("repeated_calls", same), {"event": "limit_reached", "data": {k: stop[k] for k in ("limit", "value", "max")}}]
    elif same >= 3:
        if not hinted("repeated_calls", same):
            hints, events = 1, hint("repeated_calls", same, f"The last {same} calls of {tool} had the same arguments and the same result. Another one will not change it: use what is known, or do something else.")
    elif failed >= 3 and not hinted("repeated_failures", failed):
        codes = ", ".join(dict.fromkeys(r[4] for r in last[:failed] if r[4])) or "-"
        hints, events = 1, hint("repeated_failures", failed, f"The last {failed} calls of {tool} failed ({codes}). Read the errors before the next call, change the arguments, or do it in another way.")
print(json.dumps({"success": True, "data": {"stop": stop, "hints": hints}, "events": events}))
