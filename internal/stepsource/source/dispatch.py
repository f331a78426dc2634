import concurrent.futures, json, posixpath, re, sys
import rye
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step dispatch in Python: rye makes the calls."
PERSISTENT = "lines"
SANDBOX = {"broker": True, "net": "none"}
CALLS = ["rye.execute.*", "rye.search.*", "rye.load.*", "rye.sign.*"]  # what a call of the model may do through this program

STEPS = "rye/agent/threads/internal/"


class Refused(Exception):
    """Why the step cannot decide: the thread ends with this text."""


def within(x, y):
    x, y = posixpath.normpath(x).lower(), posixpath.normpath(y).lower()
    return y == "." or x == y or x.startswith(y.rstrip("/") + "/")


def overlap(a, b):
    return any(within(x, y) or within(y, x) for x in a for y in b)


def conflict(a, b):
    """Whether one of two calls writes what the other touches. None conflicts with everything."""
    if a is None or b is None:
        return True
    a, b = [(s.get("read") or [], s.get("write") or []) for s in (a, b)]
    return overlap(a[1], b[1]) or overlap(a[1], b[0]) or overlap(a[0], b[1])


def groups(params):
    """Neighbouring calls that run at the same time."""
    out = []
    for c in params.get("calls") or []:
        touches = {} if params.get("parallel") or c.get("together") or c.get("problem") else c.get("touches")
        if not out or any(conflict(touches, t) for _, t in out[-1]):
            out.append([])
        out[-1].append((c, touches))
    return [[c for c, _ in g] for g in out]


def hooks(event, scope):
    """Runs the hooks of an event. It returns their decision, or None."""
    return rye.execute(STEPS + "run_hooks", event=event, context=scope).get("control")


def answered(r):
    """Records the result of a call that is not made: the model reads it."""
    rye.execute(STEPS + "dispatch", call_id=r["call_id"], content=r["content"], is_error=r["is_error"])
    return r


def left_out(c, by):
    """The result of a call that a hook denied or skipped, and the events about it."""
    r = {"call_id": c["call_id"], "is_error": False}
    if c.get("ref"):
        r["ref"] = c["ref"]
    if by["action"] == "skip":
        r["skipped"] = True
        r["content"] = [{"type": "text", "text": "[not run: the hook " + by["by"] + " left it out]"}]
        return answered(r), []
    reason = by.get("feedback") or "the hook " + by["by"] + " denied the call"
    r |= {"denied": True, "is_error": True, "content": [{"type": "text", "text": "POLICY_DENIED: " + reason}]}
    return answered(r), [{"event": "tool_denied", "data": {"call_id": c["call_id"], "code": "POLICY_DENIED", "message": reason}}]


def made(p, c):
    """Makes one call with its hooks. It returns the result, the decision and the events."""
    facts = {"name": c["name"], "ref": c["ref"], "input": c.get("input"), "tier": c["tier"]}
    by = None if c.get("problem") else hooks("before_tool", {"call": facts})
    if by:
        r, events = left_out(c, by)
        return r, None, events
    if not c.get("problem") and c["name"] == "directive_return":
        by = hooks("directive_return", {"outputs": c.get("input")})
        if by:
            reason = by.get("message") or by.get("feedback") or "the hook " + by["by"] + " refused the outputs"
            return answered({"call_id": c["call_id"], "is_error": True, "content": [{"type": "text", "text": "VALIDATION_FAILED: " + reason}]}), None, []
    r = rye.execute(STEPS + "dispatch", call_id=c["call_id"])  # rye makes this call of the model
    if r.get("waits"):
        return None, {"action": "suspend", "by": "approval"}, []
    if c.get("problem"):
        return r, None, []
    result = {"is_error": r["is_error"], "text": "".join(b.get("text", "") for b in r["content"]), "denied": r.get("denied", False)}
    scope = {"call": facts, "turn": p["turn"], "cost": p["usage"]["spend"], "result": result}
    if r.get("denied"):
        hooks("tool_denied", scope | {"capability": ""})
        return r, None, []
    return r, hooks("after_tool", scope), []


def step(p):
    params = p["params"]
    results, pending, events, control, stopped = [], [], [], None, False
    for group in groups(params):
        if stopped:
            pending += [c["call_id"] for c in group]
            continue
        with concurrent.futures.ThreadPoolExecutor(max(params.get("max_parallel") or 0, 1)) as pool:
            try:
                answers = list(pool.map(lambda c: made(p, c), group))
            except rye.Error as e:
                raise Refused(str(e))
        for c, (r, by, seen) in zip(group, answers):
            events += seen
            control = control or by
            if r is None:
                pending.append(c["call_id"])
            else:
                results.append(r)
        stopped = control is not None
    return {"results": results, "control": control, "pending": pending}, events


#include lines
