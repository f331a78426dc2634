package resolve_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

const hello = "version: \"1.0.0\"\ntool_type: script\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: Says hello.\n"

func tool(id string) item.Ref { return item.Ref{Kind: item.Tool, ID: id} }

func resolver(h *testkit.Workspace, lenient bool) *resolve.Resolver {
	return resolve.New(resolve.Params{Spaces: h.Spaces(), Trust: h.Store(), Lenient: lenient})
}

func TestFind(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.User, "tools/demo/hello.yaml", hello+"author: user\n")
	h.Put(h.User, "tools/demo/only.yaml", hello)
	h.Put(h.Project, "tools/demo/hello.yaml", hello+"author: project\n")
	r := resolver(h, false)
	it, err := r.Find(t.Context(), tool("demo/hello"))
	if err != nil || it.Root.Space != space.Project || it.Meta.Author != "project" || !it.Verdict.OK() || it.Path() != ".ai/tools/demo/hello.yaml" {
		t.Fatalf("%+v, %v", it, err)
	}
	if it.Digest != item.DigestOf(it.Bytes) || it.Verdict.Owner != "ada" {
		t.Errorf("digest %s, owner %q", it.Digest, it.Verdict.Owner)
	}
	if it, err = r.Find(t.Context(), tool("demo/only")); err != nil || it.Root.Space != space.User {
		t.Errorf("%+v, %v", it, err)
	}
	if it, err = r.Find(t.Context(), tool("rye/bash/bash")); err != nil || !it.Root.Embedded() {
		t.Errorf("%+v, %v", it, err)
	}
	got, err := r.Shadows(t.Context(), tool("demo/hello"))
	if err != nil || len(got) != 2 || got[0].Shadow || !got[1].Shadow || got[0].Root.Space != space.Project {
		t.Errorf("shadows %+v, %v", got, err)
	}
}

// A file of a higher space that is refused is never replaced by one of a lower
// space, whatever is wrong with it.
func TestRefusalIsFinal(t *testing.T) {
	stranger := testkit.Key(9)
	for name, c := range map[string]struct {
		put  func(h *testkit.Workspace)
		code diag.Code
	}{
		"unsigned": {func(h *testkit.Workspace) { h.Write(h.Project, "tools/demo/hello.yaml", hello) }, diag.Unsigned},
		"stranger": {func(h *testkit.Workspace) {
			h.Write(h.Project, "tools/demo/hello.yaml", string(h.Signed("tools/demo/hello.yaml", hello, stranger)))
		}, diag.KeyUnknown},
		"changed": {func(h *testkit.Workspace) {
			h.Write(h.Project, "tools/demo/hello.yaml", string(h.Signed("tools/demo/hello.yaml", hello, h.Key))+"#\n")
		}, diag.HashMismatch},
		"V30 copied": {func(h *testkit.Workspace) {
			h.Write(h.Project, "tools/demo/hello.yaml", string(h.Signed("tools/demo/other.yaml", hello, h.Key)))
		}, diag.SigInvalid},
		"invalid": {func(h *testkit.Workspace) {
			h.Put(h.Project, "tools/demo/hello.yaml", strings.Replace(hello, "1.0.0", "one", 1))
		}, diag.ValidationFailed},
		"no tool": {func(h *testkit.Workspace) { h.Put(h.Project, "tools/demo/hello.yaml", "a: 1\n") }, diag.ToolNotFound},
		"broken":  {func(h *testkit.Workspace) { h.Put(h.Project, "tools/demo/hello.yaml", hello+"a: [\n") }, diag.ParsingError},
		"empty":   {func(h *testkit.Workspace) { h.Write(h.Project, "tools/demo/hello.yaml", "") }, diag.Unsigned},
		"too large": {func(h *testkit.Workspace) {
			h.Write(h.Project, "tools/demo/hello.yaml", strings.Repeat("#\n", resolve.MaxItem/2+1))
		}, diag.TooLarge},
		"V35 link": {func(h *testkit.Workspace) {
			relink(h, filepath.Join(h.User, ".ai/tools/demo/hello.yaml"), "tools/demo/hello.yaml")
		}, diag.PathEscape},
		"V35 folder link": {func(h *testkit.Workspace) { relink(h, filepath.Join(h.User, ".ai/tools/demo"), "tools/demo") }, diag.PathEscape},
		"V38 folder":      {func(h *testkit.Workspace) { h.Write(h.Project, "tools/demo/hello.yaml/x", "") }, diag.NotRegular},
		"ambiguous": {func(h *testkit.Workspace) {
			h.Put(h.Project, "tools/demo/hello.yaml", hello)
			h.Write(h.Project, "tools/demo/hello.sh", "")
		}, diag.AmbiguousItem},
		"two signatures": {func(h *testkit.Workspace) {
			h.Put(h.Project, "tools/demo/hello.yaml", hello)
			h.Write(h.Project, "tools/demo/hello.yaml.rye-sig", "rye:signed:x\n")
		}, diag.SigMultiple},
		"linked signature": {func(h *testkit.Workspace) {
			h.Put(h.Project, "tools/demo/hello.yaml", hello)
			relink(h, "hello.yaml", "tools/demo/hello.yaml.rye-sig")
		}, diag.PathEscape},
	} {
		h := testkit.New(t)
		h.Put(h.User, "tools/demo/hello.yaml", hello)
		c.put(h)
		for _, lenient := range []bool{false, true} {
			if _, err := resolver(h, lenient).Find(t.Context(), tool("demo/hello")); diag.CodeOf(err) != c.code {
				t.Errorf("%s: %v, want %s", name, err, c.code)
			}
		}
	}
}

