package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// way is one transport over one protocol. Every way passes the same tests.
type way struct {
	name      string
	transport string
	http      bool
}

func ways() []way {
	return []way{{"go over http", BuiltIn, true}, {"command over http", Command, true}, {"go, a folder", BuiltIn, false}, {"command, a folder", Command, false}}
}

// bench is one remote repository and a way to it.
type bench struct {
	*testing.T
	way
	repo   *sourcetest.Repo
	server *sourcetest.Server // nil for a folder
	cache  string
	url    string
	id     lock.ID
}

// each runs a test for every way, with -short for one of each transport.
func each(t *testing.T, fn func(b *bench)) {
	all := ways()
	if testing.Short() {
		all = all[1:3] // the command over http, the built-in client with a directory
	}
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) { fn(newBench(t, w)) })
	}
}

func newBench(t *testing.T, w way, format ...string) *bench {
	t.Helper()
	root := t.TempDir()
	b := &bench{T: t, way: w, cache: filepath.Join(t.TempDir(), "cache"),
		repo: sourcetest.NewRepo(t, filepath.Join(root, "acme", "core.git"), format...)}
	t.Cleanup(func() { unlock(b.cache) })
	b.url = b.repo.URL()
	if w.http {
		b.server = sourcetest.Serve(t, root)
		b.url = b.server.URL + "/acme/core.git"
	}
	b.id = parseID(t, "github.com/acme/core")
	return b
}

// unlock makes the read-only directories of a cache removable.
func unlock(dir string) {
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(p, 0o700)
		}
		return nil
	})
}

