#!/usr/bin/env python3
"""{{description}}"""

import json
import sys

__version__ = "0.1.0"
__tool_type__ = "script"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "{{category}}"
__tool_description__ = "{{description}}"

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "world", "description": "whom to greet"},
    },
    "additionalProperties": False,
}


def main():
    params = json.load(sys.stdin)
    print(json.dumps({"success": True, "greeting": "hello " + params["name"]}))


if __name__ == "__main__":
    main()
