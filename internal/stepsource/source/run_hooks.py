import concurrent.futures, json, re, sys, time
import rye
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step run_hooks in Python: rye runs the actions of the hooks."
PERSISTENT = "lines"
SANDBOX = {"broker": True, "net": "none"}
CALLS = ["rye.execute.*", "rye.load.*", "rye.search.*"]  # the actions of your hooks
#include text
#include cond

CONTROL = "rye/agent/threads/internal/control"
ACTIONS = ["retry", "continue", "skip", "deny", "fail", "abort", "suspend", "escalate"]
STOPS = ["deny", "fail", "abort", "suspend", "escalate"]
SOURCES = {1: "user", 2: "directive", 3: "project", 4: "builtin", 5: "infra"}


class Failed(Exception):
    pass


def named(scope):
    """The scope in which error.code has all names of the error."""
    e = scope.get("error")
    if not isinstance(e, dict):
        return scope
    c = scope.get("classification")
    c = c if isinstance(c, dict) else {}
    names = [e.get("code"), c.get("code"), c.get("id"), c.get("category")] + list(c.get("aliases") or [])
    names = Names(dict.fromkeys(s for s in names if isinstance(s, str) and s))
    return dict(scope, error=dict(e, code=names)) if names else scope


def literal(s):
    try:
        return json.loads(s) if s == s.strip() else s
    except ValueError:
        return s


def value_of(m, scope):
    try:
        v, found = lookup(scope, m["path"])
    except Undecided as e:
        raise Failed("${%s}: %s" % (m["path"], e))
    if m["default"] is not None and v is None:
        return literal(m["default"][2:])
    if not found and not m["optional"] and m["default"] is None:
        raise Failed("${%s}: no value has this path; write ${%s?} for null or ${%s:-default} if it may be missing" % ((m["path"],) * 3))
    return v


EXPRESSION = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<path>" + CALL + "|" + PATH + r")(?:(?P<optional>\?)|(?P<default>:-[^{}$]*))?\}")


