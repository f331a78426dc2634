package cli

import "testing"

// TestNumbered has numbers in the commands of hints, and ids elsewhere.
func TestNumbered(t *testing.T) {
	const id, other = "triage-01jd3v8k2m9q4x7c5n0b6t1ras", "job-01jd3v8k2m9q4x7c5n0b6t1rat"
	u := &UI{numbers: func(s string) int64 {
		if s == id {
			return 12
		}
		return 0
	}}
	for hint, want := range map[string]string{
		"rye threads show " + id: "rye threads show 12",
		"run `rye threads resume " + id + " --limit turns=3`, or wait":   "run `rye threads resume 12 --limit turns=3`, or wait",
		"restore .ai/threads/" + id + "/transcript.head from a backup":   "restore .ai/threads/" + id + "/transcript.head from a backup",
		"the log of " + id + " is continued by rye threads accept " + id: "the log of " + id + " is continued by rye threads accept 12",
		"rye graph log " + other: "rye graph log " + other,
		"rye list tool":          "rye list tool",
	} {
		if got := u.numbered(hint); got != want {
			t.Errorf("%q is %q, not %q", hint, got, want)
		}
	}
	if hint := "rye threads show " + id; (&UI{}).numbered(hint) != hint {
		t.Error("without numbers the hint changed")
	}
}
