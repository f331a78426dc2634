package selfhost_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

const bashRuntime = "tools/rye/core/runtimes/bash_runtime.yaml"

// T4: an executor_id is a static edge. A runtime of the project serves the
// project's tools; tools of the user and of the system do not depend on it.
func TestProjectRuntimeCapturesNobodyElse(t *testing.T) {
	w := newWorld(t)
	w.program("bash")
	probe := func(id string) []byte {
		return yamlTool("rye/core/runtimes/bash_runtime", "category: "+id+"\n")
	}
	w.addSystem("tools/rye/extra/probe.yaml", probe("rye/extra"))
	w.put(w.user, "tools/mine/probe.yaml", probe("mine"))
	w.put(w.project, "tools/acme/probe.yaml", probe("acme"))
	body := systemBodies(t)[bashRuntime]
	override := func(base, timeout string) {
		w.put(base, bashRuntime, replaced(t, body, `timeout: \d+`, "timeout: "+timeout))
	}
	check := func(what string, want map[string]string) {
		t.Helper()
		h := w.open()
		for id, s := range want {
			label, timeout, _ := strings.Cut(s, " ")
			if got := h.mustChain(t, tool(id))[1].Root.Label(); got != label {
				t.Errorf("%s: %s is executed by the runtime of %s, want %s", what, id, got, label)
			}
			if got := h.mustPlan(t, tool(id), nil).Timeout.String(); got != timeout {
				t.Errorf("%s: %s has a timeout of %s, want %s", what, id, got, timeout)
			}
		}
	}
	check("nothing is overridden", map[string]string{
		"rye/extra/probe": "system:rye-core 5m0s", "mine/probe": "system:rye-core 5m0s", "acme/probe": "system:rye-core 5m0s"})
	override(w.project, "7")
	check("the project overrides", map[string]string{
		"rye/extra/probe": "system:rye-core 5m0s", "mine/probe": "system:rye-core 5m0s", "acme/probe": "project 7s"})
	override(w.user, "9")
	check("the user overrides too", map[string]string{
		"rye/extra/probe": "system:rye-core 5m0s", "mine/probe": "user 9s", "acme/probe": "project 7s"})
	w.layer = filepath.Join(w.bin, "installed")
	override(w.layer, "11")
	w.put(w.layer, "tools/corp/probe.yaml", probe("corp"))
	check("an installed system space overrides too", map[string]string{
		"rye/extra/probe": "system:rye-core 5m0s", "corp/probe": "system:installed 11s", "mine/probe": "user 9s", "acme/probe": "project 7s"})
	w.layer = ""
	w.remove(w.project, bashRuntime)
	check("only the user overrides", map[string]string{
		"rye/extra/probe": "system:rye-core 5m0s", "mine/probe": "user 9s", "acme/probe": "user 9s"})
	w.write(w.project, bashRuntime, body)
	h := w.open()
	_, err := h.executor.Chain(t.Context(), tool("acme/probe"))
	wantCode(t, "an unsigned runtime in the project", err, diag.Unsigned)
	for _, id := range []string{"rye/extra/probe", "mine/probe"} {
		if _, err := h.executor.Chain(t.Context(), tool(id)); err != nil {
			t.Errorf("an unsigned runtime in the project disturbs %s: %v", id, err)
		}
	}
}

// A lower space never depends on a higher one: a runtime that only the project
// holds does not exist for a tool of the user.
func TestUserToolCannotReachTheProject(t *testing.T) {
	w := newWorld(t)
	w.program("bash")
	w.put(w.project, "tools/acme/run.yaml", bytes.Replace(systemBodies(t)[bashRuntime], []byte("category: rye/core/runtimes\n"), nil, 1))
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("acme/run"))
	w.put(w.user, "tools/mine/probe.yaml", yamlTool("acme/run"))
	h := w.open()
	h.mustChain(t, tool("acme/probe"))
	_, err := h.executor.Chain(t.Context(), tool("mine/probe"))
	wantCode(t, "a tool of the user with a runtime of the project", err, diag.ExecutorNotFound)
}

