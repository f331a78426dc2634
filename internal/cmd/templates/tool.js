#!/usr/bin/env node
// version: 0.1.0
// tool_type: script
// executor_id: rye/core/runtimes/node_runtime
// category: {{category}}
// description: {{description}}
// config_schema: {"type": "object", "properties": {"name": {"type": "string", "default": "world", "description": "whom to greet"}}, "additionalProperties": false}
const params = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({ success: true, greeting: "hello " + params.name }));
