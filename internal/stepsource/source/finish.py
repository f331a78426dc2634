import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step finish in Python."

p = json.load(sys.stdin)
params = p["params"] or {}
lines = [json.loads(line) for line in open(p["conversation_file"])]
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


def text():
    parts = []
    for i, a in enumerate(answers):
        if i > 0 and a["stop"] != "max_output":
            break
        parts.insert(0, "".join(b["text"] for b in a["blocks"] if b["type"] == "text"))
    return "".join(parts)


def ending(state, **more):
    data = {"done": True, "state": state} | more
    return {k: v for k, v in data.items() if v}


def added(source, text):
    return [{"event": "message_added", "data": {"role": "user", "source": source, "blocks": [{"type": "text", "text": text}]}}]


def decide():
    if params.get("state") == "continued" and not any(l["event"] == "model_response" for l in lines):
        return ending("error", error=params.get("error")), []
    if params.get("state") == "suspended":
        return ending("suspended", reason=params.get("reason"), text=text()), []
    if params.get("returned") is not None:
        outputs = params["returned"]
        return ending("completed", outputs=outputs, text=text()), [{"event": "directive_return", "data": {"outputs": outputs}}]
    if params.get("error") and not params.get("state"):
        return ending("error", error=params["error"], text=text()), []
    if params.get("state"):
        return ending(params["state"], reason=params.get("reason"), error=params.get("error"), text=text()), []
    if not answers or any(b["type"] == "tool_call" for b in answers[0]["blocks"]) or answers[0]["stop"] == "pause":
        return {"done": False}, []
    if answers[0]["stop"] == "refusal":
        return ending("error", error={"code": "MODEL_REFUSED", "message": "the model refused to answer"}, text=text()), []
    if answers[0]["stop"] == "max_output" and lengths < 2:
        return {"done": False}, added("max_output", "Continue.")
    if answers[0]["stop"] == "max_output" and not params.get("declared"):
        message = "the answer reached its maximum length, and so did each continuation"
        return ending("error", error={"code": "ANSWER_CUT", "message": message}, text=text()), []
    if answers[0]["stop"] == "end" and not text().strip():
        if empties == 0:
            return {"done": False}, added("empty", "The answer was empty. Continue with the steps, or write the answer.")
        return ending("error", error={"code": "ANSWER_EMPTY", "message": "the model answered twice with nothing"}), []
    if not params.get("declared"):
        return ending("completed", text=text()), []
    marks = ["<tool_call>", "<function=", "[TOOL_CALLS]", "<|tool_call", "<｜tool▁call", "<|python_tag|>"]
    if nudges < 2 and any(mark in "".join(b["text"] for b in answers[0]["blocks"] if b["type"] == "text") for mark in marks):
        return {"done": False}, added("nudge", "A call in the text of an answer is not made, and its tool or its arguments could not be read. "
            "Call the tool itself, with a name from the list of tools and its arguments as JSON.")
    if nudges < 2:
        return {"done": False}, added("nudge", "Call directive_return with the results, or continue with the steps.")
    message = "the model ended without directive_return, which the outputs of the directive need"
    return ending("error", error={"code": "VALIDATION_FAILED", "message": message}, text=text()), []


data, events = decide()
print(json.dumps({"success": True, "data": data, "events": events}))
