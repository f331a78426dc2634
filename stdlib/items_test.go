package stdlib_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/space"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
)

// resolver reads the embedded bundle as the program does, with no other space.
func resolver(t testing.TB) *resolve.Resolver {
	t.Helper()
	spaces, err := space.Discover(space.Params{System: stdlib.FS(), Layer: stdlib.Bundle})
	if err != nil {
		t.Fatal(err)
	}
	store, fs := trust.Load(trust.Params{Anchors: []trust.Anchor{{
		Public: signer(t).Public(), Owner: "rye", EmbeddedOnly: true,
		Scope: trust.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}},
	}}})
	if diag.Failed(fs) {
		t.Fatal(fs)
	}
	return resolve.New(resolve.Params{Spaces: spaces, Trust: store})
}

func bootKinds() []item.Kind {
	return []item.Kind{item.Directive, item.Tool, item.Knowledge, item.Config}
}

// every hands each item of the bundle to f, read through the extractors that
// the bundle itself holds.
func every(t *testing.T, f func(*resolve.Item)) {
	t.Helper()
	everyOf(t, resolver(t), f)
}

func everyOf(t *testing.T, r *resolve.Resolver, f func(*resolve.Item)) {
	t.Helper()
	ctx, n := t.Context(), 0
	for _, k := range bootKinds() {
		entries, err := r.All(ctx, k)
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		for _, e := range entries {
			it, err := r.Open(ctx, e)
			if err != nil {
				t.Errorf("%s: %v", e.Ref, err)
				continue
			}
			n++
			f(it)
		}
	}
	if n < 36 {
		t.Errorf("only %d items were found", n)
	}
}

func TestEveryItemIsTrustedAndValid(t *testing.T) {
	every(t, func(it *resolve.Item) {
		if err := it.Verdict.Err(it.Path()); err != nil {
			t.Errorf("%s: %v", it.Ref, err)
		}
		for _, f := range it.Findings {
			t.Errorf("%s: %s", it.Ref, f)
		}
		if it.Meta.Fallback {
			t.Errorf("%s was read by guess", it.Ref)
		}
	})
}

// What the issue and the engine name must be there, by kind of tool.
func TestItemsHaveTheirIDs(t *testing.T) {
	have := map[string]string{}
	every(t, func(it *resolve.Item) { have[it.Ref.String()] = it.Meta.ToolType })
	for ref, want := range map[string]string{
		"tool:rye/core/extractors/tool/tool_extractor":           "extractor",
		"tool:rye/core/extractors/directive/directive_extractor": "extractor",
		"tool:rye/core/extractors/knowledge/knowledge_extractor": "extractor",
		"tool:rye/core/extractors/config/config_extractor":       "extractor",
		"tool:rye/core/parsers/python":                           "parser",
		"tool:rye/core/parsers/yaml":                             "parser",
		"tool:rye/core/parsers/json":                             "parser",
		"tool:rye/core/parsers/toml":                             "parser",
		"tool:rye/core/parsers/header_hash":                      "parser",
		"tool:rye/core/parsers/header_slash":                     "parser",
		"tool:rye/core/parsers/markdown_directive":               "parser",
		"tool:rye/core/parsers/markdown_knowledge":               "parser",
		"tool:rye/core/primitives/subprocess":                    "primitive",
		"tool:rye/core/runtimes/python_script_runtime":           "runtime",
		"tool:rye/core/runtimes/python_function_runtime":         "runtime",
		"tool:rye/core/runtimes/node_runtime":                    "runtime",
		"tool:rye/core/runtimes/bash_runtime":                    "runtime",
		"tool:rye/core/runtimes/rye_applet_runtime":              "runtime",
		"tool:rye/core/runtimes/lib/python/function_loader":      "",
		"tool:rye/bash/bash":                                     "tool",
		"tool:rye/file-system/read":                              "tool",
		"tool:rye/file-system/write":                             "tool",
		"tool:rye/file-system/edit_lines":                        "tool",
		"tool:rye/file-system/glob":                              "tool",
		"tool:rye/file-system/grep":                              "tool",
		"tool:rye/file-system/ls":                                "tool",
		"tool:rye/core/system/system":                            "tool",
		"directive:rye/core/create_tool":                         "",
		"directive:rye/core/create_directive":                    "",
		"directive:rye/core/create_knowledge":                    "",
		"knowledge:rye/core/tool-metadata-reference":             "",
		"knowledge:rye/core/directive-metadata-reference":        "",
		"knowledge:rye/core/knowledge-metadata-reference":        "",
		"knowledge:rye/core/config-metadata-reference":           "",
		"knowledge:rye/core/trust-model":                         "",
		"knowledge:rye/core/capability-strings":                  "",
	} {
		if got, ok := have[ref]; !ok {
			t.Errorf("%s is missing", ref)
		} else if got != want {
			t.Errorf("%s has tool_type %q, want %q", ref, got, want)
		}
	}
}

