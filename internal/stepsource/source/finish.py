import json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step finish in Python."
PERSISTENT = "lines"
#include text


def said(answers):
    parts = []
    for i, a in enumerate(answers):
        if i > 0 and a["stop"] != "max_output":
            break
        parts.insert(0, "".join(b["text"] for b in a["blocks"] if b["type"] == "text"))
    return "".join(parts)


def ending(state, **more):
    data = {"done": True, "state": state} | more
    return {k: v for k, v in data.items() if v}


def step(p):
    params, lines = p.get("params") or {}, conversation(p)
    again = p["config"]["agent/resilience"].get("ask_again", 0)
    answers, nudges, lengths, empties = [], 0, 0, 0
    for l in reversed(lines):
        d = l["data"]
        if l["event"] == "model_response":
            answers.append(d)
            if any(b["type"] == "tool_call" for b in d["blocks"]):
                break
        elif l["event"] == "message_added":
            nudges += d["source"] == "nudge"
            empties += d["source"] == "empty"
            lengths += d["source"] == "max_output" and nudges == 0 and empties == 0
        elif l["event"] in ("tool_call", "thread_continued"):
            break
    if params.get("state") == "continued" and not any(l["event"] == "model_response" for l in lines):
        return ending("error", error=params.get("error")), []
    if params.get("state") == "suspended":
        return ending("suspended", reason=params.get("reason"), text=said(answers)), []
    if params.get("returned") is not None:
        outputs = params["returned"]
        return ending("completed", outputs=outputs, text=said(answers)), [{"event": "directive_return", "data": {"outputs": outputs}}]
    if params.get("error") and not params.get("state"):
        return ending("error", error=params["error"], text=said(answers)), []
    if params.get("state"):
        return ending(params["state"], reason=params.get("reason"), error=params.get("error"), text=said(answers)), []
    if not answers or any(b["type"] == "tool_call" for b in answers[0]["blocks"]) or answers[0]["stop"] == "pause":
        return {"done": False}, []
    if answers[0]["stop"] == "refusal":
        return ending("error", error={"code": "MODEL_REFUSED", "message": "the model refused to answer"}, text=said(answers)), []
    if answers[0]["stop"] == "max_output" and lengths < again:
        return {"done": False}, [added("max_output", text(p, "continue"))]
    if answers[0]["stop"] == "max_output" and not params.get("declared"):
        message = "the answer reached its maximum length, and so did each continuation"
        return ending("error", error={"code": "ANSWER_CUT", "message": message}, text=said(answers)), []
    if answers[0]["stop"] == "end" and not said(answers).strip():
        if empties == 0:
            return {"done": False}, [added("empty", text(p, "empty"))]
        return ending("error", error={"code": "ANSWER_EMPTY", "message": "the model answered twice with nothing"}), []
    if not params.get("declared"):
        return ending("completed", text=said(answers)), []
    marks = ["<tool_call>", "<function=", "[TOOL_CALLS]", "<|tool_call", "<｜tool▁call", "<|python_tag|>"]
    if nudges < again and any(mark in "".join(b["text"] for b in answers[0]["blocks"] if b["type"] == "text") for mark in marks):
        return {"done": False}, [added("nudge", text(p, "call_as_text"))]
    if nudges < again:
        return {"done": False}, [added("nudge", text(p, "nudge"))]
    message = "the model ended without directive_return, which the outputs of the directive need"
    return ending("error", error={"code": "VALIDATION_FAILED", "message": message}, text=said(answers)), []


#include lines
