package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/testing/sourcetest"
)

// cmdRelease publishes a bundle as its author would: it signs the items of a
// folder, writes and signs the manifest, commits everything and tags it. With
// key= another key signs, with tag=no there is no tag, with manifest=no none is
// made. Dates and names are those of the script's environment, so that the same
// files give the same commits on every machine.
func cmdRelease(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "release DIR VERSION [name= key= tag= manifest=]")
	dir, version := ts.MkAbs(args[0]), args[1]
	set := settings(ts, args[2:], "name key tag manifest")
	name := set["name"]
	if name == "" {
		name = filepath.Base(dir)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		mustRun(ts, "git", "init", "-q", dir)
	}
	var key []string
	if set["key"] != "" {
		key = []string{"--key", ts.MkAbs(set["key"])}
	}
	if set["manifest"] != "no" {
		if found, _ := filepath.Glob(filepath.Join(dir, ".ai", "*", "*", "*.*")); len(found) > 0 {
			mustRun(ts, "rye", append([]string{"-C", dir, "sign", "*"}, key...)...)
		}
		mustRun(ts, "rye", append([]string{"-C", dir, "bundle", "create", name, "--version", version}, key...)...)
	}
	mustRun(ts, "git", "-C", dir, "add", "-A", ".")
	mustRun(ts, "git", "-C", dir, "commit", "-q", "--allow-empty", "-m", "release "+version)
	if set["tag"] != "no" {
		mustRun(ts, "git", "-C", dir, "tag", "-a", "v"+version, "-m", "v"+version)
	}
}

// cmdLibrary makes the folder of a bundle with one tool NAME/t, its name for a registry,
// and what it requires: DIR=VERSION words name bundles in the same directory.
func cmdLibrary(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 1, "library DIR [registry:HOST/NS/NAME] [BUNDLE=VERSION…]")
	dir := ts.MkAbs(args[0])
	name := filepath.Base(dir)
	tool := "# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: " + name +
		"\n# description: A tool of " + name + ".\necho " + name + "\n"
	at := filepath.Join(dir, ".ai", "tools", name)
	ts.Check(os.MkdirAll(at, 0o755))
	ts.Check(os.WriteFile(filepath.Join(at, "t.sh"), []byte(tool), 0o644))
	text, needs := "rye: 1\n", args[1:]
	if len(needs) > 0 && strings.HasPrefix(needs[0], "registry:") {
		text, needs = text+"name: "+needs[0]+"\n", needs[1:]
	}
	for i, need := range needs {
		if i == 0 {
			text += "require:\n"
		}
		id, version, _ := strings.Cut(need, "=")
		text += "  file://" + filepath.ToSlash(filepath.Join(filepath.Dir(dir), id)) + ": " + version + "\n"
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "rye.yaml"), []byte(text), 0o644))
}

func mustRun(ts *testscript.TestScript, program string, args ...string) {
	if err := ts.Exec(program, args...); err != nil {
		ts.Fatalf("%s %s: %v", program, strings.Join(args, " "), err)
	}
}

// cmdServe serves the repositories of a folder over HTTP until the script ends,
// and sets a variable to the address. redirect= sends everybody elsewhere,
// truncate= breaks packs off, status= answers everything with it, hang= answers
// nothing and makes that file when somebody asks, hostile= attacks the client.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "serve DIR VARIABLE [redirect= truncate= status= hang= hostile=]")
	set := settings(ts, args[2:], "redirect truncate status hang hostile")
	s := sourcetest.Serve(&scriptTB{ts: ts}, ts.MkAbs(args[0]))
	number := func(name string) int {
		n, err := strconv.Atoi(set[name])
		ts.Check(err)
		return n
	}
	switch {
	case set["redirect"] != "":
		s.Fault(sourcetest.Redirect(strings.TrimSuffix(set["redirect"], "/") + "/"))
	case set["truncate"] != "":
		s.Fault(sourcetest.Truncate(number("truncate")))
	case set["status"] != "":
		s.Fault(sourcetest.Status(number("status")))
	case set["hostile"] != "":
		answer := sourcetest.Hostile()[set["hostile"]]
		if answer == nil {
			ts.Fatalf("there is no attack %q", set["hostile"])
		}
		s.Fault(answer)
	case set["hang"] != "":
		reached, file := make(chan struct{}, 1), ts.MkAbs(set["hang"])
		s.Fault(sourcetest.Hang(reached))
		go func() {
			<-reached
			_ = os.WriteFile(file, nil, 0o644)
		}()
	}
	ts.Setenv(args[1], s.URL)
}

// scriptTB lets a script use what is made for tests.
type scriptTB struct {
	testing.TB
	ts *testscript.TestScript
}

func (t *scriptTB) Helper()                           {}
func (t *scriptTB) Cleanup(fn func())                 { t.ts.Defer(fn) }
func (t *scriptTB) Skip(args ...any)                  { t.ts.Fatalf("%s", fmt.Sprint(args...)) }
func (t *scriptTB) Fatalf(format string, args ...any) { t.ts.Fatalf(format, args...) }
