package stdlib_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// resolver reads the embedded bundle as the program does, with no other space.
func resolver(t testing.TB) *resolve.Resolver {
	t.Helper()
	return resolverOf(t, stdlib.FS(), nil)
}

// resolverOf reads the items of files. Parsed may be nil.
func resolverOf(t testing.TB, files fs.FS, parsed *resolve.Parsed) *resolve.Resolver {
	t.Helper()
	spaces, err := space.Discover(space.Params{System: files, Layer: stdlib.Bundle})
	if err != nil {
		t.Fatal(err)
	}
	store, fs := trust.Load(trust.Params{Anchors: []trust.Anchor{{
		Public: signer(t).Public(), Owner: "rye", EmbeddedOnly: true,
		Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}},
	}}})
	if diag.Failed(fs) {
		t.Fatal(fs)
	}
	return resolve.New(resolve.Params{Spaces: spaces, Trust: store, Parsed: parsed})
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
			t.Errorf("%s has guessed values", it.Ref)
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
		for _, f := range fs { // a comma in a description that is not quoted makes a keyword of its end
			t.Errorf("%s: %s", it.Ref, f)
		}
		for _, v := range s.Validate(s.Defaults(map[string]any{"no such parameter": true})) {
			if strings.Contains(v.Message, "no such parameter") || v.Keyword == "additionalProperties" {
				return
			}
		}
		t.Errorf("%s accepts a parameter that it does not declare", it.Ref)
	})
}

// Templates, schemas and keys are valid, and settings match their own schema.
func TestLint(t *testing.T) {
	r := resolver(t)
	everyOf(t, r, func(it *resolve.Item) {
		for _, f := range r.Lint(t.Context(), it) {
			t.Errorf("%s: %s", it.Ref, f)
		}
	})
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
		Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign"}}}}})
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

// TestRiskOfTheSystem wants the classes and the patterns of the embedded bundle, which are
// read at different times.
func TestRiskOfTheSystem(t *testing.T) {
	k, err := resolve.Risk(t.Context(), resolver(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Rate(item.Ref{Kind: item.Tool, ID: "rye/file-system/read"}, ""); err != nil || got.Class != policy.T0 {
		t.Errorf("class %+v, %v", got, err)
	}
	found := k.Shell("rm -rf /")
	if len(found) == 0 || found[0].ID != "rm-recursive" || len(k.Shell("echo hi")) > 0 {
		t.Errorf("the patterns found %v", found)
	}
}