// edited is an item of the system with one text exchanged.
func edited(t *testing.T, rel, old, with string) []byte {
	t.Helper()
	body := systemBodies(t)[rel]
	if !bytes.Contains(body, []byte(old)) {
		t.Fatalf("%s does not hold %q", rel, old)
	}
	return bytes.Replace(body, []byte(old), []byte(with), 1)
}

const toolExtractor = "tools/rye/core/extractors/tool/tool_extractor.yaml"

// T4: an override may narrow what rye accepts.
func TestExtractorMayNarrow(t *testing.T) {
	w := newWorld(t)
	w.program("bash")
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("rye/core/runtimes/bash_runtime"))
	w.open().mustChain(t, tool("acme/probe"))
	w.put(w.project, toolExtractor, edited(t, toolExtractor, "author: {type: string}", "author: {type: string, required: true}"))
	_, err := w.open().executor.Chain(t.Context(), tool("acme/probe"))
	wantCode(t, "a tool without the author that the project demands", err, diag.ValidationFailed)
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("rye/core/runtimes/bash_runtime", "author: ada\n"))
	_, err = w.open().executor.Chain(t.Context(), tool("acme/probe"))
	wantCode(t, "a tool whose runtime lacks the author", err, diag.ValidationFailed)
}

// T4: an extractor may not ask less of an item than the boot table does, so
// that no project makes what has no version, or another name, pass as valid.
func TestExtractorMayNotAskLess(t *testing.T) {
	const schema = "\nvalidation_schema:\n"
	body := string(systemBodies(t)[toolExtractor])
	rules, _, ok := strings.Cut(body, schema)
	if !ok {
		t.Fatalf("%s has no validation schema", toolExtractor)
	}
	for name, lax := range map[string]string{
		"no schema":        rules + "\n",
		"no rules":         rules + schema + "  fields: {}\n",
		"nothing demanded": rules + schema + "  fields:\n    version: {}\n    description: {required: false}\n    name: {}\n    category: {}\n    executor_id: {nullable: true}\n",
		"anything goes":    rules + schema + "  fields:\n    version: {type: string, nullable: true}\n    description: {nullable: true}\n    name: {nullable: true}\n",
	} {
		w := newWorld(t)
		w.program("bash")
		w.put(w.project, toolExtractor, []byte(lax))
		w.put(w.project, "tools/acme/probe.yaml", yamlTool("rye/core/runtimes/bash_runtime"))
		w.open().mustChain(t, tool("acme/probe"))
		for what, b := range map[string]string{
			"no version":        "tool_type: tool\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: A probe.\n",
			"a version of null": "version: null\ntool_type: tool\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: A probe.\n",
			"half a version":    "version: '1.0'\ntool_type: tool\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: A probe.\n",
			"no description":    "version: 1.0.0\ntool_type: tool\nexecutor_id: rye/core/runtimes/bash_runtime\n",
			"another name":      string(yamlTool("rye/core/runtimes/bash_runtime", "name: other\n")),
			"another folder":    string(yamlTool("rye/core/runtimes/bash_runtime", "category: rye/core\n")),
		} {
			w.put(w.project, "tools/acme/probe.yaml", []byte(b))
			_, err := w.open().executor.Chain(t.Context(), tool("acme/probe"))
			wantCode(t, name+", "+what, err, diag.ValidationFailed)
		}
	}
}

