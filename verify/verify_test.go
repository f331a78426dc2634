package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/verify"
)

const body = "version: \"1.0.0\"\ntool_type: script\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: A test.\n"

func params(h *testkit.Workspace) verify.Params {
	store := h.Store()
	return verify.Params{Resolver: resolve.New(resolve.Params{Spaces: h.Spaces(), Trust: store, Lenient: true, NoCache: true}), Trust: store}
}

func walk(h *testkit.Workspace) *verify.Report {
	h.T.Helper()
	p := params(h)
	r, err := verify.Root(h.T.Context(), p, p.Resolver.Spaces().Of(space.Project))
	if err != nil {
		h.T.Fatal(err)
	}
	return r
}

// rendered returns findings as "path CODE", warnings in lower case.
func rendered(r *verify.Report) []string {
	var out []string
	for _, f := range r.Findings {
		code := string(f.Code)
		if f.Severity == diag.SeverityWarning {
			code = strings.ToLower(code)
		}
		out = append(out, f.Path+" "+code)
	}
	return out
}

func TestClean(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/a.yaml", body)
	h.Put(h.Project, "tools/pkg/__init__.py", "")
	h.Put(h.Project, "knowledge/k.md", "---\ntitle: T\nversion: 1.0.0\nname: k\ndescription: d\n---\n\nText.\n")
	for _, rel := range []string{".gitkeep", "tools/.gitignore", "trust/notes.txt", "threads/t/state.json", "cache/x"} {
		h.Write(h.Project, rel, "x")
	}
	r := walk(h)
	if r.Failed() || len(r.Files) != 3 || !r.Files[2].Support {
		t.Errorf("%v\n%+v", rendered(r), r.Files)
	}
	empty := testkit.New(t)
	if r := walk(empty); len(r.Files) != 0 || len(r.Findings) != 0 {
		t.Errorf("an empty space: %+v", r)
	}
}

// Every sort of fault is found at its file, and none hides another.
func TestFindings(t *testing.T) {
	h := testkit.New(t)
	signed := func(rel string, by sign.Signer) string { return string(h.Signed(rel, body, by)) }
	for rel, content := range map[string]string{
		"tools/good.yaml":         signed("tools/good.yaml", h.Key),
		"tools/unsigned.yaml":     body,
		"tools/changed.yaml":      signed("tools/changed.yaml", h.Key) + "#\n",
		"tools/copied.yaml":       signed("tools/good.yaml", h.Key),
		"tools/stranger.yaml":     signed("tools/stranger.yaml", testkit.Key(9)),
		"tools/invalid.yaml":      string(h.Signed("tools/invalid.yaml", strings.Replace(body, "1.0.0", "one", 1), h.Key)),
		"tools/crlf.yaml":         strings.ReplaceAll(signed("tools/crlf.yaml", h.Key), "\n", "\r\n"),
		"tools/bom.yaml":          "\ufeff" + signed("tools/bom.yaml", h.Key),
		"tools/hidden.yaml":       string(h.Signed("tools/hidden.yaml", strings.Replace(body, "A test", "A \u202etest", 1), h.Key)),
		"tools/two.yaml":          signed("tools/two.yaml", h.Key),
		"tools/two.sh":            "",
		"tools/Case.yaml":         signed("tools/Case.yaml", h.Key),
		"tools/loose.bin":         "x",
		"tools/upper.YAML":        signed("tools/good.yaml", h.Key),
		"tools/bad name.yaml":     signed("tools/good.yaml", h.Key),
		"tools/gone.yaml.rye-sig": "x",
		"elsewhere/x.yaml":        "x",
		"top.yaml":                "x",
		"tools/scroll.yaml":       string(h.Signed("tools/scroll.yaml", body+strings.Repeat("\n", hidden.MaxBlankLines+1)+"# end\n", h.Key)),
		"tools/long.yaml":         string(h.Signed("tools/long.yaml", body+"#"+strings.Repeat("x", hidden.MaxLine)+"\n", h.Key)),
	} {
		h.Write(h.Project, rel, content)
	}
	want := []string{
		".ai/elsewhere/x.yaml schema_not_found", ".ai/tools/bad name.yaml UNSIGNED", ".ai/tools/bom.yaml ENCODING",
		".ai/tools/changed.yaml HASH_MISMATCH", ".ai/tools/copied.yaml SIG_INVALID", ".ai/tools/gone.yaml.rye-sig UNSIGNED", ".ai/tools/hidden.yaml HIDDEN_CHARS",
		".ai/tools/invalid.yaml VALIDATION_FAILED", ".ai/tools/long.yaml hidden_chars", ".ai/tools/loose.bin UNSIGNED", ".ai/tools/scroll.yaml hidden_chars",
		".ai/tools/stranger.yaml KEY_UNKNOWN", ".ai/tools/two.sh UNSIGNED", ".ai/tools/two.yaml AMBIGUOUS_ITEM", ".ai/tools/unsigned.yaml UNSIGNED",
		".ai/tools/upper.YAML UNSIGNED", ".ai/top.yaml schema_not_found",
	}
	if _, err := os.Stat(filepath.Join(h.Project, ".ai", "tools", "CASE.yaml")); err != nil { // two names, two files
		h.Write(h.Project, "tools/case.yaml", signed("tools/case.yaml", h.Key))
		want = append(want, ".ai/tools/case.yaml AMBIGUOUS_ITEM")
	}
	r := walk(h)
	got := rendered(r)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("not found: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) && !strings.HasPrefix(line, ".ai/tools/crlf.yaml ") {
			t.Errorf("not expected: %s", line)
		}
	}
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, ".ai/tools/crlf.yaml ") }) {
		t.Error("V29: a file with other line ends passes")
	}
	if slices.Sort(got); len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("a finding is repeated: %q", got)
	}
}

