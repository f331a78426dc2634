package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ryeos/rye/threads/provider/providertest"
)

// TestExamplesReplay runs the recorded thread of each example directive, without a server and
// without a key. A changed prompt is a difference. RYE_UPDATE_GOLDEN=1 records again what does not
// pass, with the scenario of the script run_example_directive.
func TestExamplesReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "directives", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		t.Run(name, func(t *testing.T) { replayExample(t, name, file) })
	}
}

func replayExample(t *testing.T, name, file string) {
	recording := filepath.Join("..", "..", "examples", "tests", name+".yaml")
	directive, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	l.dir = filepath.Join(l.dir, "boats") // the prompt has its name
	l.write(".ai/directives/examples/"+name+".md", string(directive))
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	out, status := "no recording", 1
	if b, err := os.ReadFile(recording); err == nil {
		l.write(".ai/tests/examples/"+name+".yaml", string(b))
		l.must("sign", "*")
		_, out, status = l.run("test")
	}
	if status != 0 && os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		recordExample(t, l, name, recording)
		_, out, status = l.run("test")
	}
	if status != 0 {
		t.Fatalf("the recording of the example %s does not pass; RYE_UPDATE_GOLDEN=1 records it again:\n%s", name, out)
	}
	before, _, found := bytes.Cut(directive, []byte("\n1. "))
	if !found {
		t.Fatal("the example has no steps")
	}
	l.write(".ai/directives/examples/"+name+".md", string(before)+"\n1. Do something else.\n")
	l.must("sign", "*")
	if _, out, status = l.run("test"); status != 1 || !strings.Contains(out, "turn 1: the messages differ") || !strings.Contains(out, "+  1. Do something else.") {
		t.Errorf("a changed prompt: exit status %d\n%s", status, out)
	}
}

// recordExample runs the example with the scripted model of its script.
func recordExample(t *testing.T, l *lab, name, recording string) {
	a, err := txtar.ParseFile(filepath.Join("..", "..", "testdata", "scripts", "run_example_directive.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	server := &providertest.Server{}
	for _, f := range a.Files {
		switch f.Name {
		case "script.yaml":
			if server.Scenario, err = providertest.Parse(f.Name, f.Data); err != nil {
				t.Fatal(err)
			}
		case "README.md", "prices.txt", ".ai/tools/demo/model.yaml":
			l.write(f.Name, string(f.Data))
		}
	}
	s := httptest.NewServer(server)
	defer s.Close()
	l.more = func() []string { return []string{"MODEL_URL=" + s.URL, "DEMO_KEY=sk-demo-12345678"} }
	l.must("sign", "*")
	l.must("test", "record", "examples/"+name, "words=40", "--model", "demo/model=scripted-1", "--replace")
	l.more = nil
	b := l.read(filepath.Join(l.dir, ".ai", "tests", "examples", name+".yaml"))
	if err := os.MkdirAll(filepath.Dir(recording), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recording, b, 0o644); err != nil {
		t.Fatal(err)
	}
	l.must("sign", "*")
}
