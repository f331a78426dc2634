# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: examples/threads
# description: The number of commits, and the subject of the newest one.
# sandbox: {exec: [git]}
# config_schema: {type: object, additionalProperties: false}
printf '{"commits": %s, "newest": "%s"}\n' "$(git rev-list --count HEAD)" "$(git log -1 --format=%f)"
