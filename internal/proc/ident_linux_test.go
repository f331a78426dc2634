package proc

import (
	"os"
	"os/exec"
	"testing"
)

// TestIdentity: a process is itself while it runs; one with its number and another start,
// and one that has ended, are not alive.
func TestIdentity(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, ok := IdentityOf(cmd.Process.Pid)
	if alive, known := id.Alive(); !ok || !alive || !known {
		t.Errorf("%+v is not alive", id)
	}
	other, boot := id, id
	other.Start++
	boot.Boot = "another"
	for _, gone := range []Identity{other, boot} {
		if alive, known := gone.Alive(); alive || !known {
			t.Errorf("%+v is alive", gone)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if alive, known := id.Alive(); alive || !known {
		t.Errorf("%+v has ended and is alive", id)
	}
	if _, known := (Identity{}).Alive(); known {
		t.Error("a process that is not known is")
	}
	if self, ok := IdentityOf(os.Getpid()); !ok || self.Start == 0 || self.Boot == "" {
		t.Errorf("%+v", self)
	}
}
