package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
)

// TestHelperOfAnotherVersion has executables in the place of rye that answer as other
// versions of it: nothing that they report counts as the result of the program.
func TestHelperOfAnotherVersion(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		for name, answer := range map[string]string{
			"before versions": `{"exited":true}`,
			"next":            "rye helper\x00" + string(rune(confine.Protocol+1)) + "X",
		} {
			self := filepath.Join(t.TempDir(), "rye")
			script := "#!/bin/sh\ncat " + self + ".answer >&4\n"
			if err := errors.Join(os.WriteFile(self+".answer", []byte(answer), 0o600), os.WriteFile(self, []byte(script), 0o700)); err != nil {
				t.Fatal(err)
			}
			cmd := proc.Cmd{Argv: []string{"true"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
			_, end, err := Wrap(&cmd, Grant{Self: self, Rung: r, Net: "none"}, Probe())
			if err != nil {
				t.Fatal(err)
			}
			res, err := proc.Run(context.Background(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			failed := new(diag.Error)
			if err := end(&res); !errors.As(err, &failed) || failed.Code != diag.SandboxUnavailable || !strings.Contains(failed.Message, "another version of rye") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestRequestOfAnotherVersion starts the helper with requests that it must not serve.
func TestRequestOfAnotherVersion(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	good := confine.AppendSpec(nil, &confine.Spec{Path: "/bin/true", Argv: []string{"true"}, Dir: "/"})
	next := append([]byte(nil), good...)
	next[len("rye sandbox\x00")]++
	for name, request := range map[string][]byte{"next": next, "before versions": []byte(`{"path":"/bin/true"}`)} {
		spec, err := memory(request)
		if err != nil {
			t.Fatal(err)
		}
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
		helper := exec.Command(self, confine.Command)
		helper.ExtraFiles = []*os.File{spec, theirs}
		runErr := helper.Run()
		theirs.Close()
		spec.Close()
		buf := make([]byte, 4096)
		n, err := ours.Read(buf)
		ours.Close()
		if err != nil || runErr == nil || helper.ProcessState.ExitCode() != confine.Failed {
			t.Fatalf("%s: %v, %v", name, runErr, err)
		}
		m, _, err := confine.ParseMessage(buf[:n])
		if err != nil || m.Failure == nil || m.Failure.Step != confine.VersionStep {
			t.Errorf("%s: %+v %v", name, m.Failure, err)
		}
	}
}