// The extractors must say of each boot file type what the boot table says, or
// a file would be read otherwise before and after the start.
func TestExtractorsAgreeWithTheBootTable(t *testing.T) {
	r := resolver(t)
	for _, k := range bootKinds() {
		e, err := r.Extractor(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		b := extract.Boot().Kind(k)
		if e.Folder != b.Folder || e.ID != b.ID || !slices.Equal(e.Types, b.Types) {
			t.Errorf("%s: the extractor says\n%+v %+v %+v, the boot table\n%+v %+v %+v", k, e.Folder, e.ID, e.Types, b.Folder, b.ID, b.Types)
		}
		for _, f := range b.Schema.Fields {
			i := slices.IndexFunc(e.Schema.Fields, func(o extract.Field) bool { return o.Name == f.Name })
			if i < 0 || f.Required && !e.Schema.Fields[i].Required && f.Name != "name" {
				t.Errorf("%s: the extractor asks less of field %q than the boot table", k, f.Name)
			}
		}
	}
}

// A parser item exists for each codec, and chooses one that is compiled in.
func TestParsersChooseCodecs(t *testing.T) {
	var chosen []string
	every(t, func(it *resolve.Item) {
		if it.Meta.ToolType == "parser" {
			codec, _ := it.Meta.Fields["codec"].(string)
			chosen = append(chosen, codec)
		}
	})
	want := extract.Codecs()
	slices.Sort(want)
	slices.Sort(chosen)
	if !slices.Equal(chosen, want) {
		t.Errorf("parser items choose %v, compiled in are %v", chosen, want)
	}
}

// Each declared schema compiles, and what it says about defaults fits it.
func TestSchemasCompile(t *testing.T) {
	every(t, func(it *resolve.Item) {
		if it.Meta.Schema == nil {
			if it.Meta.ToolType == "tool" {
				t.Errorf("%s declares no parameters", it.Ref)
			}
			return
		}
		s, fs := schema.Compile(it.Meta.Schema)
		if s == nil {
			t.Errorf("%s: %v", it.Ref, fs)
			return
		}
		for _, v := range s.Validate(s.Defaults(map[string]any{"no such parameter": true})) {
			if strings.Contains(v.Message, "no such parameter") || v.Keyword == "additionalProperties" {
				return
			}
		}
		t.Errorf("%s accepts a parameter that it does not declare", it.Ref)
	})
}

// Templates name only what the engine fills in.
func TestTemplatesNameKnownThings(t *testing.T) {
	known := []string{"tool_path", "params_json", "project_path", "runtime_lib", "applet"}
	every(t, func(it *resolve.Item) {
		if it.Meta.ToolType != "runtime" {
			return
		}
		args := []string{}
		for _, key := range []string{"command", "input_data", "cwd"} {
			s, _ := it.Meta.Config[key].(string)
			for _, f := range tmpl.Lint(s, known) {
				t.Errorf("%s config.%s: %s", it.Ref, key, f)
			}
		}
		list, _ := it.Meta.Config["args"].([]any)
		for _, a := range list {
			args = append(args, a.(string))
		}
		for _, f := range tmpl.LintArgv(args, known) {
			t.Errorf("%s config.args: %s", it.Ref, f)
		}
	})
}

// Every input that a directive's text names is declared, and every item that
// it names by full id exists.
func TestDirectivesAreConsistent(t *testing.T) {
	r := resolver(t)
	every(t, func(it *resolve.Item) {
		if it.Ref.Kind != item.Directive {
			return
		}
		var declared []string
		for _, in := range it.Meta.Inputs {
			declared = append(declared, in.Name)
		}
		used := tmpl.InputNames(string(it.Meta.Body))
		for _, name := range used {
			if !slices.Contains(declared, name) {
				t.Errorf("%s uses input %q, which it does not declare", it.Ref, name)
			}
		}
		for _, name := range declared {
			if !slices.Contains(used, name) && name != "language" {
				t.Errorf("%s declares input %q and never uses it", it.Ref, name)
			}
		}
		if len(it.Meta.Outputs) == 0 || len(it.Meta.Body) < 500 {
			t.Errorf("%s has %d outputs and %d bytes of instructions", it.Ref, len(it.Meta.Outputs), len(it.Meta.Body))
		}
		for word := range strings.SplitSeq(string(it.Meta.Body), "`") {
			checkNamed(t, r, it, word)
		}
	})
}

func checkNamed(t *testing.T, r *resolve.Resolver, it *resolve.Item, word string) {
	if !strings.HasPrefix(word, "rye/") || item.CheckID(word) != nil {
		return
	}
	for _, k := range bootKinds() {
		if _, err := r.Find(context.Background(), item.Ref{Kind: k, ID: word}); err == nil {
			return
		}
	}
	t.Errorf("%s names %s, which does not exist", it.Ref, word)
}

// The examples in the metadata references are valid items.
func TestReferenceExamplesAreValid(t *testing.T) {
	ctx, r := t.Context(), resolver(t)
	for _, c := range []struct {
		from, fence, lang string
		ref               item.Ref
		ext               string
	}{
		{"tool-metadata-reference", "```", "python", item.Ref{Kind: item.Tool, ID: "acme/greet"}, ".py"},
		{"directive-metadata-reference", "````", "markdown", item.Ref{Kind: item.Directive, ID: "acme/summarise"}, ".md"},
		{"knowledge-metadata-reference", "```", "markdown", item.Ref{Kind: item.Knowledge, ID: "team/release"}, ".md"},
		{"config-metadata-reference", "```", "yaml", item.Ref{Kind: item.Config, ID: "acme/retry"}, ".yaml"},
	} {
		it, err := r.Find(ctx, item.Ref{Kind: item.Knowledge, ID: "rye/core/" + c.from})
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(it.Meta.Body), "\n"+c.fence+c.lang+"\n")
		text, _, ok := strings.Cut(rest, "\n"+c.fence+"\n")
		if !ok {
			t.Errorf("%s holds no %s example", c.from, c.lang)
			continue
		}
		e, err := r.Extractor(ctx, c.ref.Kind)
		if err != nil {
			t.Fatal(err)
		}
		ft, _ := e.Type("x" + c.ext)
		m, fs := e.Read(ft, []byte(text+"\n"))
		if fs = append(fs, e.Validate(c.ref, &m)...); len(fs) > 0 || m.Fallback || !strings.Contains(text, "rye:signed:") {
			t.Errorf("the example of %s: %v\n%s", c.from, fs, text)
		}
	}
}

