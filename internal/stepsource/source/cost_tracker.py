import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step cost_tracker in Python."

p = json.load(sys.stdin)
limits, usage, params = p["limits"], p["usage"], p["params"]
lines = [json.loads(line) for line in open(p["conversation_file"])]
warned = {l["data"]["scope"] for l in lines if l["event"] == "budget_warning"}


def nano(usd):
    whole, _, part = usd.partition(".")
    return int(whole) * 10**9 + int((part + "0" * 9)[:9])


def usd(nano):
    part = f"{nano % 10**9:09d}".rstrip("0")
    return f"{nano // 10**9}.{part}" + "00"[min(2, len(part)):]


events = []
for s in [{"scope": "thread", "value": usage["spend"], "max": limits["spend"]}] + params.get("periods", []):
    value, most = nano(s["value"]), nano(s["max"])
    if params["warn_at"] > 0 and most > 0 and s["scope"] not in warned and value >= params["warn_at"] * most:
        events.append({"event": "budget_warning", "data": {"scope": s["scope"], "value": usd(value), "max": usd(most)}})
ratio = round(usage["context_tokens"] / usage["window"], 3) if usage["window"] else 0
data = {
    "turns": usage["turns"], "max_turns": limits["turns"], "tokens": usage["input_tokens"] + usage["output_tokens"],
    "spend": usage["spend"], "max_spend": limits["spend"], "context_ratio": ratio, "warnings": [e["data"]["scope"] for e in events],
}
print(json.dumps({"success": True, "data": data, "events": events}))
