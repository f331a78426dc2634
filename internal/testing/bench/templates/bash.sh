#!/usr/bin/env bash
# version: 0.3.{{n}}
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: {{category}}
# description: List the largest files below a folder ({{name}}).
# config_schema: {"type": "object", "properties": {"folder": {"type": "string", "default": "."}, "count": {"type": "integer", "default": 10}}, "additionalProperties": false}
set -euo pipefail

folder=${RYE_PARAM_FOLDER:-.}
count=${RYE_PARAM_COUNT:-10}

if [ ! -d "$folder" ]; then
  printf '{"success": false, "error": "no such folder: %s"}\n' "$folder"
  exit 1
fi

find "$folder" -type f -printf '%s %p\n' | sort -rn | head -n "$count" | while read -r size path; do
  printf '%12d  %s\n' "$size" "$path"
done
