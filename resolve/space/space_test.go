package space

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/ryeos/rye/diag"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree makes folders ("a/b/"), files ("a/f") and links ("l -> to") below a new
// folder without links.
func tree(t testing.TB, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, n := range names {
		p := filepath.Join(dir, filepath.FromSlash(n))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		if n[len(n)-1] == '/' {
			must(t, os.MkdirAll(p, 0o755))
		} else {
			must(t, os.WriteFile(p, []byte(n), 0o644))
		}
	}
	return dir
}

func link(t testing.TB, to, at string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	if err := os.Symlink(to, at); err != nil {
		t.Skip("no links here: ", err)
	}
}

func labels(s *Spaces) (out []string) {
	for _, r := range s.Roots {
		out = append(out, r.Label())
	}
	return out
}

func TestDiscover(t *testing.T) {
	dir := tree(t, "home/.ai/", "home/work/.ai/", "home/work/sub/deep/", "home/other/x/", "repo/.git", "repo/sub/", "outer/.ai/", "outer/repo/.git/", "outer/repo/sub/",
		"file/.ai", "sys/.ai/", "inner/.ai/tools/x/", "inner/.ai/bundles/b@v1/rye.yaml", "only/rye.yaml", "only/sub/", "both/rye.yaml", "both/sub/.ai/", "both/repo/.git/", "both/repo/.ai/",
		"own/.ai/rye.yaml", "own/below/", "odd/rye.yaml/")
	at := func(p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }
	link(t, at("home"), at("homelink"))
	link(t, at("sys"), at("linked/.ai"))
	sys := fstest.MapFS{".ai/tools/a.yaml": {}}
	for _, c := range []struct {
		name, dir, project, home string
		env                      map[string]string
		wantProject, wantUser    string
		roots                    []string
	}{
		{"here", "home/work", "", "home", nil, "home/work", "home", []string{"project", "user", "system:b"}},
		{"above", "home/work/sub/deep", "", "home", nil, "home/work", "home", []string{"project", "user", "system:b"}},
		{"the home directory", "home/other/x", "", "home", nil, "", "home", []string{"user", "system:b"}},
		{"nor under another name", "homelink/other/x", "", "home", nil, "", "home", []string{"user", "system:b"}},
		{"nor when it is named", "repo", "home", "home", nil, "", "home", []string{"user", "system:b"}},
		{"nor is the user space", "outer", "", "home", map[string]string{"RYE_USER_SPACE": dir + "/outer"}, "", "outer", []string{"user", "system:b"}},
		{"stops at the work tree", "outer/repo/sub", "", "home", nil, "", "home", []string{"user", "system:b"}},
		{"a file of that name", "file", "", "home", nil, "", "home", []string{"user", "system:b"}},
		{"a link of that name", "linked", "", "home", nil, "linked", "home", []string{"project", "user", "system:b"}},
		{"inside .ai", "inner/.ai/tools/x", "", "home", nil, "inner", "home", []string{"project", "user", "system:b"}},
		{"inside an installed bundle", "inner/.ai/bundles/b@v1", "", "home", nil, "inner", "home", []string{"project", "user", "system:b"}},
		{"rye.yaml without .ai", "only/sub", "", "home", nil, "only", "home", []string{"project", "user", "system:b"}},
		{"rye.yaml before a nearer .ai", "both/sub", "", "home", nil, "both", "home", []string{"project", "user", "system:b"}},
		{"not beyond the work tree", "both/repo", "", "home", nil, "both/repo", "home", []string{"project", "user", "system:b"}},
		{"the user space with a rye.yaml", "own/.ai", "", "own", nil, "", "own", []string{"user", "system:b"}},
		{"nor when the user space is named", "repo", "own/.ai", "own", nil, "", "own", []string{"user", "system:b"}},
		{"a directory rye.yaml", "odd", "", "home", nil, "", "home", []string{"user", "system:b"}},
		{"named, without .ai", "home", "repo", "home", nil, "repo", "home", []string{"project", "user", "system:b"}},
		{"no home", "home/work", "", "", nil, "home/work", "", []string{"project", "system:b"}},
		{"relative user space", "home/work", "", "home", map[string]string{"RYE_USER_SPACE": "../../outer"}, "home/work", "outer", []string{"project", "user", "system:b"}},
		{"older names", "repo", "", "home", map[string]string{"USER_SPACE": dir + "/outer", "USER_PATH": dir + "/sys"}, "", "outer", []string{"user", "system:b"}},
		{"system space", "home/work", "", "home", map[string]string{"RYE_SYSTEM_SPACE": dir + "/sys"}, "home/work", "home", []string{"project", "user", "system:sys", "system:b"}},
	} {
		p := Params{Dir: at(c.dir), Getenv: func(k string) string { return c.env[k] }, System: sys, Layer: "b"}
		if c.project != "" {
			p.Project = at(c.project)
		}
		if c.home != "" {
			p.Home = at(c.home)
		}
		want := func(rel string) string {
			if rel == "" {
				return ""
			}
			return at(rel)
		}
		s, err := Discover(p)
		if err != nil || s.ProjectDir != want(c.wantProject) || s.UserDir != want(c.wantUser) || !slices.Equal(labels(s), c.roots) {
			t.Errorf("%s: %v: project %q, user %q, roots %q", c.name, err, s.ProjectDir, s.UserDir, labels(s))
		}
	}
	for _, project := range []string{at("none"), at("file/.ai")} {
		if _, err := Discover(Params{Project: project, Dir: dir}); diag.CodeOf(err) != diag.Usage {
			t.Errorf("project %s: %v, want USAGE", project, err)
		}
	}
	if s, err := Discover(Params{Project: string(filepath.Separator), Dir: dir}); err != nil || s.ProjectDir != "" {
		t.Errorf("the root of the file system: %q %v", s.ProjectDir, err)
	}
	if s, err := Discover(Params{}); err != nil || len(s.Roots) != 0 {
		t.Errorf("the zero Params: %v %v", s, err)
	}
}