// T4: what would widen is refused, with the reason.
func TestWideningIsRefused(t *testing.T) {
	const parser = "tools/rye/core/parsers/yaml.yaml"
	const dirExtractor = "tools/rye/core/extractors/directive/directive_extractor.yaml"
	for _, c := range []struct {
		name, rel, old, with string
		kind                 item.Kind
		want                 diag.Code
		message              string
	}{
		{"a codec that is not compiled in", parser, "codec: yaml", "codec: python-exec", item.Tool, diag.ConfigError, `codec "python-exec" is not one of yaml, json`},
		{"a parser without a codec", parser, "codec: yaml", "codes: yaml", item.Tool, diag.ConfigError, "is not one of"},
		{"a comment style of its own", toolExtractor, `{ext: .py, parser: rye/core/parsers/python, comment: "#"}`, `{ext: .py, parser: rye/core/parsers/python, comment: "%"}`, item.Tool, diag.ConfigError, "must be one of #"},
		{"no comment style", toolExtractor, `parsers/python, comment: "#"}`, `parsers/python, comment: bare}`, item.Tool, diag.ConfigError, "must be one of #"},
		{"the kind of another", dirExtractor, "kind: directive", "kind: tool", item.Directive, diag.ConfigError, "must declare kind directive"},
		{"the folder of trust documents", dirExtractor, "folder: directives", "folder: trust", item.Directive, diag.ConfigError, "rye does not use itself"},
		{"a folder outside", dirExtractor, "folder: directives", "folder: ../directives", item.Directive, diag.ConfigError, "one plain segment"},
		{"a rule that does not exist", toolExtractor, "author: {type: string}", "author: {type: string, allow: all}", item.Tool, diag.ConfigError, `unknown field "validation_schema.fields.author.allow"`},
		{"a parser that does not exist", toolExtractor, "rye/core/parsers/python,", "acme/parsers/python,", item.Tool, diag.ToolNotFound, "acme/parsers/python"},
	} {
		w := newWorld(t)
		w.put(w.project, c.rel, edited(t, c.rel, c.old, c.with))
		_, err := w.open().resolver.Extractor(t.Context(), c.kind)
		wantCode(t, c.name, err, c.want)
		if err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want it to contain %q", c.name, err, c.message)
		}
		_, err = w.open().resolver.Find(t.Context(), item.Ref{Kind: c.kind, ID: "rye/bash/bash"})
		wantCode(t, c.name+", for an item", err, c.want)
	}
}

