package policy

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

// TestCommandsLater wants the patterns when a text is examined, once, and without them a
// person's decision about each text.
func TestCommandsLater(t *testing.T) {
	whole, err := ReadRisk([]Layer{systemLayer(t)})
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	k := (&Risk{}).WithCommands(func() (*Risk, error) { read++; return whole, nil })
	for _, text := range []string{"rm -rf /", "echo hi", "sudo reboot"} {
		got, want := k.Shell(text), whole.Shell(text)
		if !slices.EqualFunc(got, want, func(a, b Danger) bool { return a.ID == b.ID && a.Tier == b.Tier && a.Text == b.Text }) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	parts := []string{"find . -exec ", " ;"}
	if got, want := k.ShellValues(parts, nil), whole.ShellValues(parts, nil); len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("values: %v, want %v", got, want)
	}
	if read != 1 {
		t.Errorf("the commands were read %d times", read)
	}
	k = (&Risk{}).WithCommands(func() (*Risk, error) { return nil, errors.New("damaged") })
	if got := k.Shell("echo hi"); len(got) != 1 || got[0].Tier != T4 {
		t.Errorf("without the commands: %v", got)
	}
	if got := k.ShellValues([]string{"echo ", ""}, nil); len(got) != 1 {
		t.Errorf("without the commands: %v", got)
	}
}

// TestOptionsLater wants the programs that print their arguments to be known from the table.
func TestOptionsLater(t *testing.T) {
	whole, err := ReadRisk([]Layer{systemLayer(t)})
	if err != nil {
		t.Fatal(err)
	}
	k := (&Risk{}).WithCommands(func() (*Risk, error) { return whole, nil })
	if got := k.shellOptions([]string{"printf ", ""}); len(got) > 0 {
		t.Errorf("an argument of printf is an option: %v", got)
	}
	if got := k.shellOptions([]string{"make ", ""}); len(got) != 1 {
		t.Errorf("the first argument of make: %v", got)
	}
}
