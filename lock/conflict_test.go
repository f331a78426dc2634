package lock

import (
	"bytes"
	"testing"

	"github.com/ryeos/rye/diag"
)

// FuzzConflict holds that the sides of a merge come out as they went in, and
// that a lock with markers is two locks or an error, whatever it holds.
func FuzzConflict(f *testing.F) {
	good := example(f, "rye.lock")
	f.Add(good, good, good, false)
	f.Add(good, []byte("- bundle: github.com/x/a\n"), []byte("=======x\n"), true)
	f.Add([]byte("rye-lock: 1\n"), []byte("\r\n"), []byte("<<<<<<<\n"), false)
	f.Add([]byte("\ufeff"), []byte("\x00\n"), []byte(">>>>>>> b\n\u202e\n"), true)
	f.Add([]byte{}, []byte("||||||| base\n"), []byte{}, false)
	f.Fuzz(func(t *testing.T, common, a, b []byte, base bool) {
		common, a, b = lines(common), lines(a), lines(b)
		text := bytes.Join([][]byte{common, []byte("<<<<<<< ours\n"), a, []byte("=======\n"), b, []byte(">>>>>>> theirs\n"), common}, nil)
		if base {
			text = bytes.Replace(text, []byte("\n=======\n"), append([]byte("\n||||||| base\n"), append(bytes.Clone(common), "=======\n"...)...), 1)
		}
		ours, theirs, fs := ParseLockConflict(text)
		if (ours == nil) != diag.Failed(fs) || (ours == nil) != (theirs == nil) {
			t.Fatalf("%v and %v with %v", ours, theirs, fs)
		}
		if Conflicted(common) || Conflicted(a) || Conflicted(b) || len(text) > MaxLock {
			return
		}
		x, y, fs := Sides(text)
		if len(fs) > 0 || !bytes.Equal(x, bytes.Join([][]byte{common, a, common}, nil)) || !bytes.Equal(y, bytes.Join([][]byte{common, b, common}, nil)) {
			t.Fatalf("%q has the sides %q and %q: %v", text, x, y, fs)
		}
	})
}

// lines ends the last line of a text.
func lines(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(bytes.Clone(b), '\n')
	}
	return b
}