// relink puts a link to a directory at rel of the project.
func relink(h *testkit.Workspace, to, rel string) {
	h.T.Helper()
	at := filepath.Join(h.Project, ".ai", filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		h.T.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		h.T.Skip("no links here: ", err)
	}
}

func TestScopeOfKey(t *testing.T) {
	h := testkit.New(t)
	narrow := testkit.Key(7)
	h.Own(narrow, "leo", doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"leo/**"}, May: []string{"sign"}})
	for _, rel := range []string{"tools/leo/a.yaml", "tools/other/a.yaml", "tools/rye/core/extractors/tool/tool_extractor.yaml"} {
		h.Write(h.Project, rel, string(h.Signed(rel, hello, narrow)))
	}
	_, err := resolver(h, false).Find(t.Context(), tool("leo/a"))
	if diag.CodeOf(err) != diag.Scope || !strings.Contains(err.Error(), "tool_extractor") {
		t.Errorf("an extractor beyond the key's scope: %v", err)
	}
	r := resolver(h, true)
	if _, err := r.Find(t.Context(), tool("leo/a")); err != nil {
		t.Errorf("within the scope: %v", err)
	}
	if _, err := r.Find(t.Context(), tool("other/a")); diag.CodeOf(err) != diag.Scope {
		t.Errorf("beyond the scope: %v", err)
	}
	if notes := r.Notes(); len(notes) != 1 || notes[0].Severity != diag.SeverityWarning || !strings.Contains(notes[0].Message, "tool_extractor") {
		t.Errorf("notes %v", notes)
	}
}

// Static edges go from the owner's space down, dynamic ones from the project.
func TestFindFrom(t *testing.T) {
	h := testkit.New(t)
	for _, base := range []string{h.Project, h.User} {
		h.Put(base, "tools/rye/core/runtimes/bash_runtime.yaml", strings.Replace(hello, "script", "runtime", 1))
	}
	r := resolver(h, false)
	want := []space.Name{space.Project, space.User, space.System}
	for i, root := range r.Roots() {
		it, err := r.FindFrom(t.Context(), tool("rye/core/runtimes/bash_runtime"), root)
		if err != nil || it.Root.Space != want[i] {
			t.Errorf("from %s: %+v, %v", root.Label(), it, err)
		}
	}
	h.Put(h.Project, "tools/demo/rt.yaml", hello)
	if _, err := r.FindFrom(t.Context(), tool("demo/rt"), r.Roots()[1]); diag.CodeOf(err) != diag.ExecutorNotFound {
		t.Errorf("an edge upwards: %v", err)
	}
	foreign := space.NewDir(space.System, "", h.Project, false)
	if _, err := r.FindFrom(t.Context(), tool("demo/rt"), foreign); diag.CodeOf(err) != diag.ExecutorNotFound {
		t.Errorf("from an unknown root: %v", err)
	}
}

