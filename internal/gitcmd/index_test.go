package gitcmd

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// listed returns what git lists of the index.
func listed(t *testing.T, r *Repo, paths ...string) []Entry {
	t.Helper()
	list, err := r.Staged(t.Context(), r.EmptyTree(), paths...)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Entry, len(list))
	for i, c := range list {
		out[i] = c.Entry
	}
	return out
}

// ownList returns what this program reads of the index itself.
func ownList(t *testing.T, r *Repo, paths ...string) (list []Entry, ok bool) {
	t.Helper()
	b, err := os.ReadFile(r.Index())
	if err != nil {
		t.Fatal(err)
	}
	return parseIndex(b, r.hash().Size(), paths)
}

// someFiles puts files and other entries into the index.
func someFiles(t *testing.T, r *Repo, run func(...string) string) {
	t.Helper()
	long := strings.Repeat("directory/", 20)
	for _, name := range []string{"a", "a.b", "a/b" + "c", "a-b/x", ".ai/tools/x.py", ".ai/tools/x.py.sig", ".ai.yaml", long + "file", "ünï/cödé", "with space/new\tline"} {
		if name != "a" {
			put(t, r, name, "text of "+name)
		}
	}
	run("add", ".")
	blob := run("hash-object", "-w", "a.b")
	run("update-index", "--add", "--cacheinfo", "100755,"+blob+",run.sh")
	run("update-index", "--add", "--cacheinfo", "120000,"+blob+",link")
	run("update-index", "--add", "--cacheinfo", "160000,"+blob+",module")
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+","+strings.Repeat("n", 4094))
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+","+strings.Repeat("n", 4095))
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+","+strings.Repeat("n", 4096)+"/"+strings.Repeat("m", 1000))
}

// TestIndexed compares the list of the index with that of git, in each format.
func TestIndexed(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			t.Run(format+" "+version, func(t *testing.T) {
				r, run := scratch(t, "--object-format="+format)
				someFiles(t, r, run)
				put(t, r, "intended", "not added")
				run("update-index", "--index-version", version)
				if version == "3" { // git writes it for extended flags only
					run("add", "--intent-to-add", "intended")
					run("update-index", "--skip-worktree", "a.b")
				}
				run("commit", "-q", "-m", "first") // writes the extension TREE
				for _, paths := range [][]string{nil, {".ai"}, {"a"}, {"a.b", "module"}, {".ai/tools", "rye.yaml", "directory"}, {"nothing"}, {strings.Repeat("n", 4096)}} {
					got, ok := ownList(t, r, paths...)
					want := listed(t, r, paths...)
					if !ok || !slices.Equal(got, want) {
						t.Errorf("%.60q: read %t, %d entries\n%v\nwant %d\n%v", paths, ok, len(got), got, len(want), want)
					}
				}
			})
		}
	}
}

// TestIndexedByGit has indexes that only git reads. The result is the same.
func TestIndexedByGit(t *testing.T) {
	cases := map[string]func(t *testing.T, r *Repo, run func(...string) string){
		"split":   func(_ *testing.T, _ *Repo, run func(...string) string) { run("update-index", "--split-index") },
		"no file": func(t *testing.T, r *Repo, _ func(...string) string) { remove(t, r.Index()) },
		"sparse": func(_ *testing.T, _ *Repo, run func(...string) string) {
			run("commit", "-q", "-m", "first")
			run("sparse-checkout", "init", "--cone", "--sparse-index")
		},
		"not merged": func(t *testing.T, r *Repo, run func(...string) string) {
			run("commit", "-q", "-m", "first")
			run("checkout", "-q", "-b", "other")
			put(t, r, "a.b", "theirs")
			run("commit", "-q", "-a", "-m", "theirs")
			run("checkout", "-q", "-")
			put(t, r, "a.b", "ours")
			run("commit", "-q", "-a", "-m", "ours")
			_, _ = r.run(t.Context(), nil, "-c", "user.name=a", "-c", "user.email=a@example.test", "merge", "other")
		},
	}
	for name, do := range cases {
		t.Run(name, func(t *testing.T) {
			r, run := scratch(t)
			put(t, r, "a.b", "text")
			put(t, r, "dir/in/it", "text")
			run("add", ".")
			do(t, r, run)
			if _, err := os.Stat(r.Index()); err == nil {
				if _, ok := ownList(t, r); ok {
					t.Error("it was read")
				}
			}
			got, err := r.Indexed(t.Context())
			if want := listed(t, r); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		})
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// TestIndexedPaths refuses paths that git would take as others.
func TestIndexedPaths(t *testing.T) {
	r, run := scratch(t)
	put(t, r, "dir/file", "text")
	put(t, r, "other", "text")
	run("add", ".")
	for _, paths := range [][]string{{""}, {"", "dir"}, {"dir/"}, {"./dir"}, {"."}, {"dir//file"}} {
		got, err := r.Indexed(t.Context(), paths...)
		if want := listed(t, r, paths...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", paths, got, err, want)
		}
	}
	if got, err := r.Indexed(t.Context(), "../x"); err == nil {
		t.Errorf("a path outside of the repository: %v", got)
	}
}

// TestDamagedIndex changes single bytes and the end of an index. What is read nevertheless
// must be sorted and must not contain other types of entries.
func TestDamagedIndex(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		r, run := scratch(t)
		someFiles(t, r, run)
		run("update-index", "--index-version", version)
		whole, err := os.ReadFile(r.Index())
		if err != nil {
			t.Fatal(err)
		}
		for n := range min(len(whole), 1500) {
			if _, ok := parseIndex(whole[:n], 20, nil); ok {
				t.Fatalf("version %s: the first %d bytes were read", version, n)
			}
			damaged := slices.Clone(whole)
			damaged[n] ^= byte(1 << (n % 8))
			checkRead(t, damaged)
		}
	}
}

func checkRead(t *testing.T, b []byte) {
	t.Helper()
	list, ok := parseIndex(b, 20, nil)
	if !ok {
		return
	}
	if !slices.IsSortedFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) }) || len(list) > int(binary.BigEndian.Uint32(b[8:])) {
		t.Fatalf("not sorted: %v", list)
	}
	for _, e := range list {
		if len(e.OID) != 40 || e.Path == "" || strings.Contains(e.Path, "\x00") || !slices.Contains([]uint32{ModeFile, ModeExecutable, ModeLink, ModeSubmodule}, e.Mode) {
			t.Fatalf("read %q", fmt.Sprint(e))
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	entry := append(make([]byte, 24), 0, 0, 0x81, 0xa4)
	entry = append(append(entry, make([]byte, 12+20)...), 0, 3, 'a', '/', 'b')
	head := []byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01")
	f.Add(append(append(slices.Clone(head), append(entry, make([]byte, 7)...)...), make([]byte, 20)...))
	head[7] = 4
	entry = append(slices.Clone(entry[:62]), 0, 'a', 0)
	f.Add(append(append(head, entry...), make([]byte, 20)...))
	f.Fuzz(func(t *testing.T, b []byte) { checkRead(t, b) })
}
