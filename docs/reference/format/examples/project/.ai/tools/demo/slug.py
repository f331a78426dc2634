#!/usr/bin/env python3
# rye:signed:2026-02-14T00:27:54Z:f6b6bb416137b839aa83b7a5ff5d37fa534a7a514192b2bdb25396ab881e443b:yaKct3GVjzts7XgrMSyxCPnLNn/07RoP7jNHv2nw+nXRp0WJIUFyA0h/xtxfZ56E3x9VTYxX5pp7QFx52d09Bw:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
import json
import sys

__version__ = "1.0.0"
__tool_type__ = "script"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "Turn a title into a file name."

CONFIG_SCHEMA = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}

params = json.load(sys.stdin)
print(json.dumps({"slug": "-".join(params["title"].lower().split())}))
