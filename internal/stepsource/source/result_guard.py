import base64, hashlib, json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step result_guard in Python."
PERSISTENT = "lines"
#include text
#include artifact

NOTE = 400  # bytes for the notes about what is missing
MOST = 2**31 - 1


def tokens(n):
    return (n + 3) // 4


def length(content):
    return sum(size(b.get("text", "")) + len(base64.b64decode(b.get("data", ""))) for b in content)


def budget(p, own, page):
    results, usage = p["config"]["agent/resilience"].get("results", {}), p["usage"]
    most = results.get("read_max_tokens" if page else "max_tokens", MOST)
    if own > 0:
        most = min(own, results.get("item_max_tokens", MOST))
    ratio = usage["context_tokens"] / usage["window"] if usage["window"] > 0 else 0
    if ratio > results.get("halve_above_ratio", 1) and (own == 0 or page):
        most //= 2
    if usage["window"] > 0:
        most = min(most, int(results.get("window_ratio", 1) * usage["window"]))
    return max(most, 100)


class Sent:
    """The long results that the model has: content -> the call."""

    def __init__(self, p):
        self.least = p["config"]["agent/resilience"].get("results", {}).get("same_as_tokens", MOST)
        self.calls = {}
        for line in conversation(p):
            d = line["data"]
            if line["event"] == "tool_result":
                self.remember(d["call_id"], d.get("content") or [])
            elif line["event"] == "context_compacted":
                if d.get("step") == "summary":
                    self.calls = {}
                gone = [r["call_id"] for r in d.get("results") or []]
                self.calls = {k: v for k, v in self.calls.items() if v not in gone}

    def key(self, content):
        if tokens(length(content)) <= self.least:
            return None
        return json.dumps(content, sort_keys=True)

    def remember(self, call, content):
        if self.key(content):
            self.calls.setdefault(self.key(content), call)


def readable(p, content):
    """The blocks that the model reads, with a note in place of each other one."""
    out = []
    for b in content:
        media = b.get("media_type", "")
        kind = "pdf" if media == "application/pdf" else b["type"]
        if b["type"] == "text" or kind in (p["params"].get("accepts") or []) or b["type"] == "file" and kind != "pdf" and media.startswith("text/"):
            out.append(b)
            continue
        name = (b.get("name", "") + (" " + b["artifact"] if b.get("artifact") else "")).strip()
        note = text(p, "omitted_block", type=media, name=name)
        if not name:
            note = note.replace(media + " :", media + ":", 1)
        if out and out[-1]["type"] == "text":
            out[-1] = {"type": "text", "text": out[-1]["text"] + "\n" + note}
        else:
            out.append({"type": "text", "text": note})
    return out


def first(s, left):
    """The lines at the start that fit, and their number; of a longer first line its start."""
    out = []
    for line in lines_of(s):
        if size(line) > left:
            break
        left -= size(line)
        out.append(line)
    if out:
        return "".join(out), len(out)
    n = 0
    while n < len(s) and size(s[n]) <= left:
        left -= size(s[n])
        n += 1
    return s[:n], 0


def last(s, left):
    """The lines at the end that fit."""
    every, out = lines_of(s), []
    whole = left
    for line in reversed(every):
        if size(line) > left:
            break
        left -= size(line)
        out.insert(0, line)
    if out or len(every) > 1:
        return "".join(out)
    n = 0
    while n < len(s) and size(s[-n - 1]) <= whole:
        whole -= size(s[-n - 1])
        n += 1
    return s[len(s) - n :]


def cut(p, out, most):
    """The first and the last lines. The lines between them are those that the call in the note reads."""
    whole = "\n".join(b["text"] for b in out["content"] if b["type"] == "text")
    others = [b for b in out["content"] if b["type"] != "text"]
    left = max(most - NOTE, most // 2)
    body, ext = artifact_text(whole, min(WIDTH, max(left // 8, 1)))
    head, lines = first(body, left * 2 // 3)
    tail = last(body[len(head) :], left - size(head))
    total = len(lines_of(body))
    missing = total - lines - len(lines_of(tail))
    if missing <= 0:
        out["content"] = [{"type": "text", "text": body}] + others
        return None
    name = artifact_id(body)
    call = "rye_artifact " + json.dumps({"id": name, "limit": missing, "offset": lines}, separators=(",", ":"))
    note = text(p, "cut_result", lines=missing, first=lines + 1, last=lines + missing, total=total, call=call)
    if call not in note:
        note += "\n" + call
    if head and not head.endswith("\n"):
        head += "\n"
    out["content"] = [{"type": "text", "text": (head + note + "\n" + tail).rstrip("\n")}] + others
    out["cut"], out["artifact"] = True, name
    return {"id": name, "ext": ext, "text": body, "call_id": out["call_id"]}


def guarded(p, sent, r):
    content = r.get("content") or []
    out = {"call_id": r["call_id"], "ref": r.get("ref", ""), "is_error": r["is_error"], "bytes": length(content), "cut": False}
    out["content"] = readable(p, content)
    if not out["ref"]:
        del out["ref"]
    most, stored = budget(p, r.get("result_tokens") or 0, r.get("page")), None
    if not r.get("page") and tokens(sum(size(b.get("text", "")) for b in out["content"])) > most:
        stored = cut(p, out, most * 4)
    same = sent.calls.get(sent.key(out["content"]))
    if same and same != r["call_id"]:
        out["same_as"] = same
        out["content"] = [{"type": "text", "text": json.dumps({"same_as": same}, separators=(",", ":"), ensure_ascii=False)}]
        return out, None
    sent.remember(r["call_id"], out["content"])
    return out, stored


def step(p):
    text(p, "cut_result"), text(p, "omitted_block")
    sent, results, artifacts = Sent(p), [], []
    for r in p["params"].get("results") or []:
        out, stored = guarded(p, sent, r)
        results.append(out)
        if stored:
            artifacts.append(stored)
    return {"results": results, "artifacts": artifacts}, []


#include lines