// The signature format of what the boot table knows is sealed: an extractor
// that restyles it changes nothing, so no signature is read otherwise.
func TestSignatureFormatIsSealed(t *testing.T) {
	const rt = "tools/rye/core/extractors/knowledge/knowledge_extractor.yaml"
	for _, c := range []struct{ name, old, with string }{
		{"another comment", `comment: "<!--"}`, `comment: "#"}`},
		{"a detached signature", `comment: "<!--"}`, `signature: detached}`},
		{"all detached", "item_id: path", "item_id: path\nsignature: detached"},
		{"another folder", "folder: knowledge", "folder: facts"},
		{"another form of id", "item_id: path", "item_id: parent_dir\nitem_file: README.md"},
	} {
		w := newWorld(t)
		w.put(w.project, "knowledge/acme/note.md", []byte("---\ntitle: Note\nversion: 1.0.0\n---\nText.\n"))
		before, err := w.open().resolver.Extractor(t.Context(), item.Knowledge)
		if err != nil {
			t.Fatal(err)
		}
		w.put(w.project, rt, edited(t, rt, c.old, c.with))
		h := w.open()
		after, err := h.resolver.Extractor(t.Context(), item.Knowledge)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(after.Types, after.Folder, after.ID, after.File) != fmt.Sprint(before.Types, before.Folder, before.ID, before.File) {
			t.Errorf("%s: the extractor has %v %s %s", c.name, after.Types, after.Folder, after.ID)
		}
		if _, err := h.resolver.Find(t.Context(), item.Ref{Kind: item.Knowledge, ID: "acme/note"}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Only rye supplies primitives, and a tool does not choose its command where a
// runtime does.
func TestChainCannotBeWidened(t *testing.T) {
	primitive := []byte("version: 1.0.0\ntool_type: primitive\nexecutor_id: null\ndescription: Mine.\nconfig: {command: bash}\n")
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  diag.Code
	}{
		{"a primitive of one's own", map[string][]byte{"prim": primitive, "probe": yamlTool("acme/prim")}, diag.ExecutorNotFound},
		{"a tool that calls itself a primitive", map[string][]byte{"probe": primitive}, diag.ExecutorNotFound},
		{"a tool as a runtime", map[string][]byte{"other": yamlTool("rye/core/primitives/subprocess"), "probe": yamlTool("acme/other")}, diag.ValidationFailed},
		{"a circle", map[string][]byte{"probe": yamlTool("acme/other"), "other": yamlTool("acme/probe")}, diag.CircularDependency},
		{"itself", map[string][]byte{"probe": yamlTool("acme/probe")}, diag.CircularDependency},
		{"no executor at all", map[string][]byte{"probe": []byte("version: 1.0.0\ntool_type: tool\ndescription: A probe.\n")}, diag.ValidationFailed},
	} {
		w := newWorld(t)
		w.program("bash")
		for name, b := range c.files {
			w.put(w.project, "tools/acme/"+name+".yaml", b)
		}
		_, err := w.open().executor.Chain(t.Context(), tool("acme/probe"))
		wantCode(t, c.name, err, c.want)
	}
	w := newWorld(t)
	w.program("bash")
	w.program("evil")
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("rye/core/runtimes/bash_runtime",
		"config: {command: evil, args: [a], env: {BASH_ENV: x}, cwd: /}\nenv_config: {env: {RYE_NOTE: seen}}\n"))
	p := w.open().mustPlan(t, tool("acme/probe"), map[string]any{"command": "evil", "args": "evil"})
	if filepath.Base(p.Argv[0]) == "evil" || p.Dir != w.project || strings.Contains(strings.Join(p.Env, " "), "BASH_ENV") {
		t.Errorf("the tool's config changed the command: %q in %s", p.Argv, p.Dir)
	}
	if !strings.Contains(strings.Join(p.Env, " "), "RYE_NOTE=seen") {
		t.Errorf("what the tool declares for its environment is missing: %q", p.Env)
	}
}

// A chain has ten elements at most.
func TestChainDepth(t *testing.T) {
	w := newWorld(t)
	w.program("bash")
	chain := func(n int) { // n runtimes between the tool and the primitive
		for i := range n {
			next := fmt.Sprintf("acme/r%d", i+1)
			if i == n-1 {
				next = "rye/core/primitives/subprocess"
			}
			b := strings.Replace(string(yamlTool(next, "config: {command: bash}\n")), "tool_type: tool", "tool_type: runtime", 1)
			w.put(w.project, fmt.Sprintf("tools/acme/r%d.yaml", i), []byte(b))
		}
	}
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("acme/r0"))
	chain(8)
	if got := len(w.open().mustChain(t, tool("acme/probe"))); got != 10 {
		t.Errorf("the chain has %d elements", got)
	}
	chain(9)
	_, err := w.open().executor.Chain(t.Context(), tool("acme/probe"))
	wantCode(t, "a chain of eleven", err, diag.ChainTooDeep)
}

// A project proposes trust and never brings its own: its documents, its
// grants and its signatures change nothing for an override.
func TestProjectBringsNoTrust(t *testing.T) {
	w := newWorld(t)
	mallory := seeded(66)
	ctx := t.Context()
	name, document, err := doc.NewKey(ctx, doc.KeyParams{Owner: "mallory", NotBefore: w.now.AddDate(0, -1, 0), Scope: everything(), Now: w.now}, mallory)
	if err != nil {
		t.Fatal(err)
	}
	gname, grant, err := doc.NewGrant(ctx, doc.PermissionParams{Document: document, Scope: everything(), Now: w.now}, mallory)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{name: document, gname: grant} {
		w.write(w.project, "trust/"+name, b)
	}
	w.write(w.project, bashRuntime, signed(t, mallory, w.now, bashRuntime, systemBodies(t)[bashRuntime]))
	h := w.open()
	if n := len(h.trust.Proposals()); n == 0 {
		t.Error("the project's documents are not read as proposals")
	}
	_, err = h.resolver.Find(ctx, tool("rye/core/runtimes/bash_runtime"))
	wantCode(t, "an override signed by a key that the project brings", err, diag.KeyUnknown)
	if err != nil && !strings.Contains(err.Error(), "proposes") {
		t.Errorf("the refusal does not say that the project proposes the key: %v", err)
	}
}

