import json, random, re, sys, time
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step classifier in Python."
PERSISTENT = "lines"
#include text
#include cond

LONGEST = 300  # seconds that a process waits in place if its project never suspends a thread
MOST = 366 * 24 * 3600  # a longer time is not a wait
UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600, "d": 86400, "day": 86400}


def whole(seconds):
    """Seconds as rye counts them: whole nanoseconds."""
    return int(seconds * 1e9) / 1e9


def milliseconds(seconds):
    return round(seconds * 1e9) // 10**6


def spelled(text):
    """The seconds of a time such as 1m2.5s or 541 hours 28 minutes, or None."""
    rest, total = text.lower(), 0.0
    while rest:
        m = re.match(r"([0-9.]+) *([a-z]*)", rest)
        if not m or m[1].count(".") > 1 or m[1] == ".":
            return None
        unit = UNITS.get(m[2]) or UNITS.get(m[2].removesuffix("s"))
        if not unit or float(m[1]) * unit > MOST:
            return None
        total += whole(float(m[1]) * unit)
        rest = rest[m.end() :].lstrip(" ,").removeprefix("and ")
    return total if total > 0 else None


def date(text, zone):
    """A date of RFC 3339, of HTTP or of the form 2006-01-02 15:04:05, in a zone if it has none."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", text):
            return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text).replace("Z", "+00:00"))
        if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text):
            return datetime.fromisoformat(text).replace(tzinfo=zone)
        if re.fullmatch(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [A-Z]{3}", text):
            return parsedate_to_datetime(text)
    except ValueError:
        pass
    return None


def number(n, meaning):
    if meaning == "epoch":
        n = max((n / 1000 if n > 1e11 else n) - int(time.time() * 1000) / 1000, 0)
    if meaning == "milliseconds":
        n /= 1000
    return whole(n) if 0 <= n <= MOST else None


def wait_in(w, v):
    """The seconds that a value states, by one form, or None."""
    if isinstance(v, (int, float)) and not isinstance(v, bool):
        return number(v, w.get("as", "seconds"))
    s = v if isinstance(v, str) else ""
    if w.get("pattern"):
        m = expression(w["pattern"]).search(s)
        if not m:
            return None
        s = m[1] or ""
    s = s.strip()
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", s):
        return number(float(s), w.get("as", "seconds"))
    if spelled(s) is not None:
        return spelled(s) if spelled(s) <= MOST else None
    zone = timezone.utc
    if w.get("zone"):
        sign, hours, minutes = re.fullmatch(r"([+-])(\d\d):(\d\d)", w["zone"]).groups()
        zone = timezone((1 if sign == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes)))
    at = date(s, zone)
    if at is None or at.timestamp() - time.time() > MOST:
        return None
    return max(at.timestamp() - time.time(), 0)


def value_at(v, path):
    for name in path.split("."):
        v = v.get(name) if isinstance(v, dict) else None
    return v


def stated(classes, scope):
    for w in classes.get("waits", []):
        if matches(w.get("when"), scope):
            seconds = wait_in(w, value_at(scope, w["path"]))
            if seconds is not None:
                return seconds
    return None


def by_policy(policy, attempt):
    """The wait after an attempt for which the service states none; None if the call is not repeated."""
    kind = policy.get("type", "none")
    if kind == "exponential":
        jitter = policy.get("jitter", 0.2)
        seconds = min(policy.get("base", 2) * 2.0 ** (attempt - 1), policy.get("max") or 60)
        return whole(seconds * (1 - jitter + 2 * jitter * random.random()))
    if kind == "fixed":
        most = policy.get("attempts", 0)
        return policy.get("delay", 1) if most == 0 or attempt <= most else None
    if kind == "use_header" and policy.get("fallback"):
        return by_policy(policy["fallback"], attempt)
    return None


def too_long(p, wait, is_stated, policy, suspend_above):
    left = p["limits"]["duration_seconds"] - p["usage"]["duration_ms"] / 1000
    most = policy.get("max") or (300 if policy.get("type") == "use_header" else 60)
    if is_stated and p["limits"]["duration_seconds"] > 0 and wait >= left:
        return True
    if is_stated and policy.get("type") == "use_header" and wait > most:
        return True
    if suspend_above > 0:
        return wait > suspend_above
    return is_stated and wait > max(most, LONGEST)


def span(seconds):
    n = int(seconds + 0.5)
    hours, minutes = n // 3600, n % 3600 // 60
    return ("%dh" % hours if hours else "") + ("%dm" % minutes if hours or minutes else "") + "%ds" % (n % 60)


def notice(wait):
    at = datetime.fromtimestamp(int(time.time() + wait), timezone.utc)
    return "; the service accepts the next request in " + span(wait) + ", on " + at.strftime("%Y-%m-%d at %H:%M:%S UTC")


def tool_named(pattern, message, tools):
    m = pattern.get("names_tool") and expression(pattern["names_tool"]).search(message)
    return tools[int(m[1])] if m and int(m[1]) < len(tools) else ""


def window_in(pattern, message):
    for s in pattern.get("states_window", []):
        m = expression(s).search(message)
        n = m and m[1].replace(",", "")
        if n and n.isdigit() and 256 <= int(n) <= 100_000_000:
            return int(n)
    return 0


def tried_as_length(p):
    for line in reversed(conversation(p)):
        if line["event"] == "model_response":
            return False
        if line["event"] == "model_error" and line["data"].get("overflow") == "possible":
            return True
    return False


def length(p, c, pattern):
    """Whether the request was too long, and the window that the service has."""
    used, window = p["usage"]["context_tokens"], p["usage"]["window"]
    least = p["config"]["agent/coordination"].get("compaction", {}).get("long_request_tokens", 3000)
    if c["code"] == "CONTEXT_FULL":
        c["overflow"], c["window"] = "stated", window_in(pattern, c["message"])
    elif pattern.get("may_be_length") and c["action"] == "fail" and used >= least:
        if tried_as_length(p):
            return
        c["overflow"] = "possible"
    else:
        return
    if c["window"] == 0 and used > 0 and (window == 0 or used < window):
        c["window"] = used


def step(p):
    params, classes = p["params"], p["config"]["agent/error_classification"]
    resilience = p["config"]["agent/resilience"]
    retry = resilience.get("retry", {})
    scope = params.get("error") or {}
    attempt, most = max(params.get("attempt") or 0, 1), retry.get("max_attempts", 1)
    wait = stated(classes, scope)
    if wait is not None:
        scope["wait_ms"] = milliseconds(wait)
    patterns = sorted(classes.get("patterns", []), key=lambda x: ("match" not in x, -x.get("priority", 0)))
    pattern = next((x for x in patterns if matches(x.get("match"), scope)), None)
    if pattern is None:
        raise Refused("reading config:agent/error_classification: no pattern without match, so an error has no category")
    policy, message = pattern.get("policy", {}), (scope.get("error") or {}).get("message", "")
    c = {
        "id": pattern["id"], "category": pattern["category"], "code": pattern["code"], "aliases": pattern.get("aliases", []),
        "attempt": attempt, "max_attempts": most, "message": message, "action": "fail", "delay_ms": 0, "overflow": "", "window": 0, "notice": "",
    }
    tool = tool_named(pattern, message, params.get("tools") or [])
    if tool:
        c["tool"] = tool
    seconds, is_stated = None, False
    if policy.get("type") in ("use_header", "exponential"):
        seconds = stated(classes, scope)
        if seconds is None and policy.get("header"):
            seconds = wait_in({}, value_at(scope.get("headers"), policy["header"].lower()))
        is_stated = seconds is not None
    if is_stated:
        c["notice"] = notice(seconds)
    else:
        seconds = by_policy(policy, attempt)
    repeat = seconds is not None and attempt < most
    suspend_above = retry.get("suspend_above_seconds", 0)
    if pattern["code"] == "CANCELLED":
        c["action"] = "abort"
    elif repeat and not too_long(p, seconds, is_stated, policy, suspend_above):
        c["action"], c["delay_ms"] = "retry", milliseconds(seconds)
    elif c["category"] in classes.get("fallback_after", []) and params.get("fallbacks"):
        c["action"], c["fallback"] = "fallback", params["fallbacks"][0]
    elif repeat and suspend_above > 0 and params.get("suspends") is not False:
        c["action"], c["delay_ms"] = "suspend", milliseconds(seconds)
    c["delay"] = c["delay_ms"] / 1000
    length(p, c, pattern)
    data = {k: c[k] for k in ("attempt", "id", "category", "code", "message")}
    data |= {"turn": p["turn"], "status_code": scope.get("status_code"), "cost": params.get("cost", "")}
    if c["action"] == "retry":
        data["retry_in_ms"] = c["delay_ms"]
    if c["overflow"]:
        data |= {"overflow": c["overflow"], "window": c["window"]}
    events = [{"event": "model_error", "data": data}]
    if c["code"] == "CONTEXT_FULL":
        used, window = p["usage"]["context_tokens"], c["window"] or p["usage"]["window"]
        events.append({"event": "context_limit", "data": {"ratio": int(used / window * 1000 + 0.5) / 1000 if window else 0, "tokens": used, "window": window}})
    return c, events


#include lines
