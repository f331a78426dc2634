// rye:signed:2026-02-14T00:27:54Z:ea309ffe3da018c2a0ffbef27d6e8e535745cca8565370530924507827beaa87:SASKcZKQQtCTU+VEnJmt0eaTbPOtmz06H3IFexEQrcQXG6k6VT8NBNJvhfkbCIEwcd7v7Q5wSAVubN0UQjziCw:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
// version: 1.0.0
// tool_type: script
// executor_id: rye/core/runtimes/node_runtime
// category: demo
// description: Count the words of a text.
// config_schema: {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
const params = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({ words: params.text.split(/\s+/).filter(Boolean).length }));
