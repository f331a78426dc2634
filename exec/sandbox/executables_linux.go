package sandbox

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
)

// executables grants the start of the program and of the permitted ones. It narrows
// what a program starts, and is not a barrier: an interpreter runs what it reads.
func (w *wrapped) executables(r *confine.Ruleset) {
	seen := map[string]bool{}
	for _, p := range append([]string{w.original.Path}, *w.g.Exec...) {
		w.executable(p, seen, 0)
	}
	for p := range seen {
		grant(r, p, false, fsExecute|fsReadFile)
	}
}

// executable adds a program, and what the kernel starts to run it: the interpreter of a
// script, the loader of a binary.
func (w *wrapped) executable(p string, seen map[string]bool, depth int) {
	real, err := filepath.EvalSymlinks(p)
	if err != nil || seen[real] || depth > 4 {
		return
	}
	f, err := os.Open(real)
	if err != nil {
		return
	}
	defer f.Close()
	seen[real] = true
	var head [256]byte
	n, _ := f.ReadAt(head[:], 0)
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		for i, word := range strings.Fields(string(line)) {
			switch {
			case i == 0:
				w.executable(word, seen, depth+1)
			case strings.HasPrefix(word, "-") || strings.Contains(word, "="):
			default: // what env starts
				found, err := proc.LookPath(word, w.original.Env)
				if err == nil {
					w.executable(found, seen, depth+1)
				}
			}
		}
		return
	}
	if e, err := elf.NewFile(f); err == nil {
		for _, prog := range e.Progs {
			if prog.Type == elf.PT_INTERP && prog.Filesz < 4096 {
				b := make([]byte, prog.Filesz)
				if _, err := prog.ReadAt(b, 0); err == nil {
					w.executable(strings.TrimRight(string(b), "\x00"), seen, depth+1)
				}
			}
		}
	}
}
