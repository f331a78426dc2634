import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step limit_checker in Python."
PERSISTENT = "lines"


class Refused(Exception):
    """Why the step cannot decide: the thread ends with this text."""


def nano(usd):
    whole, _, part = usd.partition(".")
    return int(whole) * 10**9 + int((part + "0" * 9)[:9])


def reached(limits, usage):
    for name, value in (("turns", usage["turns"]), ("tokens", usage["new_tokens"])):
        if value >= limits[name]:
            return {"code": "LIMIT_EXCEEDED", "limit": name, "value": value, "max": limits[name]}
    if nano(usage["spend"]) > 0 and nano(usage["spend"]) >= nano(limits["spend"]):
        return {"code": "BUDGET_EXCEEDED", "limit": "spend", "value": usage["spend"], "max": limits["spend"]}
    seconds = usage["duration_ms"] // 1000
    if seconds >= limits["duration_seconds"]:
        return {"code": "LIMIT_EXCEEDED", "limit": "duration_seconds", "value": seconds, "max": limits["duration_seconds"]}
    return None


def step(p):
    r = reached(p["limits"], p["usage"])
    return {"reached": r}, [{"event": "limit_reached", "data": {k: r[k] for k in ("limit", "value", "max")}}] if r else []


#include lines