// What the reference says about capabilities is what the reader makes of it.
func TestPermissionsBecomeCapabilities(t *testing.T) {
	it, err := resolver(t).Find(t.Context(), item.Ref{Kind: item.Directive, ID: "rye/core/create_knowledge"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"rye.search.knowledge.*", "rye.load.knowledge.*", "rye.execute.tool.rye.file-system.*", "rye.execute.knowledge.*", "rye.sign.knowledge.*"}
	got := slices.Clone(it.Meta.Permissions)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("permissions are %v, want %v", got, want)
	}
}

// The examples in the create directives are valid items: what a model copies
// from them signs.
func TestExamplesAreValid(t *testing.T) {
	ctx, r := t.Context(), resolver(t)
	in := map[string]string{"category": "acme", "name": "example", "description": "Do something.", "entry_type": "reference"}
	for _, c := range []struct {
		from, fence, lang string
		kind              item.Kind
		ext               string
	}{
		{"create_tool", "```", "python", item.Tool, ".py"},
		{"create_tool", "```", "bash", item.Tool, ".sh"},
		{"create_directive", "````", "markdown", item.Directive, ".md"},
		{"create_knowledge", "```", "markdown", item.Knowledge, ".md"},
	} {
		it, err := r.Find(ctx, item.Ref{Kind: item.Directive, ID: "rye/core/" + c.from})
		if err != nil {
			t.Fatal(err)
		}
		text := fenced(tmpl.Inputs(string(it.Meta.Body), in), c.fence, c.lang)
		if text == "" {
			t.Errorf("%s holds no %s example", c.from, c.lang)
			continue
		}
		e, err := r.Extractor(ctx, c.kind)
		if err != nil {
			t.Fatal(err)
		}
		ft, _ := e.Type("x" + c.ext)
		m, fs := e.Read(ft, []byte(text))
		fs = append(fs, e.Validate(item.Ref{Kind: c.kind, ID: "acme/example"}, &m)...)
		if len(fs) > 0 || m.Fallback {
			t.Errorf("the %s example of %s: %v\n%s", c.lang, c.from, fs, text)
		}
		if c.kind == item.Tool {
			if _, err := r.Find(ctx, item.Ref{Kind: item.Tool, ID: m.ExecutorID}); err != nil {
				t.Errorf("the %s example of %s: %v", c.lang, c.from, err)
			}
			if s, fs := schema.Compile(m.Schema); s == nil {
				t.Errorf("the schema in the %s example of %s: %v", c.lang, c.from, fs)
			}
		}
	}
}

// fenced returns the first fenced block of a language, its indentation taken
// away.
func fenced(text, fence, lang string) string {
	_, rest, ok := strings.Cut(text, "   "+fence+lang+"\n")
	if !ok {
		return ""
	}
	block, _, _ := strings.Cut(rest, "\n   "+fence+"\n")
	var out strings.Builder
	for line := range strings.Lines(block + "\n") {
		out.WriteString(strings.TrimPrefix(line, "   "))
	}
	return out.String()
}