func TestFrom(t *testing.T) {
	a, b, c := NewDir(Project, "", "/a", false), NewDir(User, "", "/b", true), NewEmbedded("x", fstest.MapFS{})
	s := &Spaces{Roots: []*Root{a, b, c}}
	if got := s.From(b); !slices.Equal(got, []*Root{b, c}) {
		t.Errorf("from user: %v", got)
	}
	if got := s.From(NewDir(User, "", "/b", true)); got != nil {
		t.Errorf("from a stranger: %v", got)
	}
	if s.Of(User) != b || s.Of(System) != nil {
		t.Error("Of finds another root")
	}
}

// Open rules: V35, V36, V38.
func TestReadRules(t *testing.T) {
	dir := tree(t, ".ai/tools/a.py", ".ai/tools/d/b.py", "outside.py")
	r := NewDir(Project, "", dir, false)
	if b, err := r.Read("tools/a.py", 100); err != nil || string(b) != ".ai/tools/a.py" {
		t.Fatalf("%q, %v", b, err)
	}
	if _, err := r.Read("tools/a.py", 3); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("too large: %v", err)
	}
	for _, rel := range []string{"tools/none.py", "none/a.py"} {
		if _, err := r.Read(rel, 100); !IsMissing(err) || r.Exists(rel) {
			t.Errorf("%s: %v, exists %v", rel, err, r.Exists(rel))
		}
	}
	for _, rel := range []string{"../outside.py", "tools/../tools/a.py", "/etc/passwd", "", "tools//a.py", `tools\a.py`} {
		if _, err := r.Read(rel, 100); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("%q: %v, want PATH_ESCAPE", rel, err)
		}
	}
	link(t, "a.py", filepath.Join(dir, ".ai/tools/link.py"))
	link(t, "d", filepath.Join(dir, ".ai/tools/linkdir"))
	link(t, "loop", filepath.Join(dir, ".ai/tools/loop"))
	for _, rel := range []string{"tools/link.py", "tools/linkdir/b.py", "tools/loop", "tools/loop/b.py"} {
		if _, err := r.Read(rel, 100); diag.CodeOf(err) != diag.PathEscape || !r.Exists(rel) {
			t.Errorf("%s: %v, exists %v: a link hides what is below it", rel, err, r.Exists(rel))
		}
	}
	must(t, os.Link(filepath.Join(dir, "outside.py"), filepath.Join(dir, ".ai/tools/hard.py")))
	if _, err := r.Read("tools/hard.py", 100); diag.CodeOf(err) != diag.NotRegular {
		t.Errorf("hard link: %v", err)
	}
	if _, err := r.Read("tools/d", 100); diag.CodeOf(err) != diag.NotRegular {
		t.Errorf("folder: %v", err)
	}
}

