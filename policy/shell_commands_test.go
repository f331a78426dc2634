package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	k, err := ReadRisk([]Layer{systemLayer(t)})
	if err != nil {
		t.Fatal(err)
	}
	commands, whole := k.Commands("cd x && sudo env A=1 python3 fill.py \"$1\" | tee out\nfor f in *; do pip install pypdf; done")
	var got []string
	computed := 0
	for _, c := range commands {
		got = append(got, strings.Join(c.Args, " "))
		if c.Computed {
			computed++
		}
	}
	for _, want := range []string{"cd x", "python3 fill.py ", "tee out", "pip install pypdf"} {
		if !slices.Contains(got, want) {
			t.Errorf("commands are %q, without %q", got, want)
		}
	}
	if !whole || computed == 0 {
		t.Errorf("whole is %t, and %d commands are computed", whole, computed)
	}
	if _, whole := k.Commands("if then ((("); whole {
		t.Error("a text that is not of the shell is taken as read")
	}
}
