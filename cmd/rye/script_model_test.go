package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdModelServe starts the program model-server with a scenario, on a port of its own,
// and sets MODEL_URL to its address. A dialect replaces that of the scenario. Every request is a line of requests.jsonl. What
// the server reports about requests that the scenario does not expect is in the log of the
// script.
func cmdModelServe(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1 || len(args) == 2, "modelserve SCENARIO [DIALECT]")
	log := ts.MkAbs("requests.jsonl")
	ts.Check(os.WriteFile(log, nil, 0o644))
	program, err := exec.LookPath("model-server")
	if err != nil { // the directory of testscript is on the PATH of its scripts only
		program = findOn(ts.Getenv("PATH"), "model-server")
	}
	dialect := ""
	if len(args) == 2 {
		dialect = args[1]
	}
	c := exec.Command(program, "-log", log, "-dialect", dialect, ts.MkAbs(args[0]))
	var said strings.Builder
	c.Stderr = &said
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() {
		if c.Process.Signal(os.Interrupt) != nil { // Windows has no such signal
			_ = c.Process.Kill()
		}
		if c.Wait() != nil && said.Len() > 0 {
			ts.Logf("model-server %s: %s", args[0], said.String())
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = c.Wait()
		ts.Fatalf("model-server %s: %s", args[0], said.String())
	}
	ts.Setenv("MODEL_URL", strings.TrimSpace(address))
}

// cmdModelReads writes the results that a model read in the requests of requests.jsonl into a
// file, numbered, without values that differ from run to run.
func cmdModelReads(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "modelreads FILE")
	var out strings.Builder
	n := 0
	for line := range strings.Lines(ts.ReadFile("requests.jsonl")) {
		var e struct{ Results []string }
		ts.Check(json.Unmarshal([]byte(line), &e))
		for _, r := range e.Results {
			n++
			// Gemini takes objects: the text is in a member of one.
			var wrapped struct{ Output, Error *string }
			if json.Unmarshal([]byte(r), &wrapped) == nil {
				if wrapped.Output != nil {
					r = *wrapped.Output
				} else if wrapped.Error != nil {
					r = *wrapped.Error
				}
			}
			fmt.Fprintf(&out, "== %d\n%s\n", n, r)
		}
	}
	text := regexp.MustCompile(`"duration_ms":\d+`).ReplaceAllString(out.String(), `"duration_ms":0`)
	text = regexp.MustCompile(`\b(child|graph)-[0-9a-z]{20,}`).ReplaceAllString(text, "$1-ID")
	text = regexp.MustCompile(`"spend":"[0-9.]+"`).ReplaceAllString(text, `"spend":"0"`)
	text = regexp.MustCompile(`sha256:[0-9a-f]{64}`).ReplaceAllString(text, "sha256:DIGEST")
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// cmdBeginnings fails unless requests.jsonl has so many requests and each of them begins with
// at least so many per cent of the bytes of the one before: services cache by the beginning.
func cmdBeginnings(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, false, len(args) == 2, "[!] beginnings REQUESTS PERCENT")
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	percent, err := strconv.Atoi(args[1])
	ts.Check(err)
	var last []byte
	n := 0
	for line := range strings.Lines(ts.ReadFile("requests.jsonl")) {
		var e struct{ Request json.RawMessage }
		ts.Check(json.Unmarshal([]byte(line), &e))
		same := sameBeginning(last, e.Request)
		if n++; same*100 < percent*len(last) {
			if neg {
				return
			}
			ts.Fatalf("request %d has %d of the %d bytes of the one before as its beginning, then %.100q in place of %.100q", n, same, len(last), e.Request[same:], last[same:])
		}
		last = e.Request
	}
	if n < least {
		ts.Fatalf("%d requests, want at least %d", n, least)
	}
	if neg {
		ts.Fatalf("each of the %d requests begins with the one before", n)
	}
}

// sameBeginning returns the length of the beginning that two texts have in common.
func sameBeginning(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// findOn returns the path of a program on a PATH, or its name.
func findOn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p
		}
	}
	return name
}
