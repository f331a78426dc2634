#!/usr/bin/env bash
# version: 0.1.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: {{category}}
# description: {{description}}
# config_schema: {"type": "object", "properties": {"name": {"type": "string", "default": "world", "description": "whom to greet"}}, "additionalProperties": false}
set -eu
echo "hello $RYE_PARAM_NAME"
