import json, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step emitter in Python: it records an observation."

# Hooks and graphs call this step as a tool: the parameters are those of the action.
p = json.load(sys.stdin)
if set(p) - {"name", "data"}:
    sys.exit("reading the parameters of the step emitter: unknown: " + ", ".join(sorted(set(p) - {"name", "data"})))
if not isinstance(p.get("name"), str) or not 0 < len(p["name"].encode()) <= 100:
    sys.exit("reading the parameters of the step emitter: name must have from 1 to 100 characters")
seen = {"event": "observation", "data": {"name": p["name"], "data": p.get("data")}}
print(json.dumps({"success": True, "data": {}, "events": [seen]}))
