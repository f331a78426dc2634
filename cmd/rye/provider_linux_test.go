package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/testkit"
)

// TestLoginAtTerminal types a key, which the terminal does not show, and interrupts the
// question for another one.
func TestLoginAtTerminal(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	x := atTerminal(t, dir, home, "provider", "login", "ACME_LLM_KEY")
	x.until("ACME_LLM_KEY (not shown): ")
	for on := true; on; {
		on, _ = testkit.Echoes(x.tty)
	}
	x.send("sk-acme-0123456789\n")
	x.until("stored ACME_LLM_KEY")
	if got := x.status(); got != 0 || strings.Contains(x.out.String(), "sk-acme") {
		t.Errorf("status %d: %q", got, x.out.String())
	}
	path := filepath.Join(home, ".config", "rye", "credentials.toml")
	before, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(before), `ACME_LLM_KEY = "sk-acme-0123456789"`) {
		t.Errorf("stored %q %v", before, err)
	}
	x = atTerminal(t, dir, home, "provider", "login", "ACME_LLM_KEY")
	x.until("(not shown): ")
	x.interrupted(false)
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("after the interrupt %q %v", after, err)
	}
}