// Every item whose executor is named in the bundle finds it there.
func TestExecutorsExist(t *testing.T) {
	r := resolver(t)
	everyOf(t, r, func(it *resolve.Item) {
		if it.Meta.ExecutorID == "" {
			return
		}
		next, err := r.FindFrom(t.Context(), item.Ref{Kind: item.Tool, ID: it.Meta.ExecutorID}, it.Root)
		if err != nil {
			t.Errorf("%s: %v", it.Ref, err)
		} else if !slices.Contains([]string{"runtime", "primitive"}, next.Meta.ToolType) {
			t.Errorf("%s is executed by %s, a %s", it.Ref, next.Ref, next.Meta.ToolType)
		}
	})
}

// The development key is refused for the same bytes in any other space.
func TestDevelopmentKeyCountsForEmbeddedItemsOnly(t *testing.T) {
	dir := t.TempDir()
	for p, b := range disk(t) {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(p)), b)
	}
	spaces, err := space.Discover(space.Params{Project: dir, System: stdlib.FS(), Layer: stdlib.Bundle})
	if err != nil {
		t.Fatal(err)
	}
	store, _ := trust.Load(trust.Params{Anchors: []trust.Anchor{{Public: signer(t).Public(), EmbeddedOnly: true,
		Scope: trust.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign"}}}}})
	r := resolve.New(resolve.Params{Spaces: spaces, Trust: store, Lenient: true})
	it, err := r.Inspect(t.Context(), item.Ref{Kind: item.Tool, ID: "rye/bash/bash"})
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Verdict.Err(it.Path()); it.Root.Embedded() || err == nil {
		t.Errorf("the copy in %s counts: %v", it.Root.Label(), err)
	}
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The function loader keeps its promises, with the Python that is here.
func TestFunctionLoader(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	loader, err := filepath.Abs(".ai/tools/rye/core/runtimes/lib/python/function_loader.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, src, stdin, want, fails string }{
		{"plain", "def execute(params, project): return {'n': params['n'] + 1, 'p': project}", `{"n": 1}`, `{"n": 2, "p": "/proj"}`, ""},
		{"async", "async def execute(params, project): return {'ok': True}", `{}`, `{"ok": true}`, ""},
		{"nothing", "def execute(params, project): pass", ``, `{}`, ""},
		{"prints", "import os\nprint('at import')\ndef execute(params, project):\n    print('loud'); os.system('echo child'); return {'a': 'é'}", `{}`, `{"a": "é"}`, ""},
		{"dates", "import datetime\ndef execute(p, q): return {'d': datetime.date(2026, 11, 20)}", `{}`, `{"d": "2026-11-20"}`, ""},
		{"surrogate", "def execute(p, q): return {'s': '\\udc80'}", `{}`, `{"s": "\udc80"}`, ""},
		{"raises", "def execute(p, q): raise ValueError('bad thing')", `{}`, "", "ValueError: bad thing"},
		{"no json", "def execute(p, q): return {'x': float('nan')}", `{}`, "", "not JSON compliant"},
		{"no function", "x = 1", `{}`, "", "defines no execute"},
		{"exits", "import sys\ndef execute(p, q): sys.exit(3)", `{}`, "", "sys.exit(3)"},
		{"exits well", "import sys\ndef execute(p, q): sys.exit(0)", `{}`, `{}`, ""},
		{"list", "def execute(p, q): return {}", `[1]`, "", "one JSON object"},
		{"syntax", "def execute(", `{}`, "", "SyntaxError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Named json, so that a loader which shadows modules fails.
			tool := filepath.Join(t.TempDir(), "json.py")
			writeFile(t, tool, []byte(c.src))
			cmd := exec.CommandContext(t.Context(), python, "-B", loader, tool, "/proj")
			cmd.Env = append(os.Environ(), "PYTHONUTF8=1")
			cmd.Stdin = strings.NewReader(c.stdin)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			got := strings.TrimSpace(string(out))
			if c.fails == "" {
				if err != nil || got != c.want {
					t.Errorf("got %s, %v, want %s\n%s", got, err, c.want, stderr.String())
				}
				return
			}
			if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(got, `"success": false`) || !strings.Contains(got, c.fails) {
				t.Errorf("got %s, exit %d, want a failure with %q", got, cmd.ProcessState.ExitCode(), c.fails)
			}
			if strings.Contains(got, "\n") {
				t.Errorf("stdout holds more than the result: %q", got)
			}
		})
	}
}

// The strict YAML reader accepts every YAML file of the bundle without a word.
func TestYAMLIsStrict(t *testing.T) {
	for p, b := range disk(t) {
		if filepath.Ext(p) != ".yaml" {
			continue
		}
		if _, fs := yamlx.Parse(b); len(fs) > 0 {
			t.Errorf("%s: %v", p, fs)
		}
	}
}
