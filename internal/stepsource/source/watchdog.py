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


# The answers, the newest first, each with the results of its calls; equal calls of one
# answer are one, because the model has not read a result between them.
answers, answer = [], []
for at, l in reversed(list(enumerate(lines))):
    d = l["data"]
    if l["event"] == "tool_result" and not d.get("by"):
        call = [d["ref"], calls[d["call_id"]]["input"]]
        r = {"at": at, "id": d["call_id"], "ref": d["ref"], "call": json.dumps(call, sort_keys=True), "failed": d["is_error"], "code": code(d["content"])}
        r["made"] = json.dumps(call + [d.get("fingerprint") or resolved(d["content"])], sort_keys=True)
        answer.append(r)
    elif l["event"] == "model_response":
        ids = {b["id"] for b in d.get("blocks") or [] if b.get("type") == "tool_call"}
        mine = [r for r in answer if r["id"] in ids]
        if mine:
            once = [r for i, r in enumerate(mine) if r["made"] not in [x["made"] for x in mine[:i]]]
            answers.append(once)
            answer = []
answers += [[r] for r in answer]


def in_a_row(key):
    newest = {r[key] for r in answers[0]}
    n = 0
    while n < len(answers) and {r[key] for r in answers[n]} == newest:
        n += 1
    return n


def hinted(kind, oldest):
    return any(l["event"] == "watchdog" and l["data"]["kind"] == kind for l in lines[oldest["at"]:])


def event(kind, count):
    return {"event": "watchdog", "data": {"kind": kind, "count": count, "fingerprint": "sha256:" + "0" * 64}}


def hint(kind, count, text):
    blocks = [{"type": "text", "text": text}]
    return [event(kind, count), {"event": "message_added", "data": {"role": "user", "source": "watchdog", "blocks": blocks}}]


def end(kind, count, most):
    stop = {"code": "LIMIT_EXCEEDED", "limit": kind, "value": count, "max": most}
    return stop, [event(kind, count), {"event": "limit_reached", "data": {k: stop[k] for k in ("limit", "value", "max")}}]


stop, events, hints = None, [], 0
if answers:
    tool = ", ".join(sorted({r["ref"].removeprefix("tool:") for r in answers[0]}))
    same, equal = in_a_row("made"), in_a_row("call")
    polls = all(r["id"] in (p["params"] or {}).get("polls", []) for r in answers[0])
    failed = []
    for r in (r for a in answers for r in a):
        if r["ref"] != answers[0][0]["ref"] or not r["failed"]:
            break
        failed.append(r)
    if same >= 5 and not polls:
        stop, events = end("repeated_calls", same, 5)
    elif equal >= 20 and not polls:
        stop, events = end("equal_calls", equal, 20)
    elif same >= 3:
        if not hinted("repeated_calls", answers[same - 1][-1]):
            hints, events = 1, hint("repeated_calls", same, f"The last {same} calls of {tool} had the same arguments and the same result. Another one will not change it: use what is known, or do something else.")
    elif equal >= 10 and not polls:
        if not hinted("equal_calls", answers[equal - 1][-1]):
            hints, events = 1, hint("equal_calls", equal, f"The last {equal} calls of {tool} had the same arguments. If the results do not lead on, do something else; to wait, do other work first.")
    elif len(failed) >= 3 and not hinted("repeated_failures", failed[-1]):
        tool, codes = failed[0]["ref"].removeprefix("tool:"), ", ".join(dict.fromkeys(r["code"] for r in failed if r["code"])) or "-"
        hints, events = 1, hint("repeated_failures", len(failed), f"The last {len(failed)} calls of {tool} failed ({codes}). Read the errors before the next call, change the arguments, or do it in another way.")
print(json.dumps({"success": True, "data": {"stop": stop, "hints": hints}, "events": events}))