func TestSealed(t *testing.T) {
	h := testkit.New(t)
	const id = "rye/core/primitives/subprocess"
	h.Put(h.Project, "tools/"+id+".yaml", strings.Replace(hello, "rye/core/runtimes/bash_runtime", "null", 1))
	h.Put(h.Project, "tools/rye/core/primitives/own.yaml", hello)
	r := resolver(h, false)
	it, err := r.Find(t.Context(), tool(id))
	if err != nil || !it.Root.Embedded() {
		t.Errorf("%+v, %v", it, err)
	}
	if _, err := r.Find(t.Context(), tool("rye/core/primitives/own")); diag.CodeOf(err) != diag.ToolNotFound {
		t.Errorf("a primitive of the project: %v", err)
	}
	got, err := r.Shadows(t.Context(), tool(id))
	if err != nil || len(got) != 2 || !got[0].Root.Embedded() || !got[1].Shadow {
		t.Errorf("shadows %+v, %v", got, err)
	}
	for ref, want := range map[string]bool{
		"tool:rye/core/primitives/x": true, "tool:rye/core/primitives": false, "tool:rye/core/runtimes/rye_applet_runtime": true,
		"tool:rye/core/runtimes/rye_applet_runtime2": false, "directive:rye/core/primitives/x": false, "tool:my/rye/core/primitives/x": false,
	} {
		p, err := item.ParseRef(ref, "")
		if err != nil || resolve.Sealed(p) != want {
			t.Errorf("%s: sealed %v, %v", ref, !want, err)
		}
	}
}

func TestMissing(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/demo/hello.yaml", hello)
	r := resolver(h, false)
	for id, near := range map[string]string{
		"demo/helo": "tool:demo/hello", "hello": "tool:demo/hello", "bash": "tool:rye/bash/bash", "zzzzzzzzzz/q": "",
	} {
		_, err := r.Find(t.Context(), tool(id))
		e, ok := err.(*diag.Error)
		if !ok || e.Code != diag.ToolNotFound || (near == "") != (e.Details["nearest"] == nil) || near != "" && e.Details["nearest"] != near || !strings.Contains(e.Message, "(looked in project, user, system:rye-core)") {
			t.Errorf("%s: %v, details %v", id, err, e.Details)
		}
	}
	if _, err := r.Find(t.Context(), item.Ref{Kind: "nokind", ID: "a"}); diag.CodeOf(err) != diag.ToolNotFound || !strings.Contains(err.Error(), "nokind_extractor") {
		t.Errorf("no such kind: %v", err)
	}
	for _, k := range []item.Kind{"", "../x", "Tool"} {
		if _, err := r.Find(t.Context(), item.Ref{Kind: k, ID: "a"}); diag.CodeOf(err) != diag.Usage {
			t.Errorf("kind %q: %v", k, err)
		}
	}
}

func TestMissingItem(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/demo/hello.yaml", hello)
	h.Write(h.Project, "tools/demo/unsigned.yaml", hello)
	h.Write(h.Project, "tools/demo/two.yaml", hello)
	h.Write(h.Project, "tools/demo/two.sh", "#!/bin/sh\n")
	r := resolver(h, false)
	for id, want := range map[string]bool{"demo/hello": false, "demo/unsigned": false, "rye/bash/bash": false, "demo/none": true, "demo/hell": true} {
		if got, err := r.Missing(t.Context(), tool(id)); err != nil || got != want {
			t.Errorf("%s: %t, %v, want %t", id, got, err, want)
		}
	}
	if got, err := r.Missing(t.Context(), tool("demo/two")); err == nil || got {
		t.Errorf("two files of one id: %t, %v", got, err)
	}
}

func TestEmptyProject(t *testing.T) {
	r := resolve.New(resolve.Params{})
	_, err := r.Find(t.Context(), tool("a"))
	if err == nil || !strings.Contains(err.Error(), "not found in any space") {
		t.Errorf("T1: %v", err)
	}
	if r.Spaces() == nil || len(r.Roots()) != 0 {
		t.Error("spaces")
	}
	h := testkit.New(t)
	h.System = nil
	h.Put(h.Project, "tools/demo/hello.yaml", hello)
	if _, err := resolver(h, false).Find(t.Context(), tool("demo/hello")); err == nil || !strings.Contains(err.Error(), "not found in any space: tool:rye/core/extractors/tool") {
		t.Errorf("T1, strict: %v", err)
	}
	if _, err := resolver(h, true).Find(t.Context(), tool("demo/hello")); err != nil {
		t.Errorf("T1, lenient: %v", err)
	}
}