// A file that cannot be inspected exists: an item of lower precedence must not
// replace it.
func TestExistsWithoutPermission(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("no permission stops this user")
	}
	dir := tree(t, ".ai/tools/d/b.py")
	closed := filepath.Join(dir, ".ai/tools/d")
	must(t, os.Chmod(closed, 0))
	defer os.Chmod(closed, 0o755)
	r := NewDir(Project, "", dir, false)
	if !r.Exists("tools/d/b.py") {
		t.Error("a file in a closed folder is taken for missing")
	}
	var seen []Entry
	must(t, r.Walk(".", func(e Entry) error { seen = append(seen, e); return nil }))
	if len(seen) != 1 || seen[0].Rel != "tools/d" || diag.CodeOf(seen[0].Err) != diag.FileSystemError {
		t.Errorf("walked %+v, want the closed folder with its error", seen)
	}
}

func TestLinkedAI(t *testing.T) {
	dir := tree(t, "real/tools/a.py", "p/")
	link(t, "../real", filepath.Join(dir, "p/.ai"))
	project, user := NewDir(Project, "", filepath.Join(dir, "p"), false), NewDir(User, "", filepath.Join(dir, "p"), true)
	if _, err := project.Read("tools/a.py", 100); diag.CodeOf(err) != diag.PathEscape || !project.Exists("tools/a.py") {
		t.Errorf("project: %v, exists %v", err, project.Exists("tools/a.py"))
	}
	if err := project.Walk(".", func(Entry) error { return nil }); diag.CodeOf(err) != diag.PathEscape {
		t.Errorf("walk: %v", err)
	}
	if err := project.Create("tools/b.py", nil); diag.CodeOf(err) != diag.PathEscape {
		t.Errorf("create: %v", err)
	}
	if b, err := user.Read("tools/a.py", 100); err != nil || string(b) != "real/tools/a.py" {
		t.Errorf("user: %q, %v", b, err)
	}
}

func TestWalk(t *testing.T) {
	dir := tree(t, ".ai/tools/b.py", ".ai/tools/a/z.py", ".ai/tools/a.py", ".ai/x")
	link(t, "b.py", filepath.Join(dir, ".ai/tools/l.py"))
	emb := fstest.MapFS{".ai/tools/b.py": {}, ".ai/tools/a/z.py": {}, ".ai/tools/a.py": {}, ".ai/x": {}}
	for _, r := range []*Root{NewDir(Project, "", dir, false), NewEmbedded("b", emb)} {
		var got []string
		must(t, r.Walk("tools", func(e Entry) error {
			if e.Type == 0 {
				got = append(got, e.Rel)
			} else if diag.CodeOf(e.Err) != diag.PathEscape {
				t.Errorf("%+v", e)
			}
			return nil
		}))
		slices.Sort(got)
		if !slices.Equal(got, []string{"tools/a.py", "tools/a/z.py", "tools/b.py"}) {
			t.Errorf("%s: %q", r.Label(), got)
		}
		must(t, r.Walk("none", func(e Entry) error { t.Errorf("%+v", e); return nil }))
		stop := errors.New("stop")
		if err := r.Walk(".", func(Entry) error { return stop }); err != stop {
			t.Errorf("%s: %v", r.Label(), err)
		}
	}
	must(t, NewDir(Project, "", filepath.Join(dir, "none"), false).Walk(".", func(Entry) error { return errors.New("no") }))
}

