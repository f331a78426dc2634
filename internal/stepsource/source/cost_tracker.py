import json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step cost_tracker in Python."
PERSISTENT = "lines"
#include text


def nano(usd):
    whole, _, part = usd.partition(".")
    return int(whole) * 10**9 + int((part + "0" * 9)[:9])


def usd(nano):
    part = f"{nano % 10**9:09d}".rstrip("0")
    return f"{nano // 10**9}.{part}" + "00"[min(2, len(part)):]


def step(p):
    limits, usage, params, events = p["limits"], p["usage"], p.get("params") or {}, []
    warned = {l["data"]["scope"] for l in conversation(p) if l["event"] == "budget_warning"}
    warn_at = params.get("warn_at") or 0
    for s in [{"scope": "thread", "value": usage["spend"], "max": limits["spend"]}] + (params.get("periods") or []):
        value, most = nano(s["value"]), nano(s["max"])
        if warn_at > 0 and most > 0 and s["scope"] not in warned and value >= warn_at * most:
            events.append({"event": "budget_warning", "data": {"scope": s["scope"], "value": usd(value), "max": usd(most)}})
    data = {
        "turns": usage["turns"], "max_turns": limits["turns"], "tokens": usage["input_tokens"] + usage["output_tokens"],
        "spend": usage["spend"], "max_spend": limits["spend"], "warnings": [e["data"]["scope"] for e in events],
        "context_ratio": int(usage["context_tokens"] / usage["window"] * 1000 + 0.5) / 1000 if usage["window"] > 0 else 0,
    }
    return data, events


#include lines
