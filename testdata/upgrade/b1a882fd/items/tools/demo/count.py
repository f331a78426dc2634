__version__ = "1.0.0"
__tool_type__ = "script"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "demo"
__tool_description__ = "Counts the lines of the issue."
import json

with open("issue.md") as issue:
    print(json.dumps({"lines": len(issue.readlines())}))