func parseID(t testing.TB, s string) lock.ID {
	t.Helper()
	id, err := lock.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// source returns a new source, as another process would have it.
func (b *bench) source(change ...func(*Params)) *Source {
	b.Helper()
	p := Params{Self: self(b), Cache: source.NewCache(b.cache, nil), Environ: sourcetest.Environ(), Transport: b.transport,
		url: func(lock.ID) string { return b.url }, timeout: 30 * time.Second}
	for _, fn := range change {
		fn(&p)
	}
	s, err := New(p)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func (b *bench) resolve(s *Source, id lock.ID, query string) source.Origin {
	b.Helper()
	o, err := s.Resolve(b.Context(), id, query)
	if err != nil {
		b.Fatal(err)
	}
	return o
}

func (b *bench) fetch(s *Source, o source.Origin) *source.Snapshot {
	b.Helper()
	snap, err := s.Fetch(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	return snap
}

// want fails unless err has the code and contains each of the texts.
func want(t testing.TB, err error, code diag.Code, texts ...string) {
	t.Helper()
	if diag.CodeOf(err) != code {
		t.Fatalf("error %v (%s), want %s", err, diag.CodeOf(err), code)
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not contain %q", err, s)
		}
	}
}

func files(s *source.Snapshot) (out []string) {
	for _, f := range s.Files {
		name := f.Path
		if f.Executable {
			name += "*"
		}
		out = append(out, name)
	}
	return out
}

func TestFetchTags(t *testing.T) {
	each(t, func(b *bench) {
		c1 := b.repo.Commit(sourcetest.Bundle("1")...)
		tag := b.repo.Tag("v1.0.0", c1)
		c2 := b.repo.Commit(sourcetest.Bundle("2")...)
		b.repo.Light("v1.1.0", c2)
		b.repo.Tag("v1.2.0-rc.1", c2)
		b.repo.Tag("v2.0.0", c2)
		b.repo.Tag("nonsense", c2)
		b.repo.Tag("v1.3", c2)

		s := b.source()
		l, err := s.Versions(b.Context(), b.id)
		if err != nil {
			b.Fatal(err)
		}
		if got := strings.Join(l.Names(), " "); got != "v1.0.0 v1.1.0 v1.2.0-rc.1" || l.Head != c2 || l.URL != b.url {
			b.Errorf("versions %q, head %s, url %s", got, l.Head, l.URL)
		}
		o := b.resolve(s, b.id, "v1.0.0")
		if o.Ref != "refs/tags/v1.0.0" || o.TagObject != tag || o.Commit != c1 || o.Tree != "" || o.URL != b.url {
			b.Errorf("origin %+v", o)
		}
		snap := b.fetch(s, o)
		if got, want := strings.Join(files(snap), " "), ".ai/bundles/x/manifest.yaml .ai/tools/x/hello.py .ai/tools/x/run.sh* rye.yaml"; got != want {
			b.Errorf("files %q, want %q", got, want)
		}
		if tree := b.repo.Git("", "rev-parse", c1+"^{tree}"); snap.Origin.Tree != tree || snap.Origin.Time.Unix() != 1700000000 {
			b.Errorf("origin %+v, want tree %s", snap.Origin, tree)
		}
		if text, err := snap.Read(".ai/tools/x/hello.py"); err != nil || string(text) != "print(1)\n" {
			b.Errorf("read %q, %v", text, err)
		}
		// One sum whatever the transport: the same bytes on every machine.
		if want := "h1:"; !strings.HasPrefix(snap.Sum, want) || snap.Sum != b.fetch(b.source(), o).Sum {
			b.Errorf("sum %s", snap.Sum)
		}
		latest := b.resolve(s, b.id, source.Latest)
		if latest.Version != "v1.1.0" || latest.TagObject != "" || latest.Commit != c2 {
			b.Errorf("latest is %+v", latest)
		}
		if got := b.fetch(s, latest); got.Sum == snap.Sum {
			b.Error("two commits with one sum")
		}
		if v2 := b.resolve(s, parseID(b, "github.com/acme/core/v2"), "latest"); v2.Version != "v2.0.0" {
			b.Errorf("latest of v2 is %s", v2.Version)
		}
		_, err = s.Resolve(b.Context(), b.id, "v1.0.1")
		want(b, err, diag.VersionNotFound, "v1.0.1")
		_, err = s.Resolve(b.Context(), b.id, "v2.0.0")
		want(b, err, diag.VersionMismatch, "/v2")
	})
}

// The sum of one commit is a constant: it depends on no machine and no way.
func TestSumIsConstant(t *testing.T) {
	sums := map[string]bool{}
	each(t, func(b *bench) {
		b.repo.Tag("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
		s := b.source()
		snap := b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
		sums[snap.Origin.Commit+" "+snap.Origin.Tree+" "+snap.Sum] = true
	})
	if len(sums) != 1 {
		t.Errorf("the ways differ: %v", sums)
	}
}

func TestSubdirectory(t *testing.T) {
	each(t, func(b *bench) {
		move := func(dir string, fs []sourcetest.File) (out []sourcetest.File) {
			for _, f := range fs {
				f.Path = dir + "/" + f.Path
				out = append(out, f)
			}
			return out
		}
		all := append(move("bundles/pii", sourcetest.Bundle("pii")), move("bundles/other", sourcetest.Bundle("other"))...)
		all = append(all, sourcetest.File{Path: "big", Data: strings.Repeat("0123456789", 50_000)}, sourcetest.File{Path: "link", Data: "x", Mode: "120000"})
		c1 := b.repo.Commit(all...)
		b.repo.Tag("bundles/pii/v0.3.0", c1)
		b.repo.Tag("v0.1.0", c1)
		b.repo.Tag("v0.3.0", b.repo.Commit(sourcetest.Bundle("wrong")...))
		id := parseID(b, "github.com/acme/core//bundles/pii")
		s := b.source()
		l, err := s.Versions(b.Context(), id)
		if err != nil || strings.Join(l.Names(), " ") != "v0.1.0 v0.3.0" {
			b.Fatalf("versions %v, %v", l, err)
		}
		o := b.resolve(s, id, "v0.3.0")
		if o.Ref != "refs/tags/bundles/pii/v0.3.0" || o.Commit != c1 || o.Subdir != "bundles/pii" {
			b.Errorf("origin %+v", o)
		}
		snap := b.fetch(s, o)
		if text, err := snap.Read(".ai/tools/x/hello.py"); err != nil || string(text) != "print(pii)\n" {
			b.Errorf("read %q, %v", text, err)
		}
		if tree := b.repo.Git("", "rev-parse", c1+":bundles/pii"); snap.Origin.Tree != tree {
			b.Errorf("tree %s, want %s", snap.Origin.Tree, tree)
		}
		if b.transport == Command {
			if n := sizeOf(b.cache); n > 200_000 {
				b.Errorf("%d bytes came for a small folder", n)
			}
		}
		// Two directories have different sums.
		if other := b.fetch(s, b.resolve(s, parseID(b, "github.com/acme/core//bundles/other"), "v0.1.0")); other.Sum == snap.Sum {
			b.Error("two folders with one sum")
		}
		_, err = s.Fetch(b.Context(), b.resolve(s, parseID(b, "github.com/acme/core//bundles/none"), "v0.1.0"))
		want(b, err, diag.SourceNotFound, "bundles/none")
		_, err = s.Fetch(b.Context(), b.resolve(s, parseID(b, "github.com/acme/core//bundles"), "v0.1.0"))
		want(b, err, diag.SourceNotFound, "neither .ai")
	})
}

func TestPseudoVersions(t *testing.T) {
	each(t, func(b *bench) {
		c1 := b.repo.Commit(sourcetest.Bundle("1")...)
		b.repo.Tag("v1.0.0", c1)
		c2 := b.repo.Commit(sourcetest.Bundle("2")...)
		c3 := b.repo.Commit(sourcetest.Bundle("3")...)
		b.repo.Tag("v1.2.0", c3)
		first := b.repo.CommitTo("side", sourcetest.Bundle("side")...)
		s := b.source()
		o := b.resolve(s, b.id, c2[:10])
		if want := "v1.0.1-0.20231114221420-" + c2[:12]; o.Version != want || o.Commit != c2 || o.Ref != "" {
			b.Errorf("origin %+v, want %s", o, want)
		}
		snap := b.fetch(s, o)
		if text, err := snap.Read(".ai/tools/x/hello.py"); err != nil || string(text) != "print(2)\n" {
			b.Errorf("read %q, %v", text, err)
		}
		if again := b.resolve(b.source(), b.id, o.Version); again.Commit != c2 || again.Version != o.Version {
			b.Errorf("its version names %+v", again)
		}
		if o := b.resolve(s, b.id, c1); o.Version != "v1.0.0" || o.Ref == "" {
			b.Errorf("a commit with a version is %+v", o)
		}
		if o := b.resolve(s, b.id, first); o.Version != "v0.0.0-20231114221620-"+first[:12] {
			b.Errorf("a commit without ancestors is %s", o.Version)
		} else if b.fetch(s, o).Sum == snap.Sum {
			b.Error("two commits, one sum")
		}
		// Who wishes for a version that the commit cannot have is refused.
		_, err := s.Resolve(b.Context(), b.id, "v1.9.1-0.20231114221420-"+c2[:12])
		want(b, err, diag.VersionMismatch, o.Version)
		_, err = s.Resolve(b.Context(), b.id, "v1.0.1-0.20991114221420-"+c2[:12])
		want(b, err, diag.VersionMismatch)
		if err := s.Revalidate(b.Context(), o); err != nil {
			b.Errorf("revalidating: %v", err)
		}
	})
}

// Protection 2: a commit of a fork is not accepted as one of the repository.
func TestImpostorCommit(t *testing.T) {
	each(t, func(b *bench) {
		b.repo.Git("", "config", "uploadpack.allowAnySHA1InWant", "true")
		c1 := b.repo.Commit(sourcetest.Bundle("1")...)
		b.repo.Tag("v1.0.0", c1)
		evil := b.repo.Orphan(sourcetest.Bundle("evil")...)
		b.repo.Git("", "update-ref", "refs/pull/1/head", evil)
		s := b.source()
		_, err := s.Resolve(b.Context(), b.id, evil)
		want(b, err, diag.ImpostorCommit, evil, b.url)
		_, err = s.Resolve(b.Context(), b.id, evil[:9])
		want(b, err, diag.ImpostorCommit)
		forged := source.Origin{ID: b.id, Version: "v0.0.0-20231114221420-" + evil[:12], URL: b.url, Commit: evil}
		_, err = s.Fetch(b.Context(), forged)
		want(b, err, diag.ImpostorCommit)
		want(b, s.Revalidate(b.Context(), forged), diag.ImpostorCommit)
		if keys, _ := s.p.Cache.Store.Snapshots(); len(keys) != 0 {
			b.Errorf("the cache holds %v", keys)
		}
	})
}

// Protection 1: a tag that holds something else is seen, whichever way it
// moved.
func TestTagMoved(t *testing.T) {
	moves := []func(r *sourcetest.Repo, tag, c1, c2 string){
		func(r *sourcetest.Repo, tag, _, c2 string) { r.Tag(tag, c2) },
		func(r *sourcetest.Repo, tag, c1, _ string) { r.Light(tag, c1) },
		func(r *sourcetest.Repo, tag, c1, _ string) { r.Git("", "tag", "-f", "-a", "-m", "again", tag, c1) },
		func(r *sourcetest.Repo, tag, _, _ string) { r.Git("", "tag", "-d", tag) },
		func(r *sourcetest.Repo, tag, _, c2 string) { r.Light(tag, c2) },
	}
	each(t, func(b *bench) {
		c1 := b.repo.Commit(sourcetest.Bundle("1")...)
		c2 := b.repo.Commit(sourcetest.Bundle("2")...)
		for i := range moves {
			b.repo.Tag(fmt.Sprintf("v1.%d.0", i), c1)
		}
		s := b.source()
		var before []source.Origin
		for i := range moves {
			before = append(before, b.fetch(s, b.resolve(s, b.id, fmt.Sprintf("v1.%d.0", i))).Origin)
		}
		same := b.source()
		for _, o := range before {
			if err := same.Revalidate(b.Context(), o); err != nil {
				b.Fatalf("before: %v", err)
			}
		}
		for i, move := range moves {
			move(b.repo, fmt.Sprintf("v1.%d.0", i), c1, c2)
		}
		if b.server != nil {
			b.server.Requests()
		}
		later := b.source()
		for _, o := range before {
			err := later.Revalidate(b.Context(), o)
			want(b, err, diag.TagMoved, o.Ref, c1)
			var e *diag.Error
			if !errors.As(err, &e) || e.Details["expected_commit"] != c1 || e.Details["ref"] != o.Ref {
				b.Errorf("details %v", e.Details)
			}
			_, err = later.Fetch(b.Context(), o)
			want(b, err, diag.TagMoved)
		}
		if b.server != nil && b.server.Asked() != 1 {
			b.Errorf("revalidating asked %d times, want once for the remote", b.server.Asked())
		}
		// The list of tags alone shows it.
		if l, err := later.Versions(b.Context(), b.id); err != nil || l.TagSum == before[0].TagSum {
			b.Errorf("the sum of the tags is the same, %v", err)
		}
	})
}

// Source binding: a lock cannot send an id somewhere else.
func TestBinding(t *testing.T) {
	each(t, func(b *bench) {
		b.repo.Tag("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
		s := b.source()
		o := b.resolve(s, b.id, "v1.0.0")
		for name, change := range map[string]func(*source.Origin){
			"url":    func(o *source.Origin) { o.URL = "https://github.com/evil/core" },
			"subdir": func(o *source.Origin) { o.Subdir = "x" },
		} {
			bad := o
			change(&bad)
			_, err := s.Fetch(b.Context(), bad)
			want(b, err, diag.LockRepointed)
			want(b, s.Revalidate(b.Context(), bad), diag.LockRepointed)
			_ = name
		}
		bad := o
		bad.Tree = strings.Repeat("ab", 20)
		_, err := s.Fetch(b.Context(), bad)
		want(b, err, diag.LockMismatch, bad.Tree)
		if snap := b.fetch(s, o); snap == nil {
			b.Fatal("nothing")
		}
		_, err = s.Fetch(b.Context(), bad)
		want(b, err, diag.LockMismatch, bad.Tree)
		for _, word := range []string{"--upload-pack=touch", "main", "", "HEAD", strings.Repeat("g", 40)} {
			bad := o
			bad.Commit, bad.Ref, bad.TagObject = word, "", ""
			_, err := s.Fetch(b.Context(), bad)
			want(b, err, diag.LockMismatch)
		}
	})
}

// Protection 10: entries that are not files, or that some system cannot have, are
// refused by name, and nothing is stored.
func TestHostileTrees(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a repository for each hostile tree")
	}
	var cases []hostile
	for name, tc := range map[string]struct {
		files []sourcetest.File
		code  diag.Code
		says  string
	}{
		"link":             {[]sourcetest.File{{Path: ".ai/tools/evil", Data: "/etc/passwd", Mode: "120000"}}, diag.NotRegular, ".ai/tools/evil"},
		"link for .ai":     {[]sourcetest.File{{Path: ".ai", Data: "/etc", Mode: "120000"}}, diag.NotRegular, ".ai"},
		"link as manifest": {[]sourcetest.File{{Path: "rye.yaml", Data: "/etc/passwd", Mode: "120000"}}, diag.NotRegular, "rye.yaml"},
		"submodule":        {[]sourcetest.File{{Path: ".ai/tools/sub", Data: strings.Repeat("12", 20), Mode: "160000"}}, diag.NotRegular, ".ai/tools/sub"},
		"case":             {[]sourcetest.File{{Path: ".ai/tools/A.py"}, {Path: ".ai/tools/a.py"}}, diag.PathEscape, "case"},
		"case of folders":  {[]sourcetest.File{{Path: ".ai/tools/A/x"}, {Path: ".ai/tools/a/y"}}, diag.PathEscape, "case"},
		"device":           {[]sourcetest.File{{Path: ".ai/tools/aux.py"}}, diag.PathEscape, "aux"},
		"short git":        {[]sourcetest.File{{Path: ".ai/tools/x/git~2/config"}}, diag.PathEscape, "git"},
		"bytecode":         {[]sourcetest.File{{Path: ".ai/tools/x/y.pyc"}}, diag.PathEscape, "bytecode"},
		"backslash":        {[]sourcetest.File{{Path: `.ai/tools/..\x`}}, diag.PathEscape, ""},
		"bidi":             {[]sourcetest.File{{Path: ".ai/tools/a\u202eyp.b"}}, diag.PathEscape, ""},
		"colon":            {[]sourcetest.File{{Path: ".ai/tools/a:b"}}, diag.PathEscape, ""},
		"long":             {[]sourcetest.File{{Path: ".ai/" + strings.Repeat("a/", 300) + "b"}}, diag.PathEscape, "long"},
		"nothing":          {[]sourcetest.File{{Path: "README.md"}, {Path: ".ai/trust/key.toml"}}, diag.SourceNotFound, "neither"},
	} {
		cases = append(cases, hostile{name, tc.files, tc.code, tc.says})
	}
	each(t, func(b *bench) {
		for i, tc := range cases {
			b.repo.Light(fmt.Sprintf("v1.0.%d", i), b.repo.Commit(tc.files...))
		}
		s := b.source()
		for i, tc := range cases {
			_, err := s.Fetch(b.Context(), b.resolve(s, b.id, fmt.Sprintf("v1.0.%d", i)))
			if diag.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.says) {
				b.Errorf("%s: %v, want %s with %q", tc.name, err, tc.code, tc.says)
			}
		}
		if keys, _ := s.p.Cache.Store.Snapshots(); len(keys) != 0 {
			b.Errorf("the cache holds %v", keys)
		}
	})
}

type hostile struct {
	name  string
	files []sourcetest.File
	code  diag.Code
	says  string
}

// rawTree makes a commit whose tree holds names that git itself refuses.
func rawTree(b *bench, lines ...string) string {
	blob := b.repo.Object("blob", "x")
	var inner strings.Builder
	for _, l := range lines {
		inner.WriteString(l + "\x00" + unhex(blob))
	}
	tree := b.repo.Object("tree", inner.String())
	top := b.repo.Object("tree", "40000 .ai\x00"+unhex(tree))
	commit := b.repo.Object("commit", "tree "+top+"\nauthor A <a@example.com> 1700000000 +0000\ncommitter A <a@example.com> 1700000000 +0000\n\nx\n")
	return commit
}

func unhex(s string) string {
	var out []byte
	for i := 0; i < len(s); i += 2 {
		var n byte
		fmt.Sscanf(s[i:i+2], "%02x", &n)
		out = append(out, n)
	}
	return string(out)
}

func TestNamesThatGitRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many git processes")
	}
	cases := [][]string{{"100644 .."}, {"100644 ."}, {"100644 .git"}, {"100644 .GIT"}, {"100644 a", "100644 a"}, {"100644 ../../x"},
		{"100600 a"}, {"100644 a\nb"}, {"40000 .."}, {"100644 "}}
	each(t, func(b *bench) {
		b.repo.Commit(sourcetest.Bundle("1")...)
		for i, lines := range cases {
			b.repo.Light(fmt.Sprintf("v1.0.%d", i), rawTree(b, lines...))
		}
		s := b.source()
		for i, lines := range cases {
			snap, err := s.Fetch(b.Context(), b.resolve(s, b.id, fmt.Sprintf("v1.0.%d", i)))
			if err == nil {
				b.Errorf("%q was taken: %v", lines, files(snap))
				continue
			}
			if code := diag.CodeOf(err); !slices.Contains([]diag.Code{diag.PathEscape, diag.NotRegular, diag.HashMismatch, diag.Network}, code) {
				b.Errorf("%q: %v (%s)", lines, err, code)
			}
		}
		if keys, _ := s.p.Cache.Store.Snapshots(); len(keys) != 0 {
			b.Errorf("the cache holds %v", keys)
		}
	})
}

