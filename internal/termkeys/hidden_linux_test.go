package termkeys_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/termkeys"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// A line is an answer, the end of the input is not: Ctrl-D ends the read at once, with and
// without text before it, and so does a terminal that is closed.
func TestReadHidden(t *testing.T) {
	for _, c := range []struct {
		name, typed, want string
		closes            bool
	}{
		{name: "a line", typed: "horse\n", want: "horse"},
		{name: "an empty line", typed: "\n"},
		{name: "a corrected line", typed: "hors\x7f\x7fse\n", want: "hose"},
		{name: "Ctrl-D", typed: "\x04"},
		{name: "Ctrl-D after text", typed: "horse\x04\x04"},
		{name: "a closed terminal", closes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			master, tty, err := testkit.OpenPTY()
			if err != nil {
				t.Skip("no pseudo-terminal: ", err)
			}
			defer master.Close()
			defer tty.Close()
			asked, done := make(chan bool, 1), make(chan error, 1)
			var line []byte
			go func() {
				var err error
				line, err = termkeys.ReadHidden(tty, func() {
					echo, eerr := testkit.Echoes(tty)
					asked <- eerr == nil && !echo
				})
				done <- err
			}()
			if !<-asked {
				t.Error("the question is asked while the terminal echoes")
			}
			if c.closes {
				master.Close()
			} else if _, err := master.WriteString(c.typed); err != nil {
				t.Fatal(err)
			}
			ended := c.closes || c.typed[len(c.typed)-1] == '\x04'
			select {
			case err = <-done:
			case <-time.After(time.Minute):
				t.Fatal("it still reads")
			}
			var failed *os.PathError // EIO of a closed terminal
			if string(line) != c.want || ended != (err != nil) || err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &failed) {
				t.Errorf("read %q, %v", line, err)
			}
			if echo, err := testkit.Echoes(tty); !c.closes && (err != nil || !echo) {
				t.Errorf("the terminal does not echo: %v", err)
			}
		})
	}
}
