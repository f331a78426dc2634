package proc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// V40: a sealed file in memory runs, and nobody can change it.
func TestV40Memfd(t *testing.T) {
	f, err := Memfd("item", []byte("#!/bin/sh\necho \"sealed $1\"\n"))
	if runtime.GOOS != "linux" {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Memfd: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, argv := range [][]string{{"/proc/self/fd/3", "x"}, {"/bin/sh", "/proc/self/fd/3", "x"}} {
		r, err := Run(t.Context(), Cmd{Argv: argv, ExtraFiles: []*os.File{f}})
		if err != nil || string(r.Stdout) != "sealed x\n" {
			t.Errorf("%q: %q %q %v", argv, r.Stdout, r.Stderr, err)
		}
	}
	if _, err := f.WriteAt([]byte("evil"), 0); err == nil {
		t.Error("written after the seal")
	}
	if f.Truncate(0) == nil || f.Truncate(1<<20) == nil {
		t.Error("resized after the seal")
	}
	if g, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDWR, 0); err == nil {
		if _, err = g.Write([]byte("evil")); err == nil {
			t.Error("written through another descriptor")
		}
		g.Close()
	}
	if f, err := Memfd("empty", nil); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
}