func TestFiveThousandFiles(t *testing.T) {
	if os.Getenv("RYE_LONG") == "" {
		t.Skip("fetches 5,000 files; RYE_LONG=1 runs it")
	}
	each(t, func(b *bench) {
		if b.http != (b.transport == BuiltIn) {
			b.Skip("one way of each transport will do")
		}
		var many []sourcetest.File
		for i := range 5000 {
			many = append(many, sourcetest.File{Path: fmt.Sprintf(".ai/knowledge/d%d/f%d.md", i%50, i), Data: fmt.Sprintf("file %d\n", i)})
		}
		b.repo.Tag("v1.0.0", b.repo.Commit(many...))
		s := b.source()
		start := time.Now()
		snap := b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
		b.Logf("%v", time.Since(start))
		n := 0
		err := snap.Each(b.Context(), func(f source.File, data []byte) error {
			n += len(data)
			return nil
		})
		if len(snap.Files) != 5000 || err != nil || int64(n) != snap.Size() {
			b.Errorf("%d files, %d bytes, %v", len(snap.Files), n, err)
		}
	})
}

// The line endings that a user configures for git have no effect on fetched files.
func TestLineEndSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches with each setting of git")
	}
	sums := map[string]bool{}
	for _, setting := range []string{"true", "false", "input"} {
		each(t, func(b *bench) {
			b.repo.Tag("v1.0.0", b.repo.Commit(sourcetest.Bundle("1",
				sourcetest.File{Path: ".gitattributes", Data: "* text=auto eol=crlf\n*.bin filter=evil\n"},
				sourcetest.File{Path: ".ai/tools/x/crlf.txt", Data: "a\r\nb\n"}, sourcetest.File{Path: ".ai/tools/x/a.bin", Data: "a\n"})...))
			config := filepath.Join(b.TempDir(), "gitconfig")
			os.WriteFile(config, []byte("[core]\n\tautocrlf = "+setting+"\n\teol = crlf\n[filter \"evil\"]\n\tsmudge = false\n\trequired = true\n"), 0o600)
			s := b.source(func(p *Params) {
				p.Environ = append(slices.DeleteFunc(p.Environ, func(kv string) bool { return strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") }), "GIT_CONFIG_GLOBAL="+config)
			})
			snap := b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
			if text, err := snap.Read(".ai/tools/x/crlf.txt"); err != nil || string(text) != "a\r\nb\n" {
				b.Errorf("read %q, %v", text, err)
			}
			sums[snap.Sum] = true
		})
	}
	if len(sums) != 1 {
		t.Errorf("sums differ: %v", sums)
	}
}

func TestOffline(t *testing.T) {
	each(t, func(b *bench) {
		b.repo.Tag("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
		c2 := b.repo.Commit(sourcetest.Bundle("2")...)
		b.repo.Commit(sourcetest.Bundle("3")...)
		offline := func(p *Params) { p.Offline = true }
		_, err := b.source(offline).Versions(b.Context(), b.id)
		want(b, err, diag.SourceNotFound)
		if !errors.Is(err, source.ErrOffline) {
			b.Errorf("%v", err)
		}
		s := b.source()
		o := b.resolve(s, b.id, "v1.0.0")
		_, err = b.source(offline).Fetch(b.Context(), o)
		want(b, err, diag.SourceNotFound)
		snap := b.fetch(s, o)
		pseudo := b.resolve(s, b.id, c2)
		b.fetch(s, pseudo)
		if b.server != nil {
			b.server.Requests()
			b.server.Fault(sourcetest.Status(http.StatusInternalServerError))
		}
		off := b.source(offline)
		if got := b.resolve(off, b.id, "latest"); got != o {
			b.Errorf("offline %+v, want %+v", got, o)
		}
		if got := b.fetch(off, snap.Origin); got.Sum != snap.Sum || got.Origin.Tree != snap.Origin.Tree {
			b.Errorf("offline %+v", got)
		}
		b.fetch(off, pseudo)
		if b.server != nil && len(b.server.Requests()) > 0 {
			b.Error("offline asked the network")
		}
	})
}

func TestCancelled(t *testing.T) {
	each(t, func(b *bench) {
		b.repo.Tag("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
		s := b.source()
		o := b.resolve(s, b.id, "v1.0.0")
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		_, err := s.Fetch(ctx, o)
		want(b, err, diag.Cancelled)
		if b.fetch(s, o) == nil {
			b.Error("nothing afterwards")
		}
	})
}

func TestMissingRepository(t *testing.T) {
	each(t, func(b *bench) {
		b.url = strings.Replace(b.url, "core.git", "none.git", 1)
		_, err := b.source().Versions(b.Context(), b.id)
		want(b, err, diag.SourceNotFound, "none.git")
	})
}

func TestEmptyRepository(t *testing.T) {
	each(t, func(b *bench) {
		_, err := b.source().Resolve(b.Context(), b.id, "latest")
		want(b, err, diag.VersionNotFound)
	})
}
