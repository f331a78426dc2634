package mcpclient

import "testing"

// TestDeviceNames is about agents F17: CON.yaml cannot be checked out on Windows.
func TestDeviceNames(t *testing.T) {
	for name, want := range map[string]string{
		"CON": "_x43ON", "nul": "_x6eul", "com1": "_x63om1", "LPT9": "_x4cPT9", "COM0": "_x43OM0", "CONS": "CONS", "console": "console", "_x43ON": "_x5fx43ON",
	} {
		if got := Segment(name); got != want || Original(got) != name {
			t.Errorf("%s: %s, back %s", name, got, Original(got))
		}
	}
}
