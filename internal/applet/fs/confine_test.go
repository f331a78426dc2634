package fs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/testing/wiretest"
	"github.com/ryeos/rye/policy"
)

// attackGround returns a project with links, and a directory with a secret next
// to it.
func attackGround(t *testing.T) (dir, outside string) {
	t.Helper()
	top := t.TempDir()
	dir, outside = filepath.Join(top, "p"), filepath.Join(top, "p-evil")
	wiretest.Put(t, dir, "in/file.txt", "inside\n")
	wiretest.Put(t, dir, ".git/config", "[core]\n")
	wiretest.Put(t, outside, "secret.txt", "secret\n")
	for link, target := range map[string]string{
		"out-abs":      filepath.Join(outside, "secret.txt"),
		"out-rel":      "../p-evil/secret.txt",
		"out-dir":      "../p-evil",
		"out-deep":     "in/../../p-evil",
		"out-absdir":   outside,
		"chain-1":      "chain-2",
		"chain-2":      "out-dir",
		"loop":         "loop",
		"dangling-out": "../p-evil/new.txt",
		"git-dir":      ".git",
		"in/up":        "..",
		"good":         "in/file.txt",
		"good-dir":     "in",
		"good-abs":     filepath.Join(dir, "in", "file.txt"),
		"dangling-in":  "in/new.txt",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	return dir, outside
}

func TestConfinementOfReading(t *testing.T) {
	t.Parallel()
	dir, outside := attackGround(t)
	for name, path := range map[string]string{
		"dots":               "../p-evil/secret.txt",
		"dots through":       "in/../../p-evil/secret.txt",
		"dots through link":  "good-dir/../../p-evil/secret.txt",
		"absolute":           filepath.Join(outside, "secret.txt"),
		"system file":        "/etc/passwd",
		"same prefix":        dir + "-evil/secret.txt",
		"absolute with dots": dir + "/../p-evil/secret.txt",
		"link":               "out-rel",
		"absolute link":      "out-abs",
		"linked parent":      "out-dir/secret.txt",
		"link with dots":     "out-deep/secret.txt",
		"absolute parent":    "out-absdir/secret.txt",
		"chain":              "chain-1/secret.txt",
		"up by link":         "in/up/../p-evil/secret.txt",
	} {
		t.Run(name, func(t *testing.T) {
			for applet, in := range map[string]obj{
				"read": {"file_path": path}, "write": {"file_path": path, "content": "x"},
				"edit_lines": {"file_path": path, "changes": []obj{{"line_id": "x", "new_content": ""}}},
				"ls":         {"path": path}, "glob": {"pattern": "*", "path": path}, "grep": {"pattern": "s", "path": path},
			} {
				e := fails(t, dir, applet, in, "PATH_ESCAPE")
				if strings.Contains(e["message"].(string), "secret\n") {
					t.Errorf("%s shows the secret", applet)
				}
			}
		})
	}
	fails(t, dir, "read", obj{"file_path": "loop"}, "FILE_SYSTEM_ERROR", "40 links")
	if got := wiretest.Get(t, outside, "secret.txt"); got != "secret\n" {
		t.Errorf("the secret was changed to %q", got)
	}
}

func TestLinksInsideWork(t *testing.T) {
	t.Parallel()
	dir, _ := attackGround(t)
	for _, path := range []string{"good", "good-dir/file.txt", "good-abs", "in/up/in/file.txt", "in/up/good-dir/../in/file.txt"} {
		got := ok(t, dir, "read", obj{"file_path": path})
		if got["file_path"] != "in/file.txt" || !strings.HasSuffix(got["output"].(string), "inside") {
			t.Errorf("%s: %v", path, got)
		}
	}
	ok(t, dir, "write", obj{"file_path": "good", "content": "changed\n"})
	if info, err := os.Lstat(filepath.Join(dir, "good")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("writing through a link replaced the link")
	}
	if got := wiretest.Get(t, dir, "in/file.txt"); got != "changed\n" {
		t.Errorf("the target holds %q", got)
	}
	if got := ok(t, dir, "write", obj{"file_path": "dangling-in", "content": "n"}); got["file_path"] != "in/new.txt" || got["created"] != true {
		t.Errorf("writing through a dangling link: %v", got)
	}
}

func TestProjectMayItselfBeALink(t *testing.T) {
	t.Parallel()
	dir, _ := attackGround(t)
	link := filepath.Join(t.TempDir(), "l")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"good-abs", link + "/in/file.txt", dir + "/in/file.txt"} {
		if got := ok(t, link, "read", obj{"file_path": path}); got["file_path"] != "in/file.txt" {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestConfinementOfWriting(t *testing.T) {
	t.Parallel()
	dir, outside := attackGround(t)
	fails(t, dir, "write", obj{"file_path": "dangling-out", "content": "x"}, "PATH_ESCAPE")
	fails(t, dir, "write", obj{"file_path": "out-dir/new/deep.txt", "content": "x"}, "PATH_ESCAPE")
	fails(t, dir, "write", obj{"file_path": "new/../../p-evil/x", "content": "x"}, "FILE_SYSTEM_ERROR")
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside now holds %v", entries)
	}
	for _, path := range []string{
		".git/config", ".git/hooks/pre-commit", ".GIT/config", "git-dir/config", "in/up/.git/config", "sub/.git/config",
		".git", ".git./x", ".git /x", ".git::$INDEX_ALLOCATION/x", "git~1/config", ".g\u200cit/config", "in/../.git/config", dir + "/.git/x",
	} {
		fails(t, dir, "write", obj{"file_path": path, "content": "x"}, "POLICY_DENIED", ".git")
	}
	fails(t, dir, "edit_lines", obj{"file_path": ".git/config", "changes": []obj{{"line_id": "x", "new_content": ""}}}, "POLICY_DENIED")
	if got := wiretest.Get(t, dir, ".git/config"); got != "[core]\n" {
		t.Errorf(".git/config holds %q", got)
	}
	for _, path := range []string{".gitignore", ".github/x.yml", "git~x", "a.git/x", ".ai/tools/t.sh"} {
		ok(t, dir, "write", obj{"file_path": path, "content": "x"})
	}
}

// TestGuarded wants nothing written that stops rye or steers it, in any
// spelling that some file system folds; drafts of items are.
func TestGuarded(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{".ai/config/web.yaml": "a: 1\n", ".ai/tools/t.sh": "x\n"})
	if err := os.Symlink(".ai/config", filepath.Join(dir, "link")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	wiretest.Put(t, dir, "member/.ai/tools/x.sh", "x\n")
	paths := []string{
		".ai/config/web.yaml", ".ai/config/new.yaml", ".ai/config", ".ai/trust/x.toml", ".ai/trusted_keys/x.pem", ".ai/keys/x",
		".ai/bundles/b/f", ".ai/cache/f", ".AI/config/x", ".ai/Config/x", ".ai./trust./x", "ai~1/config/x",
		".ai/truste~1/x", ".a\u200ci/trust/x", "sub/.ai/trust/x", ".ai/tools/../config/x", "rye.lock", "Rye.Lock", "rye.sum", "sub/rye.lock",
		"rye.yaml", "sub/RYE.YAML", ".rye-tmp-1", ".ai", ".ai/x", ".ai/tools/rye/primary/execute.yaml", ".ai/tools/Rye/core/extractors/tool/x.yaml",
		".envrc", ".husky/pre-commit", "sub/.vscode/tasks.json", ".mcp.json", "lefthook.yml", ".claude/settings.json",
		"sub/.ai/tools/x.sh", "sub/.ai/tools/drafts/x.sh",
		dir + "/.ai/trust/x",
	}
	if stream := ".ai/trust::$DATA"; runtime.GOOS == "windows" {
		fails(t, dir, "write", obj{"file_path": stream, "content": "x"}, "VALIDATION_FAILED", "not a file name on this system")
	} else {
		// .AI is .ai on Windows, and not a new directory
		paths = append(paths, stream, ".AI/tools/x.sh", "link/web.yaml", "link/new.yaml")
	}
	for _, path := range paths {
		fails(t, dir, "write", obj{"file_path": path, "content": "x"}, "POLICY_DENIED", "tools do not")
	}
	fails(t, dir, "write", obj{"files": []obj{{"file_path": "good", "content": "x"}, {"file_path": ".ai/trust/x", "content": "x"}}}, "POLICY_DENIED")
	fails(t, dir, "edit_lines", obj{"file_path": ".ai/config/web.yaml", "changes": []obj{{"line_id": "x", "new_content": ""}}}, "POLICY_DENIED", "do not write")
	if _, err := os.Stat(filepath.Join(dir, "good")); err == nil || wiretest.Get(t, dir, ".ai/config/web.yaml") != "a: 1\n" {
		t.Error("something was written")
	}
	ok(t, dir, "read", obj{"file_path": ".ai/config/web.yaml"})
	secrets(t, dir)
	for _, path := range []string{
		".ai/tools/t.sh", ".ai/tools/config/t.sh", ".ai/directives/trust.md", ".ai/knowledge/cache/x.md", "config/x", "trust", "x.ai/config", "rye.yaml.md", "rye.lock.md",
		"member/.ai/tools/drafts/y.sh", "member/.ai/knowledge/y.md", "vscode/extensions.json", ".ai/directives/rye/core/create_tool.md",
	} {
		ok(t, dir, "write", obj{"file_path": path, "content": "x"})
	}
}

// secrets wants no search to read what tools do not read, also through a link.
func secrets(t *testing.T, dir string) {
	t.Helper()
	wiretest.Put(t, dir, ".ai/threads/1/token", "secret\n")
	wiretest.Put(t, dir, "home/.ssh/id", "secret\n")
	wiretest.Put(t, dir, "home/notes", "secret\n")
	refused := []string{"home/.ssh/id", "home/.SSH/id", ".ai/threads/1/token"}
	if err := os.Symlink(filepath.Join(dir, "home", ".ssh", "id"), filepath.Join(dir, "key")); err == nil {
		refused = append(refused, "key")
	} else if runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(policy.Boundary{Project: real, Private: []policy.Private{{Path: filepath.Join(real, "home", ".ssh"), What: "ssh"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := wire.Params{Dir: dir, Getenv: func(string) string { return string(b) }}
	applets := wiretest.Applets(Applets())
	for in, want := range map[string]string{
		`{"pattern": "secret"}`:                         "[home/notes]",
		`{"pattern": "secret", "path": ".ai"}`:          "[]",
		`{"pattern": "secret", "include": "**/id"}`:     "[]",
		`{"pattern": "secret", "include": "**/.ssh/*"}`: "[]",
	} {
		got, _ := applets.RunJSON(t, t.Context(), p, "grep", in)
		found := []string{}
		for _, m := range got["matches"].([]any) {
			found = append(found, m.(obj)["file"].(string))
		}
		if fmt.Sprint(found) != want {
			t.Errorf("grep %s: %v, want %s", in, got, want)
		}
	}
	if got, _ := applets.RunJSON(t, t.Context(), p, "glob", `{"pattern": "**"}`); strings.Contains(fmt.Sprint(got["files"]), "token") || strings.Contains(fmt.Sprint(got["files"]), "id") {
		t.Errorf("glob shows %v", got["files"])
	}
	for _, path := range refused {
		got, exit := applets.RunJSON(t, t.Context(), p, "read", `{"file_path": "`+path+`"}`)
		wiretest.CheckFailure(t, got, exit, "POLICY_DENIED", "tools do not read")
		got, exit = applets.RunJSON(t, t.Context(), p, "write", `{"file_path": "`+path+`", "content": "x"}`)
		wiretest.CheckFailure(t, got, exit, "POLICY_DENIED")
	}
	for _, path := range []string{"home/.ssh", ".ai/threads/1"} {
		got, exit := applets.RunJSON(t, t.Context(), p, "ls", `{"path": "`+path+`"}`)
		wiretest.CheckFailure(t, got, exit, "POLICY_DENIED")
	}
	b = []byte(`{"project": ""}`)
	for _, name := range []string{"read", "ls", "glob", "grep", "write", "edit_lines"} {
		in := map[string]string{"read": `{"file_path": "x"}`, "glob": `{"pattern": "x"}`, "grep": `{"pattern": "x"}`,
			"write": `{"file_path": "x", "content": ""}`, "edit_lines": `{"file_path": "x", "changes": [{"line_id": "x", "new_content": ""}]}`}[name]
		got, exit := applets.RunJSON(t, t.Context(), p, name, in)
		wiretest.CheckFailure(t, got, exit, "ITEM_NOT_FOUND", "work in a project")
	}
}

// TestSwappedLink swaps a folder and a link to the outside as fast as it can
// while files are read and written through the name: nothing may come out, and
// nothing may arrive outside.
func TestSwappedLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a folder in use cannot be renamed there")
	}
	dir, outside := attackGround(t)
	wiretest.Put(t, dir, "d/secret.txt", "inside\n")
	name, away := filepath.Join(dir, "d"), filepath.Join(dir, "d-away")
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(name, away)
			_ = os.Symlink(outside, name)
			_ = os.Remove(name)
			_ = os.Rename(away, name)
		}
	})
	read, refused := 0, 0
	for range 100 {
		got, exit := run(t, dir, "read", obj{"file_path": "d/secret.txt"})
		if exit != 0 {
			refused++
		} else if read++; !strings.HasSuffix(got["output"].(string), "inside") && !strings.HasSuffix(got["output"].(string), "new") {
			t.Errorf("read %v", got["output"])
		}
		_, _ = run(t, dir, "write", obj{"file_path": "d/secret.txt", "content": "new\n"})
		_, _ = run(t, dir, "write", obj{"file_path": "d/sub/x.txt", "content": "new\n"})
		found, exit := run(t, dir, "grep", obj{"pattern": "secret", "path": "d"})
		if exit == 0 && found["count"] != float64(0) {
			t.Errorf("grep found %v", found["matches"])
		}
	}
	close(stop)
	swapping.Wait()
	if got := wiretest.Get(t, outside, "secret.txt"); got != "secret\n" {
		t.Errorf("outside holds %q", got)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside now holds %v", entries)
	}
	if read == 0 && refused == 0 {
		t.Error("nothing was tried")
	}
}

// TestSwappedTarget swaps between the check and the rename, where a schedule
// cannot be hit by luck: the steps of a write are taken one by one.
func TestSwappedTarget(t *testing.T) {
	t.Parallel()
	dir, outside := attackGround(t)
	wiretest.Put(t, dir, "f.txt", "old\n")
	pr, err := files.Open(wire.Params{Dir: dir, Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	file, secret := filepath.Join(dir, "f.txt"), filepath.Join(outside, "secret.txt")
	for name, swap := range map[string]func() error{
		"a link in its place": func() error {
			return first(os.Remove(file), os.Symlink(secret, file))
		},
		"another file in its place": func() error {
			return first(os.Remove(file), os.WriteFile(file, []byte("theirs\n"), 0o644))
		},
		"removed": func() error { return os.Remove(file) },
		"grown":   func() error { return os.WriteFile(file, []byte("theirs, longer\n"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(file)
			wiretest.Put(t, dir, "f.txt", "old\n")
			s, err := pr.Find("f.txt")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			st, err := stage(s, []byte("old\n"), []byte("ours\n"))
			if err != nil {
				t.Fatal(err)
			}
			if err := swap(); err != nil {
				t.Fatal(err)
			}
			err = st.commit()
			st.drop()
			if err == nil || !strings.Contains(err.Error(), "changed during the call") {
				t.Errorf("commit: %v", err)
			}
			noLeftovers(t, dir)
			if got := wiretest.Get(t, outside, "secret.txt"); got != "secret\n" {
				t.Errorf("outside holds %q", got)
			}
		})
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// noLeftovers wants no temporary file anywhere below dir.
func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), ".rye-tmp-") {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
