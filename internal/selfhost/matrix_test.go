package selfhost_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/provider"
)

// entry is one item of the embedded manifest.
type entry struct {
	rel string
	it  *resolve.Item // as the system space supplies it
}

func (e entry) body(t *testing.T) []byte { return bodyOf(t, e.rel, e.it.Bytes) }

// entries lists every entry of the embedded manifest as an item. An entry that
// is not an item or a support file of one is a failure: it would not be tested.
func entries(t *testing.T) []entry {
	t.Helper()
	b, err := fs.ReadFile(stdlib.FS(), bundle.ManifestPath(stdlib.Bundle))
	if err != nil {
		t.Fatal(err)
	}
	m, findings := bundle.Parse(b)
	if m == nil {
		t.Fatal(findings)
	}
	h := newWorld(t).open()
	var out []entry
	for _, f := range m.Files {
		rel := strings.TrimPrefix(f.Path, ".ai/")
		place, ok := extract.Boot().Classify(rel)
		if !ok || place.Ref.IsZero() {
			t.Errorf("%s is not an item", f.Path)
			continue
		}
		it, err := h.resolver.Inspect(t.Context(), place.Ref)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{rel, it})
	}
	if len(out) < 36 {
		t.Fatalf("only %d entries", len(out))
	}
	return out
}

// eachItem runs f for every item of the bundle that is sealed, or not, in
// parallel. With -short it runs f for the first item of each type.
func eachItem(t *testing.T, sealed bool, f func(*testing.T, entry)) {
	t.Helper()
	n := 0
	tried := map[string]bool{}
	for _, e := range entries(t) {
		if e.it.Support() || resolve.Sealed(e.it.Ref) != sealed {
			continue
		}
		n++
		sort := string(e.it.Ref.Kind) + " " + e.it.Meta.ToolType
		if testing.Short() && tried[sort] {
			continue
		}
		tried[sort] = true
		t.Run(e.it.Ref.String(), func(t *testing.T) {
			t.Parallel()
			f(t, e)
		})
	}
	if n < 2 {
		t.Errorf("only %d items with sealed %t", n, sealed)
	}
}

// newer is the body with the next version: another item that is as valid.
func newer(t *testing.T, body []byte) []byte {
	t.Helper()
	out := bytes.Replace(body, []byte("1.0.0"), []byte("1.0.1"), 1)
	if bytes.Equal(out, body) {
		t.Fatal("the item has no version 1.0.0 to change")
	}
	return out
}

// T3: a changed and signed copy in the project wins over all others, for every
// item that is not sealed; one in the user space wins over the system's, and one
// in an installed system space over the embedded one.
func TestOverrideMatrix(t *testing.T) {
	eachItem(t, false, func(t *testing.T, e entry) {
		w := newWorld(t)
		w.layer = filepath.Join(w.bin, "installed")
		body := newer(t, e.body(t))
		layer := w.put(w.layer, e.rel, body)
		wantSupplier(t, w.open(), e.it.Ref, "system:installed", layer, "system:rye-core")
		user := w.put(w.user, e.rel, append(body, '\n'))
		wantSupplier(t, w.open(), e.it.Ref, "user", user, "system:installed", "system:rye-core")
		project := w.put(w.project, e.rel, append(body, "\n\n"...))
		wantSupplier(t, w.open(), e.it.Ref, "project", project, "user", "system:installed", "system:rye-core")
	})
}