func TestRef(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/demo/both.yaml", hello)
	h.Write(h.Project, "knowledge/demo/both.md", "")
	h.Put(h.Project, "tools/demo/one.yaml", hello)
	r := resolver(h, false)
	if ref, err := r.Ref(t.Context(), "demo/one"); err != nil || ref != tool("demo/one") {
		t.Errorf("%v, %v", ref, err)
	}
	for word, code := range map[string]diag.Code{
		"demo/both": diag.AmbiguousItem, "demo/none": diag.ItemNotFound, "../x": diag.Usage, "tool:../x": diag.Usage, "": diag.Usage, "x:y:z": diag.Usage,
	} {
		if ref, err := r.Ref(t.Context(), word); diag.CodeOf(err) != code {
			t.Errorf("%q: %v, %v, want %s", word, ref, err, code)
		}
	}
}

// A kind is discovered by an item's name, not by any file that is called so.
func TestKinds(t *testing.T) {
	h := testkit.New(t)
	for _, rel := range []string{"x/x_extractor.txt", "Up/Up_extractor.yaml", "a.b/a.b_extractor.yaml", "y/z_extractor.yaml", "_extractor.yaml"} {
		h.Write(h.Project, "tools/"+resolve.ExtractorFolder+"/"+rel, "junk")
	}
	r := resolver(h, false)
	table, err := r.Table(t.Context())
	if err != nil || len(table.All()) != 5 {
		t.Errorf("%v, %v", table, err)
	}
	h.Write(h.Project, "tools/"+resolve.ExtractorFolder+"/skill/skill_extractor.yaml", "kind: skill\n")
	if _, err := resolver(h, false).Table(t.Context()); diag.CodeOf(err) != diag.Unsigned {
		t.Errorf("an unsigned extractor: %v", err)
	}
	lenient := resolver(h, true)
	if table, err := lenient.Table(t.Context()); err != nil || table.Kind("skill") != nil || len(lenient.Notes()) == 0 {
		t.Errorf("lenient: %v, %v, %v", table, err, lenient.Notes())
	}
}

// The bytes with the verdict are the bytes of the item, even if the file changes
// meanwhile: T13 and V40 at the level of one reading.
func TestOneReading(t *testing.T) {
	h := testkit.New(t)
	a := h.Signed("tools/demo/hello.yaml", hello, h.Key)
	b := []byte(strings.Replace(string(a), "Says hello", "Says EVIL.", 1))
	file := h.Write(h.Project, "tools/demo/hello.yaml", string(a))
	r := resolver(h, false)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(file, [][]byte{a, b}[i%2], 0o644)
			}
		}
	})
	for range 300 {
		it, err := r.Find(t.Context(), tool("demo/hello"))
		if err == nil && (string(it.Bytes) != string(a) || it.Meta.Description != "Says hello.") {
			t.Errorf("trusted %q", it.Bytes)
			break
		}
	}
	close(stop)
	wg.Wait()
}

func TestConcurrentUse(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/demo/hello.yaml", hello)
	r := resolver(h, false)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := r.Find(t.Context(), tool("demo/hello")); err != nil {
					t.Error(err)
				}
				if _, err := r.Table(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if hits, misses := r.CacheStats(); hits == 0 || misses == 0 {
		t.Errorf("cache %d hits, %d misses", hits, misses)
	}
}

// One id and one content, but two file types: each is read in its own.
func TestCacheKnowsTheType(t *testing.T) {
	h := testkit.New(t)
	body := "# version: 1.0.0\n# tool_type: script\n# executor_id: null\n# description: x\nversion: \"2.0.0\"\ntool_type: script\nexecutor_id: null\ndescription: x\n"
	h.Put(h.Project, "tools/demo/x.yaml", body)
	h.Put(h.User, "tools/demo/x.sh", body)
	r := resolver(h, false)
	all, err := r.All(t.Context(), item.Tool)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		if it, err := r.Open(t.Context(), e); err == nil && e.Ref == tool("demo/x") {
			got = append(got, it.Meta.Version)
		}
	}
	if !slices.Equal(got, []string{"2.0.0", "1.0.0"}) {
		t.Errorf("versions %q", got)
	}
}

