import json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step watchdog in Python."
PERSISTENT = "lines"
#include text


def resolved(content, blocks):
    if len(blocks) == 1 and blocks[0].get("text", "").startswith("{\"same_as\":"):
        return content.get(json.loads(blocks[0]["text"])["same_as"], blocks)
    return blocks


def code(blocks):
    """The error code in the result of a failed call, or an empty text."""
    s = blocks[0].get("text", "") if blocks and blocks[0]["type"] == "text" else ""
    try:
        return json.loads(s)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        m = re.match(r"([A-Z][A-Z_]*): ", s)
        return m[1] if m else ""


def answers_of(lines):
    """The answers, the newest first, each with the results of its calls. Equal calls of one
    answer are one, because the model has not read a result between them."""
    calls = {l["data"]["call_id"]: l["data"] for l in lines if l["event"] == "tool_call"}
    content = {l["data"]["call_id"]: l["data"].get("content") for l in lines if l["event"] == "tool_result"}
    answers, answer = [], []
    for at, l in reversed(list(enumerate(lines))):
        d = l["data"]
        if l["event"] == "tool_result" and not d.get("by"):
            blocks = d.get("content") or []
            call = [d["ref"], calls.get(d["call_id"], {}).get("input")]
            r = {"at": at, "id": d["call_id"], "ref": d["ref"], "call": json.dumps(call, sort_keys=True), "failed": d["is_error"], "code": code(blocks)}
            r["made"] = json.dumps(call + [d.get("fingerprint") or resolved(content, blocks)], sort_keys=True)
            answer.append(r)
        elif l["event"] == "model_response":
            ids = {b["id"] for b in d.get("blocks") or [] if b.get("type") == "tool_call"}
            mine = [r for r in answer if r["id"] in ids]
            if mine:
                answers.append([r for i, r in enumerate(mine) if r["made"] not in [x["made"] for x in mine[:i]]])
                answer = []
    return answers + [[r] for r in answer]


def in_a_row(answers, key):
    newest = {r[key] for r in answers[0]}
    n = 0
    while n < len(answers) and {r[key] for r in answers[n]} == newest:
        n += 1
    return n


def failures(answers):
    out = []
    for r in (r for a in answers for r in a):
        if r["ref"] != answers[0][0]["ref"] or not r["failed"]:
            break
        out.append(r)
    return out


def event(kind, count):
    return {"event": "watchdog", "data": {"kind": kind, "count": count, "fingerprint": "sha256:" + "0" * 64}}


def end(kind, count, most):
    stop = {"code": "LIMIT_EXCEEDED", "limit": kind, "value": count, "max": most}
    events = [event(kind, count), {"event": "limit_reached", "data": {k: stop[k] for k in ("limit", "value", "max")}}]
    return {"stop": stop, "hints": 0}, events


def step(p):
    cfg, lines = p["config"]["agent/resilience"].get("watchdog", {}), conversation(p)
    answers = answers_of(lines)
    if not answers:
        return {"stop": None, "hints": 0}, []
    polls = all(r["id"] in ((p.get("params") or {}).get("polls") or []) for r in answers[0])
    same, equal, failed = in_a_row(answers, "made"), in_a_row(answers, "call"), failures(answers)
    tool = ", ".join(sorted({r["ref"].removeprefix("tool:") for r in answers[0]}))

    def least(name, count):
        return 0 < cfg.get(name, 0) <= count

    def hint(kind, count, oldest, name, **more):
        if any(l["event"] == "watchdog" and l["data"]["kind"] == kind for l in lines[oldest["at"] :]):
            return {"stop": None, "hints": 0}, []
        said = text(p, name, count=count, **({"tool": tool} | more))
        return {"stop": None, "hints": 1}, [event(kind, count), added("watchdog", said)]

    if not polls and least("repeat_stop", same):
        return end("repeated_calls", same, cfg["repeat_stop"])
    if not polls and least("equal_calls_stop", equal):
        return end("equal_calls", equal, cfg["equal_calls_stop"])
    if least("repeat_hint", same):
        return hint("repeated_calls", same, answers[same - 1][-1], "repeated")
    if not polls and least("equal_calls_hint", equal):
        return hint("equal_calls", equal, answers[equal - 1][-1], "equal")
    if least("failure_hint", len(failed)):
        codes = ", ".join(dict.fromkeys(r["code"] for r in failed if r["code"])) or "-"
        return hint("repeated_failures", len(failed), failed[-1], "failures", tool=failed[0]["ref"].removeprefix("tool:"), codes=codes)
    return {"stop": None, "hints": 0}, []


#include lines