// V35, V36, V38: entries that are not regular files.
func TestSpecialFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	h := testkit.New(t)
	h.Put(h.Project, "tools/good.yaml", body)
	at := func(rel string) string { return filepath.Join(h.Project, ".ai", filepath.FromSlash(rel)) }
	outside := filepath.Join(h.Dir, "outside.yaml")
	if err := os.WriteFile(outside, h.Signed("tools/hard.yaml", body, h.Key), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("tools/odd\\name"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink("good.yaml", at("tools/link.yaml")), os.Symlink(".", at("tools/loop")), os.Symlink("/", at("knowledge")), os.Link(outside, at("tools/hard.yaml")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	want := []string{".ai/knowledge PATH_ESCAPE", ".ai/tools/hard.yaml NOT_REGULAR", ".ai/tools/link.yaml PATH_ESCAPE", ".ai/tools/loop PATH_ESCAPE", `.ai/tools/odd\name PATH_ESCAPE`}
	if r := walk(h); !slices.Equal(rendered(r), want) {
		t.Errorf("%q, want %q", rendered(r), want)
	}
	p := params(h)
	root := p.Resolver.Spaces().Of(space.Project)
	for rel, code := range map[string]diag.Code{"tools/link.yaml": diag.PathEscape, "tools/loop/good.yaml": diag.PathEscape, "tools/hard.yaml": diag.NotRegular} {
		r, err := verify.Below(t.Context(), p, root, rel)
		if err != nil || len(r.Findings) != 1 || r.Findings[0].Code != code {
			t.Errorf("%s: %v, %v", rel, r, err)
		}
	}
}

func TestBelow(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/a/x.yaml", body)
	h.Write(h.Project, "tools/b/y.yaml", body)
	h.Write(h.Project, "tools/b/data.bin", "x")
	p := params(h)
	root := p.Resolver.Spaces().Of(space.Project)
	for rel, want := range map[string]string{
		"tools/a": "1 []", "tools/a/x.yaml": "1 []", "tools/b/y.yaml": "1 [.ai/tools/b/y.yaml UNSIGNED]", "tools/b/data.bin": "1 [.ai/tools/b/data.bin UNSIGNED]",
		"tools": "3 [.ai/tools/b/data.bin UNSIGNED .ai/tools/b/y.yaml UNSIGNED]", "none": "0 []",
	} {
		r, err := verify.Below(t.Context(), p, root, rel)
		if got := fmt.Sprint(len(r.Files), " ", rendered(r)); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", rel, got, err, want)
		}
	}
}

// release writes a signed manifest over everything below the project's .ai.
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
	b, _, err := sign.Sign(h.T.Context(), out, style, bundle.Subject(id), by, h.Now)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Write(h.Project, "bundles/"+id+"/manifest.yaml", string(b))
}

