# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: examples
# description: Create a tag.
# sandbox: {"git": "commit"}
# config_schema: {"type": "object", "required": ["tag"], "properties": {"tag": {"type": "string"}}, "additionalProperties": false}
set -eu
git tag -- "$RYE_PARAM_TAG"
