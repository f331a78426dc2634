package lock

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// TestTruncated verifies that half a line raises no alarm about an address, and that a missing
// line end does not hide the one in a complete line.
func TestTruncated(t *testing.T) {
	t.Parallel()
	good := string(example(t, "rye.lock"))
	const address = "  url: https://github.com/acme/core-bundle"
	at := strings.Index(good, address)
	if at < 0 {
		t.Fatal("the example has no address")
	}
	moved := strings.Replace(good, address, "  url: https://evil.example/core-bundle", 1)
	for name, c := range map[string]struct {
		text string
		want diag.Code
	}{
		"one line":                {"rye-lock: 1.1", diag.ParsingError},
		"in the address":          {good[:at+len(address)-3], diag.ParsingError},
		"after it":                {good[:at+len(address)+8], diag.ParsingError},
		"at the end":              {good[:len(good)-1], diag.ParsingError},
		"with another address":    {moved[:len(moved)-1], diag.LockRepointed},
		"with it as last line":    {moved[:at+len("  url: https://evil.example/core-bundle")], diag.ParsingError},
		"with it as last but one": {moved[:at+len("  url: https://evil.example/core-bundle")+5], diag.LockRepointed},
	} {
		l, fs := ParseLock([]byte(c.text))
		if got := diag.Worst(fs); l != nil || got != c.want {
			t.Errorf("%s: %v, %s, want %s: %v", name, l != nil, got, c.want, fs)
		}
		cut := 0
		for _, f := range fs {
			if strings.Contains(f.Message, "the file is truncated") && f.Reason == "damaged_lock" {
				cut++
			} else if f.Code != diag.LockRepointed {
				t.Errorf("%s: %v follows from the missing line end", name, f)
			}
		}
		if cut != 1 {
			t.Errorf("%s: %d findings about the line end: %v", name, cut, fs)
		}
	}
}
