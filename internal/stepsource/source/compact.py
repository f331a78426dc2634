import hashlib, json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step compact in Python."
PERSISTENT = "lines"
#include text
#include artifact

REFERENCE = 80  # tokens of a reference


def scaled(v, least, refused):
    """The view with parts that have the tokens which the service counts."""
    turns = []
    for t in v.get("turns") or []:
        results = [dict(r, short=r["short"] or r["tokens"] < max(least, REFERENCE + 1)) for r in t.get("results") or []]
        turns.append(dict(t, results=results))
    v = dict(v, turns=turns)
    if refused:
        v["tokens"] = max(v["tokens"], v["window"])
    total = v["head"] + v["summary"] + sum(t["tokens"] for t in turns)
    if total > 0 and v["tokens"] > total:

        def scale(n):
            return int(float(n) * float(v["tokens"]) / float(total))

        v["head"], v["summary"] = scale(v["head"]), scale(v["summary"])
        for t in turns:
            t["tokens"] = scale(t["tokens"])
            for r in t["results"]:
                r["tokens"] = scale(r["tokens"])
    else:
        v["tokens"] = max(v["tokens"], total)
    if v["window"] <= 0:
        v["window"] = v["tokens"]
    return v


def tail_of(turns, most):
    """The index of the oldest turn that stays."""
    at = len(turns) - 1
    left = most - turns[at]["tokens"]
    while at > 0 and turns[at - 1]["turn"] > 0 and turns[at - 1]["tokens"] <= left:
        at -= 1
        left -= turns[at]["tokens"]
    return at


def longer(turns):
    return [r for t in turns for r in t["results"] if not r["short"]]


def largest(turns, needed):
    out = []
    for r in sorted(longer(turns), key=lambda r: -r["tokens"]):
        if needed <= 0:
            break
        out.append(r["call_id"])
        needed -= r["tokens"] - REFERENCE
    return out


def decide(p):
    cfg = p["config"]["agent/coordination"]
    cont, comp = cfg.get("continuation", {}), cfg.get("compaction", {})
    refused = p["params"].get("refused", False)
    v = scaled(p["params"]["view"], comp.get("reference_tokens", 200), refused)
    turns, window = v["turns"], v["window"]
    if not turns or turns[-1]["turn"] == 0:
        return "continue", [], 0
    share = int(comp.get("tail_ratio", 0.25) * float(window))
    bound = min(comp.get("tail_tokens", 16000), share)
    tail = tail_of(turns, bound)
    most = min(bound, v["tokens"])
    while refused and tail == 0 and len(turns) > 1 and most > 0:
        most //= 2
        tail = tail_of(turns, most)
    goal, most = int(comp.get("target_ratio", 0.5) * float(window)), int(cont.get("trigger_threshold", 1) * float(window))
    older = longer(turns[:tail])
    freed = sum(r["tokens"] - REFERENCE for r in older)
    if freed > 0 and v["tokens"] - freed <= goal:
        return "references", [r["call_id"] for r in older], 0
    summary, gain = min(comp.get("summary_tokens", 4000), window // 8), 0
    if tail > 0 or v["summary"] > 2 * summary:
        replaced = v["summary"] + sum(t["tokens"] for t in turns[:tail])
        gain = replaced - min(summary, replaced // 2)
    if gain > window // 20 or refused and gain > 0:
        return "summary", largest(turns[tail:], v["tokens"] - gain - most), turns[tail]["turn"]
    calls = largest(turns, max(v["tokens"] - goal, 1))
    frees = sum(r["tokens"] - REFERENCE for t in turns for r in t["results"] if r["call_id"] in calls)
    if not calls or not refused and v["tokens"] - frees > most:
        return "continue", [], 0
    return "references", calls, 0


def same_as(r):
    content = r.get("content") or []
    if len(content) != 1 or not content[0].get("text", "").startswith('{"same_as":'):
        return ""
    try:
        return json.loads(content[0]["text"])["same_as"]
    except (ValueError, KeyError):
        return ""


def orphans(p, calls, keep, every):
    """The calls that stay whose results refer to the result of a turn that is replaced."""
    turns = p["params"]["view"].get("turns") or []
    stays = {r["call_id"]: t["turn"] >= keep for t in turns for r in t.get("results") or []}
    out = []
    for t in turns:
        for r in t.get("results") or []:
            kept = every.get(r["call_id"])
            if t["turn"] < keep or not kept or r["short"] or r["call_id"] in calls:
                continue
            if same_as(kept) and not stays.get(same_as(kept)):
                out.append(r["call_id"])
    return out


def reference(p, call, r):
    name, stored = r.get("artifact", ""), None
    content = r.get("content") or []
    if not name:
        body, ext = artifact_text("\n".join(b["text"] for b in content if b["type"] == "text"), WIDTH)
        name = artifact_id(body)
        stored = {"id": name, "ext": ext, "text": body, "call_id": call}
    others = "".join((" " + b["type"] + " " + b.get("name", "")).rstrip(" ") for b in content if b["type"] != "text")
    read = "rye_artifact " + json.dumps({"id": name, "limit": 200, "offset": 0}, separators=(",", ":"))
    note = text(p, "reference_others" if others else "reference", others=others.strip(), call=read)
    return {"call_id": call, "text": note, "artifact": name}, stored


def step(p):
    action, calls, keep = decide(p)
    out = {"action": action, "results": [], "first_turn": keep, "artifacts": []}
    if action in ("none", "continue"):
        return out, []
    every = {l["data"]["call_id"]: l["data"] for l in conversation(p) if l["event"] == "tool_result" and not l["data"].get("by")}
    if action == "summary":
        calls = calls + orphans(p, calls, keep, every)
    for call in calls:
        if call not in every:
            continue
        short, stored = reference(p, call, every.get(same_as(every[call])) or every[call])
        out["results"].append(short)
        if stored and stored["id"] not in [a["id"] for a in out["artifacts"]]:
            out["artifacts"].append(stored)
    return out, []


#include lines
