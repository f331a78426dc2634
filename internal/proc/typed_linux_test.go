package proc_test

import (
	"bufio"
	"testing"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// What was typed at a terminal is discarded, also a line that is not complete.
func TestDropTyped(t *testing.T) {
	master, tty, err := testkit.OpenPTY()
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	t.Cleanup(func() { master.Close(); tty.Close() })
	echo := bufio.NewReader(master)
	typed := func(text string, want byte) { // the echo comes after the line is in the queue
		t.Helper()
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if _, err := echo.ReadString(want); err != nil {
			t.Fatal(err)
		}
	}
	if proc.DropTyped(tty) {
		t.Error("a line is discarded that was not typed")
	}
	typed("once\n", '\n')
	if !proc.DropTyped(tty) {
		t.Error("the line is not discarded")
	}
	typed("onc", 'c')
	if proc.DropTyped(tty) {
		t.Error("three letters are a line")
	}
	typed("e\n", '\n')
	if line, err := bufio.NewReader(tty).ReadString('\n'); err != nil || line != "e\n" {
		t.Errorf("the next line is %q, %v", line, err)
	}
}
