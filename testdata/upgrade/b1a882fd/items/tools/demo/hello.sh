# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: demo
# description: Greets.
echo hello