def render(v, scope):
    """Fills in ${path}, ${path?} and ${path:-default}. A text that is one expression keeps the type."""
    if isinstance(v, list):
        return [render(x, scope) for x in v]
    if isinstance(v, dict):
        return {k: render(v[k], scope) for k in sorted(v)}
    if not isinstance(v, str):
        return v
    whole = EXPRESSION.fullmatch(v)
    if whole and not whole["escaped"]:
        return value_of(whole, scope)

    def piece(m):
        if m["escaped"]:
            return "${"
        x = value_of(m, scope)
        if x is None and (m["optional"] or m["default"]):
            return ""
        return x if isinstance(x, str) else json.dumps(x, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

    return EXPRESSION.sub(piece, v)


def type_of(v):
    if v is None:
        return "null"
    return {"bool": "a boolean", "str": "a string", "list": "a list", "dict": "a mapping"}.get(type(v).__name__, "a number")


def called(h, id, scope, seconds):
    """Runs the action of a hook through rye, and returns the data of its result."""
    params = render(h.get("params") or {}, scope)
    arguments = {"item_type": h["item_type"], "item_id": id}
    arguments = dict(arguments, parameters=params) if h["primary"] == "execute" else dict(params, **arguments)
    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        data = pool.submit(rye.call, h["primary"], arguments).result(timeout=seconds)
    except concurrent.futures.TimeoutError:
        raise Failed("the hook took longer than %ds" % seconds)
    except rye.Error as e:
        raise Failed(e.message)
    finally:
        pool.shutdown(wait=False)
    if isinstance(data, dict) and isinstance(data.get("success"), bool) and "data" in data:
        data = data["data"]
    return data


def decision(action, reason):
    if action == "deny":
        return {"action": action, "feedback": reason}
    if action == "escalate":
        return {"action": action, "to": "person", "message": reason}
    return {"action": action, "message": reason}


def closed(rule, reason):
    """The decision for a hook that was meant to stop, and whose decision cannot be read."""
    for action in ("escalate", "suspend", "deny", "fail", "abort"):
        if action in rule["decides"]:
            return decision(action, reason)
    return None


def failed(rule, h, reason):
    stated = (h.get("params") or {}).get("action") if h["item_id"] == CONTROL and h["item_type"] == "tool" else ""
    if h["on_failure"] == "fail" or h["on_failure"] == "deny" and "deny" in rule["decides"]:
        return decision(h["on_failure"], reason)
    if h["on_failure"] == "deny":
        return closed(rule, reason)
    if stated in STOPS:
        return decision(stated, reason) if stated in rule["decides"] else closed(rule, reason)
    return None


def read_control(data):
    """The control action in a result, or None."""
    c = data.get("control") if isinstance(data, dict) else None
    if c is None:
        return None
    if not isinstance(c, dict):
        raise Failed("reading a control action: it must be an object with the member action")
    unknown = sorted(set(c) - {"action", "delay", "feedback", "message", "to", "by"})
    if unknown:
        raise Failed("reading the parameters of the step control: %s is unknown; known are action, by, delay, feedback, message, to" % unknown[0])
    action, delay, to = c.get("action", ""), c.get("delay") or 0, c.get("to") or ""
    if action not in ACTIONS:
        raise Failed('reading a control action: action is "%s", must be one of %s' % (action, ", ".join(ACTIONS)))
    if delay < 0 or delay > 86400:
        raise Failed("reading a control action: delay is %s, must be from 0 to 86400 seconds" % delay)
    if delay > 0 and action != "retry":
        raise Failed("reading a control action: delay has no effect for %s, only for retry" % action)
    if to and (action != "escalate" or to not in ("parent", "person")):
        raise Failed('reading a control action: to is "%s", must be parent or person, of escalate' % to)
    if action == "escalate":
        c["to"] = to or "person"
    return {k: v for k, v in c.items() if v}


def decided(rule, h, data):
    """The control action of a hook, what follows if it cannot be acted on, and the error."""
    try:
        c = read_control(data)
    except Failed as e:
        return None, closed(rule, "the hook " + h["id"] + " decided something that rye cannot act on: " + str(e)), str(e)
    if c is None or c["action"] in rule["decides"]:
        return c, None, ""
    may = "a hook may " + ", ".join(rule["decides"]) if rule["decides"] else "no hook decides"
    error, unread = "the hook decided %s, and at %s %s" % (c["action"], h["event"], may), None
    if c["action"] in STOPS:
        unread = closed(rule, "the hook %s decided %s, which %s does not permit" % (h["id"], c["action"], h["event"]))
    return None, unread, error


def text_of(h, id, data):
    """The text in the result of a hook of thread_started."""
    s = data if isinstance(data, str) else ""
    if isinstance(data, dict):
        if isinstance(data.get("trust"), str) and data["trust"] != "trusted":
            raise Failed("%s:%s is %s, and only trusted items become context" % (h["item_type"], id, data["trust"]))
        texts = [data[k] for k in ("content", "text", "output", "stdout", "body") if isinstance(data.get(k), str) and data[k]]
        s = texts[0] if texts else ""
        if not s and data:
            s = json.dumps(data, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return {"hook": h["id"], "position": h.get("position") or "before", "ref": h["item_type"] + ":" + id, "text": s} if s.strip() else None


def rule_of(p):
    for e in p["config"]["agent/events"].get("hook_events", []):
        if e["id"] == p["params"]["event"] and e.get("of", "thread") == "thread":
            return {"decides": e.get("decides", []), "every": e.get("every", False), "texts": e.get("texts", False)}
    raise Refused('running hooks: "%s" is not an event of hooks in config:agent/events' % p["params"]["event"])


def step(p):
    params, rule = p["params"], rule_of(p)
    scope = params.get("context") or {}
    inner = (scope.get("error") or {}).get("error") if isinstance(scope.get("error"), dict) else None
    if isinstance(inner, dict):
        scope = dict(scope, error=inner)
    match, seconds = named(scope), p["config"]["agent/resilience"].get("hook_seconds", 1)
    out, events = {"control": None, "texts": [], "ran": 0}, []
    for h in params.get("hooks") or []:
        infra = h["source"] == 5
        if h["event"] != params["event"] or out["control"] and not infra and not rule["every"]:
            continue
        undecided = ""
        try:
            if h.get("condition") and not matches(h["condition"], match, True):
                continue
        except Undecided as e:
            undecided = "reading its condition: " + str(e)
        began, id, data, error, c, unread = time.time(), h["item_id"], None, "", None, None
        try:
            if undecided:
                raise Failed(undecided)
            rendered = render(id, scope)
            if not isinstance(rendered, str):
                raise Failed("item_id is %s, not a text" % type_of(rendered))
            id = rendered
            data = called(h, id, scope, seconds)
        except Failed as e:
            error = str(e)
        if not error and not infra:
            c, unread, error = decided(rule, h, data)
        if not error and not infra and c is None and rule["texts"]:
            try:
                added_text = text_of(h, id, data)
                out["texts"] += [added_text] if added_text else []
            except Failed as e:
                error = str(e)
        out["ran"] += 1
        record = {"event": h["event"], "hook": h["id"], "source": SOURCES[h["source"]], "ref": h["item_type"] + ":" + id, "ok": not error, "duration_ms": int((time.time() - began) * 1000)}
        if error:
            record["error"] = error
        events.append({"event": "hook_run", "data": record})
        if error and not infra:
            c = failed(rule, h, "the hook " + h["id"] + " failed: " + error) or unread
        if c and (not out["control"] or c["action"] == "deny" and out["control"]["action"] != "deny"):
            out["control"] = c | {"by": h["id"]}
            reason = c.get("message") or c.get("feedback") or ""
            events.append({"event": "control", "data": {"action": c["action"], "by": h["id"], "reason": reason, "delay_ms": int((c.get("delay") or 0) * 1000)}})
    return out, events


#include lines
