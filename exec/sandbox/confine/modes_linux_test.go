package confine

import (
	"syscall"
	"testing"
)

// Where the kernel gives the calls of a filter to no helper, the same filter refuses them.
func TestFilterWithoutListener(t *testing.T) {
	prog := []syscall.SockFilter{{Code: 0x20, K: retNotify}, {Code: bpfReturn, K: retNotify}, {Code: bpfReturn, K: 0x7fff0000}}
	if !asked(prog) {
		t.Error("the filter asks the helper, and asked does not see it")
	}
	refused(prog)
	if asked(prog) || prog[1].K != retErrno|uint32(syscall.EPERM) || prog[0].K != retNotify || prog[2].K != 0x7fff0000 {
		t.Errorf("%x", prog)
	}
}

// A directory of another name that begins with the same letters is not below it.
func TestModesOfWritablePaths(t *testing.T) {
	m := newModes(-1, &Ruleset{Rules: []Rule{{Path: "/a/b", Access: writeFile}, {Path: "/r", Access: 1 << 2}, {Path: "/dev/null", Access: writeFile}}})
	for path, want := range map[string]bool{"/a/b": true, "/a/b/c": true, "/a/bc": false, "/a": false, "/r/x": false, "/dev/null": false, "/a/b (deleted)": false, "": false} {
		if m.writes(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