func TestEmbedded(t *testing.T) {
	r := NewEmbedded("b", fstest.MapFS{".ai/tools/a.py": {Data: []byte("abc")}})
	if b, err := r.Read("tools/a.py", 3); err != nil || string(b) != "abc" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := r.Read("tools/a.py", 2); diag.CodeOf(err) != diag.TooLarge {
		t.Error(err)
	}
	if _, err := r.Read("tools/b.py", 2); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if !r.Exists("tools/a.py") || r.Exists("tools") || r.Exists("tools/b.py") || r.Path("tools/a.py") != "" {
		t.Error("existence")
	}
	if err := r.Write("tools/a.py", nil); diag.CodeOf(err) != diag.PermissionDenied {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	dir := tree(t, ".ai/tools/a.py", "outside/")
	r := NewDir(Project, "", dir, false)
	must(t, r.Write("tools/a.py", []byte("new")))
	must(t, r.Create("tools/deep/er/b.py", []byte("b")))
	for rel, want := range map[string]string{"tools/a.py": "new", "tools/deep/er/b.py": "b"} {
		if b, err := r.Read(rel, 100); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", rel, b, err)
		}
	}
	if err := r.Create("tools/a.py", []byte("x")); err == nil {
		t.Error("a file that exists was created")
	}
	link(t, filepath.Join(dir, "outside"), filepath.Join(dir, ".ai/knowledge"))
	link(t, filepath.Join(dir, "outside/f"), filepath.Join(dir, ".ai/tools/l.py"))
	for _, rel := range []string{"knowledge/k.md", "tools/l.py", "../x", "/x"} {
		if err := r.Create(rel, nil); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("create %s: %v", rel, err)
		}
		if err := r.Write(rel, nil); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("write %s: %v", rel, err)
		}
	}
	if des, _ := os.ReadDir(filepath.Join(dir, "outside")); len(des) != 0 {
		t.Errorf("written outside: %v", des)
	}
}

func TestLocate(t *testing.T) {
	dir := tree(t, "p/.ai/tools/a.py", "home/.ai/tools/u.py", "p-evil/.ai/tools/a.py")
	link(t, filepath.Join(dir, "p"), filepath.Join(dir, "link"))
	s := &Spaces{Roots: []*Root{NewDir(Project, "", filepath.Join(dir, "p"), false), NewDir(User, "", filepath.Join(dir, "home"), true), NewEmbedded("b", fstest.MapFS{})}}
	for file, want := range map[string]string{
		"p/.ai/tools/a.py":      "project tools/a.py",
		"p/.ai":                 "project .",
		"link/.ai/tools/a.py":   "project tools/a.py",
		"home/.ai/tools/u.py":   "user tools/u.py",
		"p/x":                   "",
		"p/.ai-x/a":             "",
		"p-evil/.ai/tools/a.py": "", // EXEC-7: a name that only begins alike
		"none/x":                "",
	} {
		r, rel, ok := s.Locate(filepath.Join(dir, filepath.FromSlash(file)))
		got := ""
		if ok {
			got = r.Label() + " " + rel
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestDisplay(t *testing.T) {
	for want, r := range map[string]*Root{
		".ai/tools/a.py": NewDir(Project, "", "/p", false), "~/.ai/tools/a.py": NewDir(User, "", "/u", true),
		"system:b/.ai/tools/a.py": NewEmbedded("b", fstest.MapFS{}),
	} {
		if got := r.Display("tools/a.py"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