// wantSupplier demands that a space supplies an item with exactly these bytes,
// and that all functions that list items report it, the shadowed ones in order.
func wantSupplier(t *testing.T, h *workspace, ref item.Ref, label string, b []byte, shadowed ...string) {
	t.Helper()
	ctx := t.Context()
	it, err := h.resolver.Find(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	if it.Root.Label() != label || it.Digest != item.DigestOf(b) || it.Meta.Version != "1.0.1" && ref.Kind != item.Config {
		t.Errorf("%s supplies version %s, %s; want %s, %s", it.Root.Label(), it.Meta.Version, it.Digest, label, item.DigestOf(b))
	}
	if el := primary.ElementOf(it); el.Space != label || el.Digest != item.DigestOf(b) {
		t.Errorf("the element is %s %s", el.Space, el.Digest)
	}
	shadows, err := h.resolver.Shadows(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	wantShadows(t, "Shadows", shadows, label, shadowed)
	all, err := h.resolver.All(ctx, ref.Kind)
	if err != nil {
		t.Fatal(err)
	}
	wantShadows(t, "All", slices.DeleteFunc(all, func(x resolve.Entry) bool { return x.Ref != ref }), label, shadowed)
}

func wantShadows(t *testing.T, what string, got []resolve.Entry, label string, shadowed []string) {
	t.Helper()
	var used, unused []string
	for _, s := range got {
		if s.Shadow {
			unused = append(unused, s.Root.Label())
		} else {
			used = append(used, s.Root.Label())
		}
	}
	slices.Sort(unused)
	want := slices.Sorted(slices.Values(shadowed))
	if !slices.Equal(used, []string{label}) || !slices.Equal(unused, want) {
		t.Errorf("%s: %v supply it, %v are shadowed; want %s, %v", what, used, unused, label, want)
	}
}

// T3: the copy of a sealed item is never used, in any space and with any
// signature, and a broken one is ignored.
func TestSealedMatrix(t *testing.T) {
	eachItem(t, true, func(t *testing.T, e entry) {
		w := newWorld(t)
		w.layer = t.TempDir()
		body := newer(t, e.body(t))
		for _, base := range []string{w.project, w.user, w.layer} {
			w.put(base, e.rel, body)
		}
		wantSealed(t, w.open(), e)
		w.write(w.project, e.rel, body)
		wantSealed(t, w.open(), e)
	})
}

func wantSealed(t *testing.T, h *workspace, e entry) {
	t.Helper()
	ctx := t.Context()
	it, err := h.resolver.Find(ctx, e.it.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if !it.Root.Embedded() || it.Digest != e.it.Digest {
		t.Errorf("%s supplies %s, want the embedded one", it.Root.Label(), it.Digest)
	}
	shadows, err := h.resolver.Shadows(ctx, e.it.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if len(shadows) != 4 || !shadows[0].Root.Embedded() {
		t.Errorf("%d files hold it, the first in %s", len(shadows), shadows[0].Root.Label())
	}
	var others []string
	for _, s := range shadows[1:] {
		others = append(others, s.Root.Label())
	}
	wantShadows(t, "Shadows", shadows, "system:rye-core", others)
	for _, el := range h.mustChain(t, tool("rye/bash/bash"))[1:] {
		if !el.Root.Embedded() {
			t.Errorf("the chain of a system tool passes through %s", el.Path())
		}
	}
}

// An override that does not verify is refused; nothing falls back to the item
// that it would have replaced.
func TestBrokenOverrideIsRefused(t *testing.T) {
	stranger := seeded(7)
	eachItem(t, false, func(t *testing.T, e entry) {
		w := newWorld(t) // each case replaces the file and opens the project again
		body := newer(t, e.body(t))
		flipped := func(w *world) []byte {
			b := signed(t, w.key, w.now, e.rel, body)
			return bytes.Replace(b, []byte("1.0.1"), []byte("1.0.2"), 1)
		}
		renamed := func(w *world) []byte {
			return signed(t, w.key, w.now, path.Join(path.Dir(e.rel), "another_"+path.Base(e.rel)), body)
		}
		for _, c := range []struct {
			name string
			file func(w *world) []byte
			want diag.Code
		}{
			{"unsigned", func(*world) []byte { return body }, diag.Unsigned},
			{"signed by a stranger", func(w *world) []byte { return signed(t, stranger, w.now, e.rel, body) }, diag.KeyUnknown},
			{"signed by the development key", func(w *world) []byte { return signed(t, devKey(t), w.now, e.rel, body) }, diag.KeyUnknown},
			{"the system's own bytes", func(*world) []byte { return e.it.Bytes }, diag.KeyUnknown},
			{"changed after signing", flipped, diag.HashMismatch},
			{"signed under another id", renamed, diag.SigInvalid},
			{"signed tomorrow", func(w *world) []byte { return signed(t, w.key, w.now.Add(24*time.Hour), e.rel, body) }, diag.NotYetValid},
		} {
			w.write(w.project, e.rel, c.file(w))
			it, err := w.open().resolver.Find(t.Context(), e.it.Ref)
			wantCode(t, c.name, err, c.want)
			if it != nil && it.Root.Space != space.Project {
				t.Errorf("%s: the %s space answered", c.name, it.Root.Label())
			}
		}
	})
}

// A key that is trusted for acme/** cannot replace items of rye.
func TestScopedKeyCannotOverride(t *testing.T) {
	eachItem(t, false, func(t *testing.T, e entry) {
		w := newWorld(t)
		if err := os.RemoveAll(w.trustDir); err != nil {
			t.Fatal(err)
		}
		scope := everything()
		scope.Namespaces = []string{"acme/**"}
		w.own(w.key, scope)
		w.put(w.project, e.rel, newer(t, e.body(t)))
		_, err := w.open().resolver.Find(t.Context(), e.it.Ref)
		wantCode(t, "an override outside the key's namespaces", err, diag.Scope)
	})
}

// T3: the content of an override takes effect.
func TestOverrideTakesEffect(t *testing.T) {
	eachItem(t, false, func(t *testing.T, e entry) {
		w := newWorld(t)
		for _, name := range []string{"bash", "node", "python3"} {
			w.program(name)
		}
		switch {
		case e.it.Ref.Kind == item.Directive:
			directiveEffect(t, w, e)
		case e.it.Ref.Kind == item.Knowledge:
			knowledgeEffect(t, w, e)
		case e.it.Ref.Kind == item.Config:
			configEffect(t, w, e)
		case e.it.Meta.ToolType == "extractor":
			extractorEffect(t, w, e)
		case e.it.Meta.ToolType == "parser":
			parserEffect(t, w, e)
		case e.it.Meta.ToolType == "runtime":
			runtimeEffect(t, w, e)
		case e.it.Meta.ToolType == "tool":
			toolEffect(t, w, e)
		case e.it.Meta.ToolType == "sink":
			sinkEffect(t, w, e)
		case e.it.Meta.ToolType == "provider":
			providerEffect(t, w, e)
		case e.it.Meta.ToolType == "graph":
			graphEffect(t, w, e)
		default:
			t.Errorf("no test knows what a %s %s does", e.it.Ref.Kind, e.it.Meta.ToolType)
		}
	})
}

const mark = "\nThe project's own text.\n"

func directiveEffect(t *testing.T, w *world, e entry) {
	w.put(w.project, e.rel, append(e.body(t), mark...))
	call := primary.Call{Held: policy.Person(), Ref: e.it.Ref, Params: map[string]any{}}
	for _, in := range e.it.Meta.Inputs {
		call.Params[in.Name] = "x"
	}
	p, err := w.open().primary.Directive(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(p.Body, strings.TrimSpace(mark)) {
		t.Errorf("the prepared text is the system's")
	}
}

func knowledgeEffect(t *testing.T, w *world, e entry) {
	w.put(w.project, e.rel, append(e.body(t), mark...))
	it, err := w.open().primary.Load(t.Context(), primary.LoadCall{Held: policy.Person(), Ref: e.it.Ref})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(it.Meta.Body, []byte(strings.TrimSpace(mark))) {
		t.Errorf("the loaded text is the system's")
	}
}

// replaced changes the first match of a pattern, which must be there.
func replaced(t *testing.T, body []byte, pattern, with string) []byte {
	t.Helper()
	at := regexp.MustCompile(pattern).FindIndex(body)
	if at == nil {
		t.Fatalf("nothing matches %s", pattern)
	}
	return slices.Concat(body[:at[0]], []byte(with), body[at[1]:])
}

func extractorEffect(t *testing.T, w *world, e entry) {
	kind := item.Kind(e.it.Meta.Fields["kind"].(string))
	w.put(w.project, e.rel, replaced(t, e.body(t), `\n  name: 3\n`, "\n  name: 7\n"))
	ext, err := w.open().resolver.Extractor(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	if ext.Boot || ext.Search["name"] != 7 {
		t.Errorf("names weigh %v, the project sets 7", ext.Search["name"])
	}
}

// A parser item chooses among the codecs; every file type that names it
// follows.
func parserEffect(t *testing.T, w *world, e entry) {
	was := e.it.Meta.Fields["codec"].(string)
	now := "toml"
	if was == now {
		now = "yaml"
	}
	w.put(w.project, e.rel, replaced(t, e.body(t), `codec: \S+`, "codec: "+now))
	system, h := newWorld(t).open(), w.open()
	changed := 0
	for _, k := range []item.Kind{item.Tool, item.Directive, item.Knowledge, item.Config} {
		before, err := system.resolver.Extractor(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		after, err := h.resolver.Extractor(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for i, ft := range before.Types {
			want := ft.Codec
			if want == was {
				want = now
				changed++
			}
			if after.Types[i].Codec != want {
				t.Errorf("%s files of kind %s are read by %s, want %s", ft.Ext, k, after.Types[i].Codec, want)
			}
		}
	}
	if changed == 0 {
		t.Errorf("no file type is read by %s", was)
	}
}

// configEffect: a layer of the project lies over the system's and hides nothing
// that it does not say itself.
func configEffect(t *testing.T, w *world, e entry) {
	before, err := w.open().resolver.Config(t.Context(), e.it.Ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.put(w.project, e.rel, []byte("schema_version: 1.0.0\ndescription: The project's own text.\n"))
	after, err := w.open().resolver.Config(t.Context(), e.it.Ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	if after.Root["description"] != "The project's own text." || after.Origins()["description"] == before.Origins()["description"] {
		t.Errorf("the merged value is %v, of %s", after.Root["description"], after.Origins()["description"])
	}
	for key := range before.Root {
		if after.Root[key] == nil {
			t.Errorf("%s is lost", key)
		}
	}
}

func runtimeEffect(t *testing.T, w *world, e entry) {
	probe := tool("acme/probe")
	w.put(w.project, "tools/acme/probe.yaml", yamlTool(e.it.Ref.ID))
	declared, _ := e.it.Meta.Config["timeout"].(int64)
	if got := w.open().mustPlan(t, probe, nil).Timeout; got != time.Duration(declared)*time.Second || declared < 300 {
		t.Errorf("the system's runtime gives %s", got)
	}
	b := w.put(w.project, e.rel, replaced(t, e.body(t), `timeout: \d+`, "timeout: 7"))
	h := w.open()
	if el := h.mustChain(t, probe)[1]; el.Root.Space != space.Project || el.Digest != item.DigestOf(b) {
		t.Errorf("the chain passes through %s", el.Path())
	}
	if got := h.mustPlan(t, probe, nil).Timeout; got != 7*time.Second {
		t.Errorf("the plan has a timeout of %s, the project's runtime sets 7s", got)
	}
}

func toolEffect(t *testing.T, w *world, e entry) {
	b := w.put(w.project, e.rel, replaced(t, e.body(t), `timeout: \d+`, "timeout: 7"))
	params := map[string]any{}
	required, _ := e.it.Meta.Schema["required"].([]any)
	if alternatives, _ := e.it.Meta.Schema["anyOf"].([]any); len(alternatives) > 0 {
		more, _ := alternatives[0].(map[string]any)["required"].([]any)
		required = append(slices.Clone(required), more...)
	}
	for _, name := range required {
		params[name.(string)] = sample(e.it.Meta.Schema, name.(string))
	}
	h := w.open()
	p := h.mustPlan(t, e.it.Ref, params)
	if el := p.Chain.Tool(); el.Root.Space != space.Project || el.Digest != item.DigestOf(b) {
		t.Errorf("the chain begins with %s", el.Path())
	}
	if p.Timeout != 7*time.Second {
		t.Errorf("the plan has a timeout of %s, the project's tool sets 7s", p.Timeout)
	}
	run, err := h.primary.Tool(t.Context(), primary.Call{Held: policy.Person(), Ref: e.it.Ref, Params: params, DryRun: true})
	if err != nil || run.Metadata.Chain[0].Space != "project" || run.Metadata.Chain[0].Digest != item.DigestOf(b) {
		t.Errorf("the dry run's envelope has %+v, %v", run.Metadata.Chain, err)
	}
}

// providerEffect describes another window of a model; the scripts of threads call one.
func providerEffect(t *testing.T, w *world, e entry) {
	w.put(w.project, e.rel, replaced(t, e.body(t), `window: \d+`, "window: 4321"))
	c, findings := provider.Parse(e.it.Ref.ID, overridden(t, w, e))
	if c == nil {
		t.Fatal(findings)
	}
	for _, m := range c.Models {
		if m.Window == 4321 {
			return
		}
	}
	t.Errorf("no model has the window of the project's item: %+v", c.Models)
}

// graphEffect starts a graph at another node.
func graphEffect(t *testing.T, w *world, e entry) {
	w.put(w.project, e.rel, replaced(t, e.body(t), `\n  start: \w+\n`, "\n  start: done\n"))
	g, findings := graphdef.Parse(e.it.Ref, e.rel, overridden(t, w, e))
	if g == nil {
		t.Fatal(findings)
	}
	if g.Start != "done" {
		t.Errorf("the graph starts at %s, the project's at done", g.Start)
	}
}

// overridden is the document of an item, which the project supplies.
func overridden(t *testing.T, w *world, e entry) *tree.Doc {
	t.Helper()
	it, err := w.open().resolver.Find(t.Context(), e.it.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if it.Root.Space != space.Project {
		t.Errorf("%s supplies the item", it.Root.Label())
	}
	return &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}
}

// sinkEffect streams into a sink that the project replaces with another tool.
func sinkEffect(t *testing.T, w *world, e entry) {
	probe := tool("acme/probe")
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("rye/core/primitives/http_client",
		"config: {url: https://acme.test, mode: stream, sinks: [{sink: "+e.it.Ref.ID+settingsOf(e)+"}]}\n"))
	w.open().mustPlan(t, probe, nil)
	w.put(w.project, e.rel, replaced(t, e.body(t), `tool_type: sink`, "tool_type: script"))
	h := w.open()
	c, err := h.executor.Chain(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.executor.Plan(t.Context(), c, exec.Call{}, nil)
	wantCode(t, "a stream into a replaced sink", err, diag.ConfigError)
}

// settingsOf gives the settings that an item requires.
func settingsOf(e entry) string {
	out := ""
	required, _ := e.it.Meta.Schema["required"].([]any)
	for _, name := range required {
		out += ", " + name.(string) + ": x"
	}
	return out
}

// sample is a value that a declared parameter accepts.
func sample(schema map[string]any, name string) any {
	props, _ := schema["properties"].(map[string]any)
	p, _ := props[name].(map[string]any)
	if enum, _ := p["enum"].([]any); len(enum) > 0 {
		return enum[0]
	}
	switch p["type"] {
	case "integer", "number":
		return int64(1)
	case "boolean":
		return true
	case "array":
		element, _ := p["items"].(map[string]any)
		fields := map[string]any{}
		need, _ := element["required"].([]any)
		for _, n := range need {
			fields[n.(string)] = sample(element, n.(string))
		}
		return []any{fields}
	}
	return "x"
}

// A support file is reached from its runtime's own space: a project's copy
// neither becomes a tool nor slips under the system's runtime.
func TestSupportFilesAreStatic(t *testing.T) {
	n := 0
	for _, e := range entries(t) {
		if !e.it.Support() {
			continue
		}
		n++
		w := newWorld(t)
		w.put(w.project, e.rel, append(e.body(t), "\n# changed\n"...))
		_, err := w.open().resolver.Find(t.Context(), e.it.Ref)
		wantCode(t, "finding a support file", err, diag.ToolNotFound)
	}
	if n == 0 {
		t.Fatal("the bundle holds no support file")
	}
}

// Where the library of a runtime comes from: its own space, then lower ones.
func TestRuntimeLibraryFollowsItsRuntime(t *testing.T) {
	const lib = "tools/rye/core/runtimes/lib/python/function_loader.py"
	const rt = "tools/rye/core/runtimes/python_function_runtime.yaml"
	w := newWorld(t)
	w.program("python3")
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("rye/core/runtimes/python_function_runtime"))
	loader := func(what string) string {
		t.Helper()
		b, err := os.ReadFile(w.open().mustPlan(t, tool("acme/probe"), nil).Argv[1])
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return string(b)
	}
	bodies := systemBodies(t)
	system := loader("the system's runtime")
	own := string(w.put(w.project, lib, append(bodies[lib], "\n# changed\n"...)))
	if loader("a library without a runtime") != system {
		t.Error("the system's runtime takes the project's library")
	}
	w.put(w.project, rt, bodies[rt])
	if loader("a runtime with a library") != own {
		t.Error("the project's runtime does not take the project's library")
	}
	w.write(w.project, lib, append(bodies[lib], "\n# not signed\n"...))
	h := w.open()
	c, err := h.executor.Chain(t.Context(), tool("acme/probe"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.executor.Plan(t.Context(), c, exec.Call{}, nil)
	wantCode(t, "an unsigned library", err, diag.Unsigned)
	w.remove(w.project, lib)
	if loader("a runtime without a library") != system {
		t.Error("the project's runtime does not take the system's library")
	}
}