// Signing does not reach the system space.
func TestSystemItemsAreNotSigned(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{"tool:rye/bash/bash", "rye/core/trust-model"} {
		_, err := w.lenient().primary.Sign(t.Context(), primary.SignCall{Held: policy.Person(), Targets: []string{target}, Dir: w.project, Signer: w.key})
		wantCode(t, "signing "+target, err, diag.PermissionDenied)
	}
	reports, err := w.lenient().primary.Sign(t.Context(), primary.SignCall{Held: policy.Person(), Targets: []string{"tool:**"}, Dir: w.project, Signer: w.key})
	wantCode(t, "signing all tools of an empty project", err, diag.ItemNotFound)
	if len(reports) > 0 {
		t.Errorf("%d files were touched", len(reports))
	}
}

// The documented way to an override: copy, edit,
// sign.
func TestEjectEditSign(t *testing.T) {
	w := newWorld(t)
	const rel = "tools/rye/file-system/ls.yaml"
	ctx, ref := t.Context(), tool("rye/file-system/ls")
	it, err := w.open().resolver.Find(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.project, rel, it.Bytes)
	_, err = w.open().resolver.Find(ctx, ref)
	wantCode(t, "the copy as it is", err, diag.KeyUnknown)
	w.write(w.project, rel, replaced(t, it.Bytes, `timeout: \d+`, "timeout: 7"))
	_, err = w.open().resolver.Find(ctx, ref)
	wantCode(t, "the edited copy", err, diag.HashMismatch)
	reports, err := w.lenient().primary.Sign(ctx, primary.SignCall{Held: policy.Person(), Targets: []string{"tool:rye/file-system/ls"}, Dir: w.project, Signer: w.key})
	if err != nil || len(reports) != 1 || reports[0].Status != primary.Signed {
		t.Fatalf("signing the copy: %+v, %v", reports, err)
	}
	if p := w.open().mustPlan(t, ref, nil); p.Timeout != 7*time.Second || p.Chain.Tool().Root.Space != space.Project {
		t.Errorf("the system's tool still answers, with a timeout of %s", p.Timeout)
	}
	b, err := os.ReadFile(filepath.Join(w.project, ".ai", filepath.FromSlash(rel)))
	if err != nil {
		t.Fatal(err)
	}
	style := sign.Hash()
	if sp, err := sign.SplitFile(b, style); err != nil || sp.Line.Key != sign.FingerprintOf(w.key.Public()) {
		t.Errorf("the copy is not signed by the user's key: %v", err)
	}
}

// Everything that Seals lists is there for a reason that a reader can check.
func TestSealsNameSystemItems(t *testing.T) {
	for _, s := range resolve.Seals() {
		if !strings.HasPrefix(s.Ref, "tool:rye/core/") {
			t.Errorf("%s: only items of rye are sealed", s.Ref)
		}
		if len(s.Reason) < 20 {
			t.Errorf("%s is sealed without a reason", s.Ref)
		}
		ref, err := item.ParseRef(strings.TrimSuffix(s.Ref, "/"), "")
		if err != nil {
			t.Errorf("%s: %v", s.Ref, err)
			continue
		}
		inside := ref
		if strings.HasSuffix(s.Ref, "/") {
			inside.ID += "/any"
		}
		if !resolve.Sealed(inside) {
			t.Errorf("%s is listed and not sealed", inside)
		}
		if near := tool(ref.ID + "x"); resolve.Sealed(near) {
			t.Errorf("%s is sealed and not listed", near)
		}
	}
}
