package format_test

import (
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	ryexec "github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
	"github.com/ryeos/rye/verify"
)

type workspace struct {
	dir      string // the copied project
	spaces   *space.Spaces
	trust    *trust.Store
	resolver *resolve.Resolver
	executor *ryexec.Executor
	primary  *primary.Verbs
}

// newWorkspace copies the examples and opens them as the
// user with the key. later are additional trust documents.
func newWorkspace(t *testing.T, later ...string) *workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &workspace{dir: filepath.Join(dir, "project")}
	own := map[string][]byte{}
	for p, b := range disk(t) {
		if strings.HasPrefix(p, "project/") {
			write(t, filepath.Join(dir, filepath.FromSlash(p)), b)
		}
		if name, ok := strings.CutPrefix(p, "trust/"); ok {
			own[name] = b
		}
	}
	trustDir := filepath.Join(dir, "trust")
	fp := sign.FingerprintOf(testKey.Public())
	document, grant := doc.FileName(doc.KindKey, fp), doc.FileName(doc.KindGrant, fp)
	if err := testkit.AddOwnKey(trustDir, trust.File{Name: document, Data: own[document]}, trust.File{Name: grant, Data: own[grant]}); err != nil {
		t.Fatal(err)
	}
	for _, name := range later {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trust.AddDocument(trustDir, filepath.Base(name), b); err != nil {
			t.Fatal(err)
		}
	}
	h.open(t, trustDir, filepath.Join(dir, "cache"))
	return h
}

func (h *workspace) open(t *testing.T, trustDir, cache string) {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }
	dev, err := hex.DecodeString(stdlib.DevPublic)
	if err != nil {
		t.Fatal(err)
	}
	var bad []diag.Finding
	h.trust, bad = trust.Load(trust.Params{UserDir: trustDir, Now: now, Anchors: []trust.Anchor{{Public: dev, Owner: "rye", EmbeddedOnly: true,
		Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign"}}}}})
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	h.spaces, err = space.Discover(space.Params{Project: h.dir, System: stdlib.FS(), Layer: stdlib.Bundle})
	if err != nil {
		t.Fatal(err)
	}
	h.resolver = resolve.New(resolve.Params{Spaces: h.spaces, Trust: h.trust})
	self, err := os.Executable() // starts the sandbox
	if err != nil {
		t.Fatal(err)
	}
	h.executor = ryexec.New(ryexec.Params{Resolver: h.resolver, Cache: cache, Project: h.dir, Environ: os.Environ(), Self: self, Now: now})
	h.primary = primary.New(primary.Params{Resolver: h.resolver, Executor: h.executor, Now: now})
}

func (h *workspace) walk(t *testing.T) *verify.Report {
	t.Helper()
	lenient := resolve.New(resolve.Params{Spaces: h.spaces, Trust: h.trust, Lenient: true, NoCache: true})
	r, err := verify.Root(t.Context(), verify.Params{Resolver: lenient, Trust: h.trust}, h.spaces.Of(space.Project))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every example is trusted and has no finding, and no file below .ai is skipped.
func TestExamplesVerify(t *testing.T) {
	h := newWorkspace(t)
	r := h.walk(t)
	for _, f := range r.Findings {
		t.Error(f)
	}
	seen := map[string]bool{}
	for _, f := range r.Files {
		seen[f.Path] = true
		if f.Verdict.Status != trust.Trusted {
			t.Errorf("%s is %s: %v", f.Path, f.Verdict.Status, f.Verdict.Reasons)
		}
	}
	for p := range disk(t) {
		rel, ok := strings.CutPrefix(p, "project/")
		if ok && !strings.HasSuffix(rel, ".rye-sig") && !seen[rel] {
			t.Errorf("%s was not verified", rel)
		}
	}
	tree, err := bundle.Folder(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	b, err := bundle.Verify(t.Context(), bundle.VerifyParams{Tree: tree, ID: bundleID,
		Judge: verify.JudgeManifest(h.trust, "project", bundle.ManifestPath(bundleID))})
	if err != nil || !b.OK() || b.FilesChecked < 20 {
		t.Errorf("the bundle: %v, %+v", err, b)
	}
}

// One changed bit in any example has a finding.
func TestChangedExamplesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("verifies every example after each change")
	}
	good := disk(t)
	for p, b := range good {
		rel, ok := strings.CutPrefix(p, "project/")
		if !ok {
			continue
		}
		h := newWorkspace(t)
		b = slices.Clone(b)
		b[len(b)-2] ^= 1
		write(t, filepath.Join(h.dir, filepath.FromSlash(rel)), b)
		if !h.walk(t).Failed() {
			t.Errorf("%s: one changed bit has no finding", rel)
		}
	}
}

// The layers in items.md merge into the value in items.md, and a layer that does
// not verify is an error.
func TestConfigLayersMerge(t *testing.T) {
	h := newWorkspace(t)
	home := t.TempDir()
	file := filepath.Join(home, space.Dir, "config", "demo", "limits.yaml")
	style := sign.Hash()
	sub := extract.Subject(item.Ref{Kind: item.Config, ID: "demo/limits"})
	layer := signedText(t, []byte(marked(t, "layer")), style, sub)
	write(t, file, layer)
	settings := func() (*resolve.Settings, error) {
		spaces, err := space.Discover(space.Params{Project: h.dir, Home: home, System: stdlib.FS(), Layer: stdlib.Bundle})
		if err != nil {
			t.Fatal(err)
		}
		return resolve.New(resolve.Params{Spaces: spaces, Trust: h.trust}).Config(t.Context(), "demo/limits")
	}
	s, err := settings()
	if err != nil {
		t.Fatal(err)
	}
	got, err := jsonx.MarshalIndent(s.Root)
	if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(marked(t, "merged")) {
		t.Errorf("%v: they merge into\n%s", err, got)
	}
	write(t, file, []byte(strings.Replace(string(layer), "tokens: 40000", "tokens: 90000", 1)))
	if _, err := settings(); diag.CodeOf(err) != diag.HashMismatch {
		t.Errorf("a changed layer: %v", err)
	}
}

// marked returns the block of items.md after a comment.
func marked(t *testing.T, name string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, "items.md"), "<!-- "+name+" -->\n```")
	_, body, _ := strings.Cut(after, "\n")
	body, _, closed := strings.Cut(body, "```\n")
	if !found || !closed {
		t.Fatalf("items.md has no block %q", name)
	}
	return body
}

// The revocation of the examples revokes the key: no item is trusted.
func TestRevocationEndsTheKey(t *testing.T) {
	fp := sign.FingerprintOf(testKey.Public())
	h := newWorkspace(t, filepath.Join("examples", "offline", doc.FileName(doc.KindRevocation, fp)))
	r := h.walk(t)
	for _, f := range r.Files {
		if f.Bundle == "" && f.Verdict.Code != diag.Revoked {
			t.Errorf("%s: %s", f.Path, f.Verdict.Code)
		}
	}
	if !r.Failed() || len(r.Files) < 15 {
		t.Errorf("%d files, failed %t", len(r.Files), r.Failed())
	}
}

// The results of the example tools in the pages are their actual results.
func TestExamplesRun(t *testing.T) {
	for _, c := range []struct {
		id, needs string
		args      []string
		want      map[string]any
	}{
		{"greet", "python3", []string{"who=you", "times=2"}, map[string]any{"greeting": "hello you hello you"}},
		{"slug", "python3", []string{"title=How we  Release"}, map[string]any{"slug": "how-we-release"}},
		{"count", "node", []string{"text=one two three"}, map[string]any{"words": int64(3)}},
		{"reverse", "node", []string{"text=äbc"}, map[string]any{"text": "cbä"}},
		{"upper", "bash", []string{"text=loud"}, map[string]any{"stdout": "LOUD\n"}},
		{"shout", "perl", []string{"who=you"}, map[string]any{"greeting": "HELLO YOU"}},
		{"git_version", "git", nil, nil},
		{"git_status", "git", nil, nil},
		{"git_log", "git", nil, nil},
		{"git_branch", "git", nil, nil},
	} {
		t.Run(c.id, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skipf("%s is not installed", c.needs)
			}
			h := newWorkspace(t)
			call := primary.Call{Held: policy.Person(), Ref: item.Ref{Kind: item.Tool, ID: "demo/" + c.id}, Args: c.args, DryRun: c.want == nil}
			run, err := h.primary.Tool(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if call.DryRun {
				if filepath.Base(run.Plan.Argv[0]) != "git" {
					t.Errorf("the command is %q", run.Plan.Argv)
				}
				return
			}
			data, _ := run.Data.(map[string]any)
			for k, v := range c.want {
				if data[k] != v {
					t.Errorf("%s is %#v, want %#v", k, data[k], v)
				}
			}
			if len(data) != len(c.want) {
				t.Errorf("the tool answers %v", data)
			}
		})
	}
}