// release signs a manifest over everything below the project's .ai.
func release(h *testkit.Workspace, id string, by sign.Signer) {
	h.T.Helper()
	tree, err := bundle.Folder(h.Project)
	if err != nil {
		h.T.Fatal(err)
	}
	defer tree.Close()
	out, err := bundle.Create(h.T.Context(), tree, bundle.Params{ID: id, Version: "1.0.0", Description: "A test."})
	if err != nil {
		h.T.Fatal(err)
	}
	style := sign.Hash()
	if out, _, err = sign.Sign(h.T.Context(), out, style, bundle.Subject(id), by, h.Now); err != nil {
		h.T.Fatal(err)
	}
	h.Write(h.Project, "bundles/"+id+"/manifest.yaml", string(out))
}

// A manifest decides on files that have no signature, within the scope of the key
// that signed it, and never for an item.
func TestManifestListings(t *testing.T) {
	h := testkit.New(t)
	narrow := testkit.Key(7)
	h.Own(narrow, "leo", doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"acme/**"}, May: []string{"release"}})
	h.Write(h.Project, "tools/acme/data.bin", "data")
	h.Write(h.Project, "tools/acme/helper.py", "x = 1\n")
	h.Write(h.Project, "tools/acme/tool.yaml", hello)
	h.Write(h.Project, "tools/other/helper.py", "x = 1\n")
	h.Write(h.Project, "tools/acme/changed.bin", "data")
	release(h, "acme/all", narrow)
	h.Write(h.Project, "tools/acme/changed.bin", "evil")
	h.Write(h.Project, "tools/acme/extra.bin", "x")
	r := resolver(h, false)
	for rel, code := range map[string]diag.Code{
		"tools/acme/data.bin": "", "tools/acme/helper.py": "", "tools/other/helper.py": diag.Scope,
		"tools/acme/tool.yaml": diag.Unsigned, "tools/acme/changed.bin": diag.HashMismatch, "tools/acme/extra.bin": diag.Unsigned,
	} {
		it, err := r.File(t.Context(), r.Roots()[0], rel)
		if err != nil || it.Verdict.Code != code || it.Verdict.OK() != (code == "") {
			t.Errorf("%s: %+v, %v, want %q", rel, it.Verdict, err, code)
		}
	}
	release(h, "other/all", narrow) // beyond the scope itself
	if err := os.RemoveAll(filepath.Join(h.Project, ".ai/bundles/acme")); err != nil {
		t.Fatal(err)
	}
	r = resolver(h, false)
	if it, err := r.File(t.Context(), r.Roots()[0], "tools/acme/data.bin"); err != nil || it.Verdict.Code != diag.Unsigned {
		t.Errorf("%+v, %v", it.Verdict, err)
	}
}

// A key without permission for tools cannot add code by a manifest either: a tool
// can import any file next to it.
func TestManifestNeedsToolScope(t *testing.T) {
	h := testkit.New(t)
	writer := testkit.Key(7)
	h.Own(writer, "leo", doc.Scope{Kinds: []string{"bundle", "knowledge"}, Namespaces: []string{"acme/**"}, May: []string{"sign", "release"}})
	h.Write(h.Project, "tools/acme/json.py", "evil = 1\n")
	h.Write(h.Project, "tools/acme/json.so", "evil")
	h.Write(h.Project, "knowledge/acme/plan.png", "picture")
	release(h, "acme/all", writer)
	r := resolver(h, false)
	for rel, code := range map[string]diag.Code{
		"tools/acme/json.py": diag.Scope, "tools/acme/json.so": diag.Scope, "knowledge/acme/plan.png": "",
	} {
		it, err := r.File(t.Context(), r.Roots()[0], rel)
		if err != nil || it.Verdict.Code != code || it.Verdict.OK() != (code == "") {
			t.Errorf("%s: %+v, %v, want %q", rel, it.Verdict, err, code)
		}
	}
}
