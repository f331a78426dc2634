package gitcmd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// indexLab asks git about the content of index files. The index is in no repository that
// anything else uses, so that any content can be tried.
type indexLab struct{ dir, file string }

func newIndexLab(t testing.TB, format string) indexLab {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	x := indexLab{dir, filepath.Join(dir, "tried")}
	x.run(t, "init", "-q", "--object-format="+format, ".")
	return x
}

func (x indexLab) git(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = x.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=" + x.dir, "GIT_INDEX_FILE=" + x.file, "LC_ALL=C"}
	return cmd
}

func (x indexLab) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := x.git(args...).Output()
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// list returns the entries that git reads of an index, and an error if it refuses it.
func (x indexLab) list(t testing.TB, b []byte) ([]Entry, error) {
	t.Helper()
	if err := os.WriteFile(x.file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := x.git("ls-files", "--stage", "-z").Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	list := []Entry{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if line == "" {
			continue
		}
		head, path, _ := strings.Cut(line, "\t")
		part := strings.Fields(head)
		if len(part) != 3 || part[2] != "0" {
			t.Fatalf("%q is in the list of an index that was read", line)
		}
		mode, err := strconv.ParseUint(part[0], 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Entry{Mode: uint32(mode), OID: part[1], Path: path})
	}
	return list, nil
}

// written returns indexes that git wrote: of each version, with each extension that git
// itself may ignore. ls-files lists what is intended to be added, so that none has that.
func (x indexLab) written(t testing.TB) (out [][]byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	blob := x.run(t, "hash-object", "-w", "empty")
	var info strings.Builder
	for _, e := range []string{"100644 a.b", "100755 a/run.sh", "120000 a/z/link", "100644 a/z/yy", "100644 " + strings.Repeat("n", 300)} {
		mode, path, _ := strings.Cut(e, " ")
		info.WriteString(mode + " " + blob + "\t" + path + "\n")
	}
	add := x.git("update-index", "--add", "--index-info")
	add.Stdin = strings.NewReader(info.String())
	if err := add.Run(); err != nil {
		t.Fatal(err)
	}
	x.run(t, "write-tree") // writes the extension TREE
	keep := func(args ...string) {
		x.run(t, args...)
		b, err := os.ReadFile(x.file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	keep("update-index", "--index-version", "2")
	keep("update-index", "--index-version", "4")
	keep("update-index", "--index-version", "3", "--skip-worktree", "a.b") // git writes it for extended flags only
	keep("update-index", "--force-untracked-cache")
	return out
}

// extended replaces the extensions of an index that git wrote.
func extended(t testing.TB, b []byte, hash int, name, data string) []byte {
	t.Helper()
	r := &indexReader{text: string(b), at: indexHeader, end: len(b) - hash, hash: hash, version: binary.BigEndian.Uint32(b[4:])}
	for range binary.BigEndian.Uint32(b[8:]) {
		if _, ok := r.entry(); !ok {
			t.Fatalf("%q is not an index", b)
		}
	}
	out := append(slices.Clone(b[:r.at]), name...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	return append(append(out, data...), make([]byte, hash)...)
}

// overwrite applies the changes of a fuzzer: triples of a position of two bytes and the byte
// that is written there. A position after the end counts from the end.
func overwrite(b, changes []byte) []byte {
	b = slices.Clone(b)
	for ; len(changes) >= 3; changes = changes[3:] {
		at := int(changes[0])<<8 | int(changes[1])
		if at >= len(b) {
			at = len(b) - 1 - at%len(b)
		}
		b[at] = changes[2]
	}
	return b
}

// indexSources returns the indexes that FuzzIndexAsGit changes. The first three, and all up to read, are
// read by this program; the extensions of the others are left to git.
func indexSources(t testing.TB, x indexLab, hash int) (sources [][]byte, read int) {
	t.Helper()
	sources = x.written(t)
	b, oid := sources[0], strings.Repeat("o", hash)
	add := func(name string, data ...string) {
		for _, d := range data {
			sources = append(sources, extended(t, b, hash, name, d))
		}
	}
	add("REUC", "", "a.b\x00100644\x000\x000\x00"+oid, "damaged")
	add("UNTR", "")
	add("EOIE", strings.Repeat("e", 4+hash))
	add("TREE", "\x00-1 0\n", "\x00-1 2\na\x00-1 0\nb\x00-1 0\n", "\x005 2\n"+oid+"b\x00-1 0\naa\x001 1\n"+oid+"b\x000 0\n"+oid)
	read = len(sources)
	add("TREE", "", "a\x00-1 0\n", "\x00-1 1\n", "\x00-1 0\nx", "\x00-1 2\na\x00-1 0\na\x00-1 0\n", "\x00-1 2\naa\x00-1 0\nb\x00-1 0\n", "\x00-1 1\naa\x00-1 2\nb\x00-1 0\nb\x00-1 0\n", "\x001 0\n", "\x00-1 -1\n")
	more := "\x00\x00\x03\xe8\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" // of a thousand files
	add("FSMN", "\x00\x00\x00\x02token\x00\x00\x00\x00\x14"+more)
	add("IEOT", "\x00\x00\x00\x01")
	add("link", oid)
	add("sdir", "")
	add("ABCD", "")
	return sources, read
}

// FuzzIndexAsGit reads indexes as git does. What this program reads itself is what git reads,
// entry for entry, and what git refuses is not read. An index that is left to git is not
// compared: the list is then git's own.
func FuzzIndexAsGit(f *testing.F) {
	labs := map[bool]indexLab{false: newIndexLab(f, "sha1"), true: newIndexLab(f, "sha256")}
	size := map[bool]int{false: 20, true: 32}
	sources := map[bool][][]byte{}
	for _, sha256 := range []bool{false, true} {
		var read int
		sources[sha256], read = indexSources(f, labs[sha256], size[sha256])
		for i, b := range sources[sha256] {
			if _, ok := parseIndex(b, size[sha256], nil); ok != (i < read) {
				f.Fatalf("the index %d is read: %t\n%q", i, ok, b)
			}
			f.Add(uint8(i), sha256, []byte{})
		}
	}
	// Each byte of the first entry that is not one of its stat data, and of the extension TREE.
	for i, b := range sources[false][:3] {
		tree := bytes.LastIndex(b, []byte("TREE"))
		for at := range b {
			if at >= indexHeader+modeOffset && at < indexHeader+modeOffset+4 || at >= indexHeader+statLength+19 && at < indexHeader+statLength+28 || i == 0 && at >= tree && at < len(b)-20 {
				f.Add(uint8(i), false, []byte{byte(at >> 8), byte(at), b[at] ^ 1<<(at%8)})
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, sha256 bool, changes []byte) {
		b := overwrite(sources[sha256][int(i)%len(sources[sha256])], changes)
		got, ok := parseIndex(b, size[sha256], nil)
		if !ok || len(got) != int(binary.BigEndian.Uint32(b[8:])) { // ls-files lists what is intended to be added
			return
		}
		want, err := labs[sha256].list(t, b)
		if err != nil {
			t.Fatalf("git refuses an index that is read as %v: %v", got, err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("an index is read as\n%v\nby git as\n%v", got, want)
		}
	})
}