// Every trust document of the examples is read with its kind and without a finding.
func TestTrustDocuments(t *testing.T) {
	kinds := map[string]bool{}
	for p, b := range disk(t) {
		if !strings.HasSuffix(p, ".toml") || strings.HasPrefix(p, "project/") {
			continue
		}
		d, fs := doc.Parse(filepath.Base(p), b)
		if d == nil || len(fs) > 0 {
			t.Errorf("%s: %v", p, fs)
			continue
		}
		kinds[d.Head().Kind] = true
		if _, fs := doc.Parse("x-"+filepath.Base(p), b); len(fs) == 0 {
			t.Errorf("%s is read under another name", p)
		}
	}
	for _, k := range []string{doc.KindKey, doc.KindGrant, doc.KindRevocation, doc.KindEndorsement, doc.KindRotation, doc.KindRevocations, doc.KindReleaseRevocation, doc.KindPublisher} {
		if !kinds[k] {
			t.Errorf("no example of a %s", k)
		}
	}
}

// Every kind and type of file that the pages name has an example.
func TestExamplesCoverTheFileTypes(t *testing.T) {
	h := newWorkspace(t)
	have := map[string]bool{}
	var kinds []item.Kind
	for _, k := range []item.Kind{item.Tool, item.Directive, item.Knowledge, item.Config, "skill"} {
		entries, err := h.resolver.All(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Root.Space == space.Project {
				have[string(k)+filepath.Ext(e.Rel)] = true
				kinds = append(kinds, k)
			}
		}
	}
	for _, want := range []string{"tool.py", "tool.js", "tool.mjs", "tool.sh", "tool.pl", "tool.yaml", "tool.yml", "tool.json", "tool.toml",
		"directive.md", "knowledge.md", "knowledge.yaml", "config.yaml", "skill.md"} {
		if !have[want] {
			t.Errorf("no example of %s", want)
		}
	}
	if len(kinds) < 18 {
		t.Errorf("%d items", len(kinds))
	}
	fs, err := fs.Glob(os.DirFS("examples"), "project/.ai/tools/demo/lib/*.py")
	if err != nil || len(fs) == 0 {
		t.Errorf("no example of a support file: %v", err)
	}
}
