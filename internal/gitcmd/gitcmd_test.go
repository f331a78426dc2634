package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// scratch makes a repository and returns it with a function that runs git as a
// person would.
func scratch(t *testing.T, args ...string) (*Repo, func(...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
	run := func(words ...string) string {
		t.Helper()
		cmd := exec.Command("git", words...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", words, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run(append([]string{"init", "-q"}, args...)...)
	g, err := New(Params{Dir: dir, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Repo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, run
}

func put(t *testing.T, r *Repo, name, text string) {
	t.Helper()
	file := filepath.Join(r.WorkTree, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// store stores texts and returns the names of their blobs.
func store(t *testing.T, r *Repo, texts ...[]byte) []string {
	t.Helper()
	e := r.Encoder()
	var blobs []*Blob
	var oids []string
	for _, b := range texts {
		blobs = append(blobs, e.Blob(b))
		oids = append(oids, blobs[len(blobs)-1].OID)
	}
	if err := r.WriteBlobs(t.Context(), blobs); err != nil {
		t.Fatal(err)
	}
	return oids
}

// TestBlobs writes blobs of every length that changes the form of a pack's header or of
// an object, in both formats, as files and through git, and reads them back.
func TestBlobs(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) { testBlobs(t, format, "core.abbrev", "7", 12) })
		t.Run(format+" through git", func(t *testing.T) { testBlobs(t, format, "core.looseCompression", "6", 12) })
	}
}

// testBlobs sets a setting before it stores blobs.
func testBlobs(t *testing.T, format, name, value string, objects int) {
	r, run := scratch(t, "--object-format="+format)
	run("config", name, value)
	if r.SHA256 != (format == "sha256") {
		t.Errorf("%s: SHA256 is %v", format, r.SHA256)
	}
	var blobs [][]byte
	for _, n := range []int{0, 1, 15, 16, 17, 2047, 2048, 2049, 1<<16 - 1, 1 << 18, 1<<18 + 1} {
		blobs = append(blobs, bytes.Repeat([]byte{'a', 0, '\r', '\n'}, n/4+1)[:n])
	}
	noise := make([]byte, 3<<18+1) // cannot be compressed
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	blobs = append(blobs, noise)
	oids := store(t, r, append(blobs, blobs[3])...) // one of them twice
	b, err := r.Batch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = b.Read(oids[:len(blobs)], 1<<20, func(i int, o Object) {
		seen++
		if o.OID != oids[i] || !bytes.Equal(o.Data, blobs[i]) || o.Size != int64(len(blobs[i])) {
			t.Errorf("%s: blob %d came back as %s with %d bytes", format, i, o.OID, o.Size)
		}
	})
	if err != nil || seen != len(blobs) {
		t.Errorf("%s: %d of %d, %v", format, seen, len(blobs), err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	run("fsck", "--strict")
	run("diff", "--quiet", r.EmptyTree(), r.EmptyTree())
	if out := run("count-objects"); !strings.HasPrefix(out, strconv.Itoa(objects)+" objects") {
		t.Errorf("%s, want %d", out, objects)
	}
	if left, err := filepath.Glob(filepath.Join(r.Objects(), "*", looseTemp+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLooseBlobs reads blobs from their files, and those that only git can read or refuse:
// of a pack, damaged, under another name, of another kind, too long, missing.
func TestLooseBlobs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many git processes")
	}
	for _, format := range []string{"sha1", "sha256"} {
		r, run := scratch(t, "--object-format="+format)
		put(t, r, "packed", "packed")
		put(t, r, "loose", "loose\n"+strings.Repeat("x", 70_000))
		put(t, r, "empty", "")
		run("add", "packed")
		run("commit", "-q", "-m", "one")
		run("gc", "-q", "--prune=now")
		run("add", ".")
		names := map[string]string{"commit": run("rev-parse", "HEAD"), "missing": strings.Repeat("1", 2*r.hash().Size()), "word": "HEAD"}
		for _, f := range []string{"packed", "loose", "empty"} {
			names[f] = run("rev-parse", ":"+f)
		}
		data := func(o Object, _ bool) string { return o.Kind + " " + string(o.Data[:min(len(o.Data), 6)]) }
		l := &looseReader{repo: r}
		for name, want := range map[string]bool{"loose": true, "empty": true, "packed": false, "commit": false, "missing": false, "word": false} {
			if o, ok := l.read(names[name], 1<<20); ok != want || ok && (o.OID != names[name] || o.Data == nil || o.Size != int64(len(o.Data))) {
				t.Errorf("%s: %v, %s", name, ok, data(o, ok))
			}
		}
		if _, ok := l.read(names["loose"], 70_000); ok {
			t.Error("a blob above the limit was read")
		}
		b := r.Blobs(t.Context())
		got := map[string]string{}
		order := []string{"packed", "loose", "commit", "missing", "empty"}
		var oids []string
		for _, name := range order {
			oids = append(oids, names[name])
		}
		if err := b.Read(oids, 1<<20, func(i int, o Object) { got[order[i]] = data(o, true) }); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"packed": "blob packed", "loose": "blob loose\n", "commit": "commit ", "missing": "missing ", "empty": "blob "}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %q", format, got)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := b.Read(oids[1:2], 10, func(int, Object) {}); err == nil {
			t.Error("a closed batch reads")
		}
		file := func(oid string) string { return filepath.Join(r.Objects(), oid[:2], oid[2:]) }
		other := strings.Repeat("a", 2*r.hash().Size())
		text, err := os.ReadFile(file(names["loose"]))
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(file(other)), 0o755), os.WriteFile(file(other), text, 0o644), os.Chmod(file(names["loose"]), 0o644),
			os.WriteFile(file(names["loose"]), text[:len(text)-5], 0o644)); err != nil {
			t.Fatal(err)
		}
		for _, oid := range []string{other, names["loose"]} {
			if _, ok := l.read(oid, 1<<20); ok {
				t.Errorf("%s was read", oid)
			}
		}
		if _, ok := l.read(names["empty"], 10); !ok {
			t.Error("nothing is read after a damaged file")
		}
	}
}

// TestPlainObjects stores a blob with settings and in directories for which the files are
// left to git, and compares what git makes of them.
func TestPlainObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many git processes")
	}
	for _, c := range []struct {
		name, value string
		plain       bool
	}{
		{"core.autocrlf", "true", true}, {"extensions.worktreeConfig", "true", true}, {"core.repositoryformatversion", "1", true},
		{"core.sharedRepository", "group", false}, {"core.compression", "0", false}, {"core.looseCompression", "9", false},
		{"core.fsync", "loose-object", false}, {"core.fsyncMethod", "batch", false}, {"core.fsyncObjectFiles", "true", false},
	} {
		r, run := scratch(t)
		run("config", c.name, c.value)
		list, err := r.settings(t.Context())
		if got := plainObjects(list); err != nil || got != c.plain {
			t.Errorf("%s=%s: %v, %v", c.name, c.value, got, err)
		}
		oid := store(t, r, []byte("text"))[0]
		fi, err := os.Stat(filepath.Join(r.CommonDir, "objects", oid[:2], oid[2:]))
		if err != nil || !strings.HasSuffix(run("cat-file", "blob", oid), "text") {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
		if want := fs.FileMode(0o444); runtime.GOOS != "windows" && err == nil && fi.Mode().Perm()&want != want || fi.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s=%s: mode %o", c.name, c.value, fi.Mode())
		}
	}
	if plainObjects([]setting{{name: "core.repositoryformatversion", value: "2"}}) || plainObjects([]setting{{name: "extensions.compatobjectformat"}}) {
		t.Error("objects of an unknown format are written")
	}
}

// TestLinkedObjects stores blobs in a repository whose objects are behind a link, and in
// one whose objects a variable names.
func TestLinkedObjects(t *testing.T) {
	r, run := scratch(t)
	objects, away := r.Objects(), filepath.Join(r.WorkTree, "away")
	if err := os.Rename(objects, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, objects); err != nil {
		t.Skip(err)
	}
	oid := store(t, r, []byte("linked"))[0]
	if got := run("cat-file", "blob", oid); got != "linked" {
		t.Errorf("%q", got)
	}
	other := filepath.Join(r.WorkTree, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := New(Params{Dir: r.WorkTree, Environ: append(r.env, "GIT_OBJECT_DIRECTORY="+other)})
	if err != nil {
		t.Fatal(err)
	}
	there := *r
	there.Git = g
	oid = store(t, &there, []byte("named"))[0]
	if _, err := os.Stat(filepath.Join(other, oid[:2], oid[2:])); err != nil {
		t.Error(err)
	}
}

// TestBatch asks for what is missing, no blob, or too long, and goes on.
func TestBatch(t *testing.T) {
	r, run := scratch(t)
	put(t, r, "a", "short")
	put(t, r, "b", strings.Repeat("long", 100))
	run("add", ".")
	run("commit", "-q", "-m", "x")
	tree, missing := run("rev-parse", "HEAD^{tree}"), strings.Repeat("0", 39)+"1"
	b, err := r.Batch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := []string{missing, run("rev-parse", "HEAD:b"), tree, "HEAD:nothing here", run("rev-parse", "HEAD:a")}
	var got []Object
	if err := b.Read(ask, 100, func(_ int, o Object) { got = append(got, o) }); err == nil {
		t.Error("a name with blanks was not refused")
	}
	if err := b.Read(ask[:1], 100, func(int, Object) {}); err == nil {
		t.Error("a broken stream was read again")
	}
	_ = b.Close()
	if b, err = r.Batch(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, ask = nil, slices.Delete(ask, 3, 4)
	if err := b.Read(ask, 100, func(_ int, o Object) { got = append(got, o) }); err != nil {
		t.Fatal(err)
	}
	if got[0].Kind != "missing" || got[1].Data != nil || got[1].Size != 400 || got[2].Kind != "tree" || string(got[3].Data) != "short" {
		t.Errorf("%+v", got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Read(ask, 100, func(int, Object) {}); err == nil {
		t.Error("a closed batch answered")
	}
	sizes, err := r.Sizes(t.Context(), []string{ask[3], missing})
	if err != nil || !slices.Equal(sizes, []int64{5, -1}) {
		t.Errorf("sizes %v, %v", sizes, err)
	}
}

// TestStaged compares the index with HEAD: names with every odd letter, removed
// files, links, entries that are only intended, and the first commit.
func TestStaged(t *testing.T) {
	r, run := scratch(t)
	names := []string{"-dash", "blank in it", "quote\"s", "star*", ":(top)magic", "umläut", "deep/er/file"}
	if os.PathSeparator == '/' {
		names = append(names, "tab\tbed", "line\nfeed", "back\\slash")
	}
	for _, n := range names {
		put(t, r, n, n)
	}
	run("add", "-A")
	head, err := r.Head(t.Context())
	if err != nil || head != r.EmptyTree() {
		t.Fatalf("before the first commit HEAD is %q, %v", head, err)
	}
	paths := func(tree, below string) (out []string) {
		t.Helper()
		list, err := r.Staged(t.Context(), tree, below)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			out = append(out, string(c.Status)+" "+c.Path)
		}
		return out
	}
	want := make([]string, len(names))
	for i, n := range names {
		want[i] = "A " + n
	}
	slices.Sort(want)
	if got := paths(head, ""); !slices.Equal(got, want) {
		t.Errorf("staged %q, want %q", got, want)
	}
	for _, n := range names { // a path is never a pattern
		if got := paths(head, n); !slices.Equal(got, []string{"A " + n}) {
			t.Errorf("below %q: %q", n, got)
		}
	}
	run("commit", "-q", "-m", "x")
	put(t, r, "deep/er/file", "changed")
	put(t, r, "intent", "not yet")
	run("add", "deep")
	run("add", "-N", "intent")
	run("rm", "-q", "--cached", "--", "-dash")
	if got := paths("HEAD", ""); !slices.Equal(got, []string{"D -dash", "M deep/er/file"}) {
		t.Errorf("staged %q", got)
	}
	tree, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Tree(t.Context(), tree, "")
	if err != nil || len(list) != len(names) {
		t.Errorf("the tree has %d entries, want %d, %v", len(list), len(names), err)
	}
	for _, e := range list {
		if !e.IsFile() || !slices.Contains(names, e.Path) {
			t.Errorf("%+v", e)
		}
	}
}

// TestUpdateIndex replaces one entry and adds another; the rest stays.
func TestUpdateIndex(t *testing.T) {
	r, run := scratch(t)
	put(t, r, "a", "a")
	put(t, r, "dir/b", "b")
	run("add", ".")
	oids := store(t, r, []byte("new"))
	err := r.UpdateIndex(t.Context(), []Entry{{ModeExecutable, oids[0], "dir/b"}, {ModeFile, oids[0], "dir/line\nfeed"}})
	if err != nil {
		t.Fatal(err)
	}
	got := run("ls-files", "-s")
	if strings.Count(got, oids[0]) != 2 || !strings.Contains(got, "100755 "+oids[0]+" 0\tdir/b") {
		t.Errorf("index: %s", got)
	}
	if err := r.UpdateIndex(t.Context(), []Entry{{ModeFile, "nonsense", "a"}}); err == nil {
		t.Error("an entry without an object was taken")
	}
	if again := run("ls-files", "-s"); again != got {
		t.Errorf("a refused update changed the index: %s", again)
	}
}

// TestQuiet runs git with everything in place that could change its answers or
// run a program of the repository.
func TestQuiet(t *testing.T) {
	r, run := scratch(t)
	put(t, r, "a", "a")
	run("add", ".")
	bait := filepath.Join(r.WorkTree, "bait")
	script := "#!/bin/sh\ntouch '" + bait + "'\n"
	evil := filepath.Join(r.GitDir, "evil")
	if err := os.WriteFile(evil, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.GitDir, "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.GitDir, "hooks", "post-index-change"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"core.fsmonitor", "diff.external", "core.pager", "pager.diff-index", "filter.x.clean", "filter.x.smudge"} {
		run("config", key, evil)
	}
	put(t, r, ".gitattributes", "* filter=x diff=x\n")
	run("config", "diff.ignoreSubmodules", "all")
	_ = os.Remove(bait)
	r.env = append(r.env, "GIT_EXTERNAL_DIFF="+evil, "GIT_PAGER="+evil)
	list, err := r.Staged(t.Context(), r.EmptyTree(), "")
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	oids := store(t, r, []byte("b"))
	if err := r.UpdateIndex(t.Context(), []Entry{{ModeFile, oids[0], "a"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bait); err == nil {
		t.Error("a program of the repository was run")
	}
	if got, want := oids[0], run("hash-object", "--no-filters", "-t", "blob", "--stdin"); got == want {
		t.Error("the blob was taken for an empty one")
	}
}

func TestEnviron(t *testing.T) {
	got := environ(Params{Cwd: filepath.FromSlash("/top"), Environ: []string{
		"GIT_DIR=.git", "GIT_INDEX_FILE=", "GIT_GLOB_PATHSPECS=1", "GIT_EXTERNAL_DIFF=evil", "LC_ALL=de_DE", "PATH=/bin", "GIT_CONFIG_PARAMETERS='a=b'",
	}})
	for _, want := range []string{"GIT_DIR=" + filepath.FromSlash("/top/.git"), "GIT_INDEX_FILE=", "LC_ALL=C", "PATH=/bin", "GIT_CONFIG_PARAMETERS='a=b'", "GIT_TERMINAL_PROMPT=0"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	for _, kv := range got {
		if strings.HasPrefix(kv, "GIT_GLOB") || strings.HasPrefix(kv, "GIT_EXTERNAL") || kv == "LC_ALL=de_DE" {
			t.Errorf("%q was handed on", kv)
		}
	}
}

func TestNoRepository(t *testing.T) {
	r, _ := scratch(t)
	dir := t.TempDir()
	env := append(slices.Clone(r.env), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	g, err := New(Params{Dir: dir, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Repo(t.Context()); diag.CodeOf(err) != diag.SourceNotFound {
		t.Errorf("outside a repository: %v", err)
	}
	if _, err := New(Params{Dir: dir, Environ: []string{"PATH=" + dir}}); diag.CodeOf(err) != diag.ExecutionFailed {
		t.Errorf("without git: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.run(ctx, nil, "version"); diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
	for _, rev := range []string{"", "-x", "a\x00b", "a\nb"} {
		if _, err := r.Resolve(t.Context(), rev); diag.CodeOf(err) != diag.Usage {
			t.Errorf("revision %q: %v", rev, err)
		}
	}
}

// FuzzParseChange reads records that no git prints: nothing may be taken for an
// entry that is none.
func FuzzParseChange(f *testing.F) {
	zero, one := strings.Repeat("0", 40), strings.Repeat("1", 40)
	f.Add(":000000 100644 "+zero+" "+one+" A", "a")
	f.Add(":100644 000000 "+one+" "+zero+" D", "a\tb")
	f.Add(":100644 100755 x y", "a")
	f.Add("100644", "")
	f.Fuzz(func(t *testing.T, head, path string) {
		c, ok := parseChange(head, path)
		if !ok {
			return
		}
		if !strings.HasPrefix(head, ":") || c.Path != path || path == "" || !strings.Contains(head, c.OID) || c.Status == 0 {
			t.Errorf("%q %q is %+v", head, path, c)
		}
	})
}
