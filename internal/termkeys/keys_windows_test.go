package termkeys

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestHangup closes the console while keys are awaited.
func TestHangup(t *testing.T) {
	t.Parallel()
	term := &Terminal{hangup: make(chan os.Signal, 1)}
	term.hangup <- syscall.SIGTERM
	if keys, err := term.Read(t.Context()); !errors.Is(err, ErrClosed) || !term.gone {
		t.Errorf("%v, %v", keys, err)
	}
}

// TestKeys reads the keys of events.
func TestKeys(t *testing.T) {
	t.Parallel()
	term := &Terminal{}
	event := func(char, code uint16, control uint32) record {
		return record{kind: keyEvent, down: 1, char: char, code: code, control: control}
	}
	up := event('z', 'Z', 0)
	up.down = 0
	got := term.keys([]record{
		event('y', 'Y', 0), up, event(0, 0x10, 0), event(0, 0x26, 0), event('n', 'N', leftAlt), event('\r', 0x0d, 0),
		event('\b', 8, 0), event(0x1a, 'Z', 8), event(0xd83d, 0, 0), event(0xde00, 0, 0), {kind: 4, down: 1, char: 'x'},
	})
	want := []Key{'y', Other, Other, Enter, Backspace, End, 0x1f600}
	if len(got) != len(want) {
		t.Fatalf("%v, not %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("key %d is %v, not %v", i, got[i], want[i])
		}
	}
}
