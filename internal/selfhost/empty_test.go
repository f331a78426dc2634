package selfhost_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/verify"
)

const hello = `#!/usr/bin/env bash
# version: 1.0.0
# tool_type: script
# executor_id: acme/run
# description: Say hello.
echo hello
`

// notFound demands that a verb failed because an item is missing, in these
// words, and with the status of a missing item.
func notFound(t *testing.T, verb string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "not found in any space: ") {
		t.Errorf("%s: %v, want: not found in any space: …", verb, err)
		return
	}
	if code := diag.CodeOf(err); code.Class() != diag.ClassNotFound {
		t.Errorf("%s: code %s is of class %s", verb, code, code.Class())
	}
}

// T1: without a system bundle every verb fails, also for items that the project
// holds and signed: nothing in the program steps in.
func TestEmptyProgram(t *testing.T) {
	w := newWorld(t)
	w.system = nil
	w.put(w.project, "tools/acme/hello.sh", []byte(hello))
	w.put(w.project, "knowledge/acme/note.md", []byte("---\ntitle: Note\nversion: 1.0.0\n---\nText.\n"))
	ctx, h := t.Context(), w.open()
	kinds := []item.Kind{item.Tool, item.Directive, item.Knowledge, item.Config}
	for _, id := range []string{"acme/hello", "acme/note", "rye/core/system/system", "no/such"} {
		_, err := h.primary.Tool(ctx, primary.Call{Held: policy.Person(), Ref: tool(id)})
		notFound(t, "execute tool "+id, err)
		_, err = h.primary.Tool(ctx, primary.Call{Held: policy.Person(), Ref: tool(id), DryRun: true})
		notFound(t, "execute tool --dry-run "+id, err)
		_, err = h.primary.Directive(ctx, primary.Call{Held: policy.Person(), Ref: item.Ref{Kind: item.Directive, ID: id}})
		notFound(t, "execute directive "+id, err)
		for _, k := range kinds {
			_, err = h.primary.Load(ctx, primary.LoadCall{Held: policy.Person(), Ref: item.Ref{Kind: k, ID: id}})
			notFound(t, "load "+string(k)+" "+id, err)
		}
		_, err = h.resolver.Ref(ctx, id)
		notFound(t, "naming "+id, err)
	}
	for _, k := range kinds {
		_, err := h.resolver.All(ctx, k)
		notFound(t, "list "+string(k), err)
	}
}

// T1: sign, verify and trust create the content of a workspace, so they work in an
// empty one, and say what they did without.
func TestEmptyProgramSignsAndVerifies(t *testing.T) {
	w := newWorld(t)
	w.system = nil
	w.write(w.project, "tools/acme/hello.sh", []byte(hello))
	w.write(w.project, "config/acme/limits.yaml", []byte("schema_version: 1.0.0\n"))
	ctx, h := t.Context(), w.lenient()
	reports, err := h.primary.Sign(ctx, primary.SignCall{Held: policy.Person(), Targets: []string{"*"}, Dir: w.project, Signer: w.key})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.Status != primary.Signed || r.Signer != sign.FingerprintOf(w.key.Public()).String() {
			t.Errorf("%s is %s: %v", r.Path, r.Status, r.Findings)
		}
	}
	if len(reports) != 2 {
		t.Errorf("%d files signed, want 2", len(reports))
	}
	h = w.lenient()
	r, err := verify.Root(ctx, verify.Params{Resolver: h.resolver, Trust: h.trust}, h.spaces.Of(space.Project))
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed() || len(r.Files) != 2 {
		t.Errorf("%d files, findings %v", len(r.Files), r.Findings)
	}
	for _, f := range r.Files {
		if f.Verdict.Status != trust.Trusted {
			t.Errorf("%s is %s", f.Path, f.Verdict.Status)
		}
	}
	said := 0
	for _, f := range r.Findings {
		if f.Code == diag.SchemaNotFound && strings.Contains(f.Message, "built-in minimum") {
			said++
		}
	}
	if said != 4 {
		t.Errorf("%d of 4 kinds have the warning about the built-in minimum: %v", said, r.Findings)
	}
	if keys := h.trust.Keys(); len(keys) == 0 || !keys[0].Own || keys[0].State != trust.StateValid {
		t.Errorf("the store does not list the user's own key: %+v", keys)
	}
}

// A project can add every item but the sealed ones to an empty workspace: no
// item of the bundle is reached by anything but its id.
func TestProjectFurnishesAnEmptyProgram(t *testing.T) {
	w := newWorld(t)
	w.system = nil
	for rel, b := range systemBodies(t) {
		w.put(w.project, rel, b)
	}
	w.program("bash")
	ctx, h := t.Context(), w.open()
	if _, err := h.primary.Load(ctx, primary.LoadCall{Held: policy.Person(), Ref: item.Ref{Kind: item.Knowledge, ID: "rye/core/trust-model"}}); err != nil {
		t.Errorf("load: %v", err)
	}
	if _, err := h.primary.Directive(ctx, primary.Call{Held: policy.Person(), Ref: item.Ref{Kind: item.Directive, ID: "rye/core/create_knowledge"},
		Args: []string{"name=a", "category=b", "description=c"}}); err != nil {
		t.Errorf("directive: %v", err)
	}
	if it, err := h.resolver.Find(ctx, tool("rye/core/runtimes/bash_runtime")); err != nil || it.Root.Space != space.Project {
		t.Errorf("the project's runtime: %v", err)
	}
	w.put(w.project, "tools/acme/probe.yaml", yamlTool("rye/core/runtimes/bash_runtime"))
	_, err := w.open().executor.Chain(ctx, tool("acme/probe"))
	notFound(t, "a chain without the sealed primitive", err)
	if err != nil && !strings.Contains(err.Error(), "rye/core/primitives/subprocess") {
		t.Errorf("the error does not name the primitive: %v", err)
	}
	for _, s := range resolve.Seals() {
		ref, _ := item.ParseRef(strings.TrimSuffix(s.Ref, "/"), "")
		if _, err := w.open().resolver.Find(ctx, ref); err == nil {
			t.Errorf("%s is found without a system space", ref)
		}
	}
}

// systemBodies returns the body of every signed file of the bundle, by path
// below .ai.
func systemBodies(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(stdlib.FS(), ".ai", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(p, ".ai/bundles/") {
			return err
		}
		b, err := fs.ReadFile(stdlib.FS(), p)
		out[strings.TrimPrefix(filepath.ToSlash(p), ".ai/")] = bodyOf(t, p, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bodyOf takes the signature line off.
func bodyOf(t *testing.T, name string, b []byte) []byte {
	t.Helper()
	for _, s := range sign.Styles() {
		if sp, err := sign.SplitFile(b, s); err == nil && sp.Signed {
			return sp.Body()
		}
	}
	t.Fatalf("%s carries no signature line", name)
	return nil
}
