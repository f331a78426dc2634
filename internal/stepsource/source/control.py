import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step control in Python: the decision of a hook."

# Hooks and graphs call this step as a tool: the parameters are those of the action.
ACTIONS = ["retry", "continue", "skip", "deny", "fail", "abort", "suspend", "escalate"]
p = json.load(sys.stdin)
action, delay, to = p.get("action", ""), p.get("delay", 0), p.get("to", "")
problem = ""
if set(p) - {"action", "delay", "feedback", "message", "to", "by"}:
    problem = "unknown parameters: " + ", ".join(sorted(set(p) - {"action", "delay", "feedback", "message", "to", "by"}))
elif action not in ACTIONS:
    problem = f"action is {json.dumps(action)}, must be one of {', '.join(ACTIONS)}"
elif delay < 0 or delay > 86400:
    problem = f"delay is {delay}, must be from 0 to 86400 seconds"
elif delay and action != "retry":
    problem = f"delay has no effect for {action}, only for retry"
elif to and (action != "escalate" or to not in ("parent", "person")):
    problem = f"to is {json.dumps(to)}, must be parent or person, of escalate"
if problem:
    sys.exit("reading a control action: " + problem)
if action == "escalate":
    p["to"] = to or "person"
decision = {k: v for k, v in p.items() if v}
print(json.dumps({**decision, "control": decision}))
