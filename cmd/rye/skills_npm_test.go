package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSkillsFromNPM imports every skill of published packages into a project with the kind
// skill, signs and verifies them, and exports each: the folder must be the one of
// the package, byte by byte.
func TestSkillsFromNPM(t *testing.T) {
	packages := filepath.Join(os.Getenv("RYE_NPM_SKILLS"), "node_modules")
	if _, err := os.Stat(packages); err != nil || !filepath.IsAbs(packages) {
		t.Skip("RYE_NPM_SKILLS names no folder with internal/interop/testdata/npm installed; .ci/run makes one")
	}
	dirs := skillFolders(t, packages)
	if len(dirs) < 8 {
		t.Fatalf("the packages have %d skills, want at least 8", len(dirs))
	}
	l := newLab(t)
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	l.must("init")
	extractor := filepath.Join(l.dir, ".ai", "tools", "rye", "core", "extractors", "skill", "skill_extractor.yaml")
	if err := os.MkdirAll(filepath.Dir(extractor), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(extractor, []byte(skillExtractor(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	l.must("sign", extractor)
	for id, dir := range dirs {
		l.must("import", dir, "--to", id)
	}
	l.must("sign", "*")
	l.must("bundle", "create", "skills")
	l.must("verify")
	scriptOfSkill(t, l)
	for id, dir := range dirs {
		to := filepath.Join(t.TempDir(), "out")
		l.must("export", "skill", id, "--to", to)
		sameFolder(t, dir, to)
		l.must("run", "skill:"+id)
	}
}

// scriptOfSkill runs a script of an imported skill in the sandbox.
func scriptOfSkill(t *testing.T, l *lab) {
	if _, err := exec.LookPath("python3"); err != nil || runtime.GOOS != "linux" {
		return
	}
	l.write("src/lonely.ts", "export {}\n")
	out := l.must("run", "tool", "rye/bash/bash", "command=python3 .ai/skills/test-specialist/scripts/find_untested_code.py src", "--json")
	for _, want := range []string{"lonely.ts", `"rung"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

// skillFolders returns the folders with SKILL.md that are not in another one, by an id.
func skillFolders(t *testing.T, packages string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(packages, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if _, err := os.Stat(filepath.Join(p, "SKILL.md")); err == nil {
				out[filepath.Base(p)] = p
				return fs.SkipDir
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// skillExtractor returns the item that the script import_skill declares the kind with.
func skillExtractor(t *testing.T) string {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", "import_skill.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(b), "-- skill_extractor.yaml --\n")
	if !found {
		t.Fatal("import_skill.txtar has no skill_extractor.yaml")
	}
	return text
}

func sameFolder(t *testing.T, want, got string) {
	t.Helper()
	files := map[string]int{}
	for i, root := range []string{want, got} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(root, p)
			files[rel] |= 1 << i
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for rel, in := range files {
		if in != 3 {
			t.Errorf("%s is in one of %s and %s only", rel, want, got)
			continue
		}
		a, err := os.ReadFile(filepath.Join(want, rel))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(got, rel))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s was changed", rel)
		}
	}
}
