//go:build unix

package proc

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"
)

// TestPair shows that a program gets the other end as descriptor 3 and no other
// descriptor, and that OnExit precedes the end of its children.
func TestPair(t *testing.T) {
	ours, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	c := sh(`read -r line <&3; echo "got $line" >&3; exec 4>&3 2>/dev/null; (read -r line <&3) & exit 0`)
	c.Files = append(c.Files, theirs)
	c.Grace = 10 * time.Minute
	exited := make(chan struct{})
	answer := make(chan string, 1)
	got := ""
	c.OnExit = func() {
		got = <-answer // before our end is closed
		close(exited)
		ours.Close() // ends the child, which has the connection and stdout open
	}
	go io.WriteString(ours, "hello\n")
	go func() {
		line, _ := bufio.NewReader(ours).ReadString('\n')
		answer <- line
	}()
	r := mustRun(t, c)
	<-exited
	if got != "got hello\n" {
		t.Errorf("answer %q", got)
	}
	if r.ExitCode != 0 || r.Duration > 5*time.Minute {
		t.Errorf("%+v", r)
	}
	if _, err := theirs.Write([]byte("x")); err == nil {
		t.Error("the program's end is open in this process")
	}
}

// TestFilesAreClosed shows that Run closes the files of a program that does not start.
func TestFilesAreClosed(t *testing.T) {
	for _, argv := range [][]string{nil, {"/nonexistent/program"}, {"/bin/sh", "a\x00b"}} {
		ours, theirs, err := Pair()
		if err != nil {
			t.Fatal(err)
		}
		c := Cmd{Argv: argv}
		c.Files = append(c.Files, theirs)
		if _, err := Run(t.Context(), c); err == nil {
			t.Fatalf("%q started", argv)
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: reading: %v", strings.Join(argv, " "), err)
		}
		ours.Close()
	}
}
