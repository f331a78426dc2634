package draft

import (
	"context"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// noItems describes nothing: the graphs of the test call no items.
type noItems struct{}

func (noItems) Describe(context.Context, item.Ref) (graphdef.Described, []string, error) {
	return graphdef.Described{}, nil, diag.New(diag.ToolNotFound, "no items")
}

// Risk returns no classes: no command of the test has a value.
func (noItems) Risk(context.Context) *policy.Risk { return nil }

// TestDrafts loads unsigned items: each kind of fault is found that a run would meet,
// although the metadata fit their schema.
func TestDrafts(t *testing.T) {
	const head = "version: \"1.0.0\"\ncategory: demo\ndescription: A test.\n"
	const http = head + "executor_id: rye/core/primitives/http_client\n"
	const provider = http + "tool_type: provider\nprovider:\n  dialect: openai_chat\n  models: {m: {window: 10, max_output: 5, prices: {input: \"0\", output: \"0\"}}}\n"
	const call = "config: {method: POST, url: \"https://x.example/v1\", body: \"{request}\", mode: stream, framing: sse"
	for _, c := range []struct{ name, rel, text, want string }{
		{"a provider", "tools/demo/a.yaml", provider + call + "}\n", ""},
		{"an auth that the primitive does not have", "tools/demo/a.yaml", provider + call + ", auth: {type: none}}\n", "config.auth"},
		{"a key over http", "tools/demo/a.yaml", provider + "config: {method: POST, url: \"http://x.example/v1\", body: \"{request}\", mode: stream, auth: {type: bearer, token: \"${K}\"}}\n", "unencrypted"},
		{"a provider with a model that does not exist", "tools/demo/a.yaml", strings.Replace(provider, "dialect:", "tiers: {fast: n}\n  dialect:", 1) + call + "}\n", "tiers.fast"},
		{"a sink that does not exist", "tools/demo/a.yaml", http + "tool_type: http\nconfig: {url: \"https://x.example/\", mode: stream, sinks: [nowhere]}\n", "nowhere"},
		{"an HTTP tool", "tools/demo/a.yaml", http + "tool_type: http\nconfig: {url: \"https://x.example/\"}\n", ""},
		{"a method that does not exist", "tools/demo/a.yaml", http + "tool_type: http\nconfig: {url: \"https://x.example/\", method: FETCH}\n", "config.method"},
		{"a graph", "tools/demo/a.yaml", head + "tool_type: graph\nexecutor_id: rye/core/runtimes/state_graph_runtime\nconfig: {start: a, nodes: {a: {type: return, output: {}}}}\n", ""},
		{"a graph with a wrong start", "tools/demo/a.yaml", head + "tool_type: graph\nexecutor_id: rye/core/runtimes/state_graph_runtime\nconfig: {start: nowhere, nodes: {a: {type: return, output: {}}}}\n", "nowhere"},
		{"an executor that does not exist", "tools/demo/a.yaml", head + "tool_type: script\nexecutor_id: rye/core/runtimes/cobol\n", "cobol"},
		{"an executor of another type", "tools/demo/a.yaml", head + "tool_type: script\nexecutor_id: rye/bash/bash\n", "not runtime or primitive"},
		{"a function that does not exist", "tools/demo/a.yaml", head + "tool_type: script\nexecutor_id: rye/core/primitives/native\nconfig: {func: nowhere}\n", "no function"},
		{"a timeout in words", "tools/demo/a.yaml", head + "tool_type: script\nexecutor_id: rye/core/primitives/subprocess\nconfig: {command: git, timeout: soon}\n", "timeout"},
		{"a program", "tools/demo/a.yaml", head + "tool_type: script\nexecutor_id: rye/core/primitives/subprocess\nconfig: {command: git}\n", ""},
		{"a server of tools", "tools/mcp/servers/a.yaml", head + "tool_type: mcp_server\nexecutor_id: null\nconfig: {transport: carrier}\n", "transport"},
		{"a tool of a server", "tools/mcp/a/t.yaml", head + "tool_type: mcp\nexecutor_id: rye/core/runtimes/mcp_stdio_runtime\nconfig: {server: nowhere}\n", "config.server"},
		{"a directive that extends nothing", "directives/demo/a.md", strings.Replace(directive(), `version="0.1.0"`, `version="0.1.0" extends="demo/nowhere"`, 1), "nowhere"},
		{"a directive", "directives/demo/a.md", directive(), ""},
		{"knowledge", "knowledge/demo/a.md", "---\ntitle: A\nversion: \"1.0.0\"\n---\n# A\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := testkit.New(t)
			h.Write(h.Project, c.rel, c.text)
			r := resolve.New(resolve.Params{Spaces: h.Spaces(), Trust: h.Store(), Lenient: true})
			e := exec.New(exec.Params{
				Resolver: r, Cache: h.Cache, Project: h.Project, Now: h.Clock,
				Natives: map[string]exec.Native{"graph": func(context.Context, exec.NativeCall) (map[string]any, error) { return nil, nil }},
			})
			checker := &Checker{Resolver: r, Executor: e, Graphs: noItems{}}
			it, err := r.File(t.Context(), projectRoot(t, r), c.rel)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, f := range append(errorsOf(it.Findings), checker.Check(t.Context(), it)...) {
				all = append(all, f.String())
			}
			text := strings.Join(all, "\n")
			if c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("want %q, found %q", c.want, text)
			}
		})
	}
}

func projectRoot(t *testing.T, r *resolve.Resolver) *space.Root {
	t.Helper()
	for _, root := range r.Roots() {
		if root.Space == space.Project {
			return root
		}
	}
	t.Fatal("no project")
	return nil
}

// directive is a valid directive.
func directive() string {
	return "# A\n\n```xml\n<directive name=\"a\" version=\"0.1.0\">\n  <metadata>\n    <description>A test.</description>\n    <category>demo</category>\n    <permissions></permissions>\n  </metadata>\n</directive>\n```\n\n1. Do it.\n"
}