func TestManifest(t *testing.T) {
	fresh := func(by sign.Signer) *testkit.Workspace {
		h := testkit.New(t)
		h.Put(h.Project, "tools/pkg/run.yaml", body)
		h.Write(h.Project, "tools/pkg/data.bin", "data")
		release(h, "acme", by)
		return h
	}
	good := fresh(testkit.Key(42))
	if r := walk(good); r.Failed() || len(r.Files) != 3 || r.Files[0].Bundle != "acme" {
		t.Errorf("%q %+v", rendered(r), r.Files)
	}
	p := params(good) // a folder without the manifest in it
	if r, err := verify.Below(t.Context(), p, p.Resolver.Spaces().Of(space.Project), "tools/pkg"); err != nil || r.Failed() || len(r.Files) != 2 {
		t.Errorf("%q, %v", rendered(r), err)
	}
	for name, c := range map[string]struct {
		by     sign.Signer
		change func(h *testkit.Workspace)
		want   []string
	}{
		"changed": {testkit.Key(42), func(h *testkit.Workspace) { h.Write(h.Project, "tools/pkg/data.bin", "evil") }, []string{".ai/tools/pkg/data.bin HASH_MISMATCH"}},
		"extra":   {testkit.Key(42), func(h *testkit.Workspace) { h.Write(h.Project, "tools/pkg/more.bin", "x") }, []string{".ai/tools/pkg/more.bin BUNDLE_FILE_EXTRA", ".ai/tools/pkg/more.bin UNSIGNED"}},
		"missing": {testkit.Key(42), func(h *testkit.Workspace) {
			if err := os.Remove(filepath.Join(h.Project, ".ai/tools/pkg/data.bin")); err != nil {
				t.Fatal(err)
			}
		}, []string{".ai/tools/pkg/data.bin BUNDLE_FILE_MISSING"}},
		"stranger": {testkit.Key(9), func(*testkit.Workspace) {}, []string{".ai/bundles/acme/manifest.yaml KEY_UNKNOWN", ".ai/tools/pkg/data.bin UNSIGNED"}},
	} {
		h := fresh(c.by)
		c.change(h)
		if r := walk(h); !slices.Equal(rendered(r), c.want) {
			t.Errorf("%s: %q, want %q", name, rendered(r), c.want)
		}
	}
}

// An extractor that does not verify is named, and its kind is read by the
// built-in minimum.
func TestNotes(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/a.yaml", body)
	h.Write(h.Project, "tools/"+resolve.ExtractorFolder+"/tool/tool_extractor.yaml", body)
	r := walk(h)
	got := strings.Join(rendered(r), "; ")
	if !strings.Contains(got, "tool_extractor.yaml UNSIGNED") || !strings.Contains(got, "schema_not_found") {
		t.Errorf("%s", got)
	}
}

// TestFilteredUnknown checks that a git which cannot state the converted files is a warning.
func TestFilteredUnknown(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/a.yaml", body)
	h.Write(h.Project, ".gitattributes", "* filter=x\n")
	p := params(h)
	p.Filtered = func(context.Context, []string) (map[string]string, error) {
		return nil, diag.New(diag.ExecutionFailed, "running git check-attr: broken")
	}
	r, err := verify.Root(t.Context(), p, p.Resolver.Spaces().Of(space.Project))
	if err != nil {
		t.Fatal(err)
	}
	if got := rendered(r); !slices.Contains(got, ".ai execution_failed") || r.Failed() {
		t.Errorf("%v", got)
	}
}

// The report does not depend on the number of workers.
func TestDeterminism(t *testing.T) {
	h := testkit.New(t)
	for i := range 60 {
		rel := fmt.Sprintf("tools/d%d/t%d.yaml", i%7, i)
		switch i % 4 {
		case 0:
			h.Write(h.Project, rel, body)
		case 1:
			h.Write(h.Project, rel, string(h.Signed(rel, body, testkit.Key(9))))
		default:
			h.Put(h.Project, rel, body)
		}
	}
	var want string
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 7, 100} {
		runtime.GOMAXPROCS(n)
		p := params(h)
		r, err := verify.Root(t.Context(), p, p.Resolver.Spaces().Of(space.Project))
		if err != nil || len(r.Files) != 60 {
			t.Fatalf("%d files, %v", len(r.Files), err)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(b)
		}
		if string(b) != want {
			t.Fatalf("%d workers report something else", n)
		}
		p.CountOnly = true
		c, err := verify.Root(t.Context(), p, p.Resolver.Spaces().Of(space.Project))
		if err != nil || len(c.Files) != 0 || c.Judged != 60 || c.Trusted != 30 || !slices.Equal(rendered(c), rendered(r)) {
			t.Fatalf("only counted: %d files, %d judged, %d trusted, %v", len(c.Files), c.Judged, c.Trusted, err)
		}
	}
}

func TestMerge(t *testing.T) {
	a, b := &verify.Report{}, &verify.Report{Files: []verify.File{{Path: "x"}}, Findings: []diag.Finding{diag.Errorf(diag.Unsigned, 0, 0, "x")}}
	a.Merge(b)
	if len(a.Files) != 1 || !a.Failed() {
		t.Errorf("%+v", a)
	}
}

// A walk that is cancelled is an error, never a report of half a space.
func TestCancelled(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/a.yaml", body)
	p := params(h)
	ctx, cancel := timeout(t)
	cancel()
	if r, err := verify.Root(ctx, p, p.Resolver.Spaces().Of(space.Project)); err == nil {
		t.Errorf("%+v", r)
	}
}

func timeout(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), time.Minute)
}
