package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdLocalModel starts the small model of RYE_LOCAL_MODEL and sets LOCAL_LLM_URL, which
// the shipped item local reads.
func cmdLocalModel(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 0, "localmodel")
	serve, err := filepath.Abs(filepath.Join("..", "..", "threads", "provider", "testdata", "local", "serve.py"))
	ts.Check(err)
	c := exec.Command(filepath.Join(os.Getenv("RYE_LOCAL_MODEL"), "bin", "python"), serve)
	stdin, err := c.StdinPipe()
	ts.Check(err)
	stdout, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() {
		_ = stdin.Close() // ends it
		_ = c.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	ts.Check(err)
	ts.Setenv("LOCAL_LLM_URL", strings.TrimSpace(address))
}
