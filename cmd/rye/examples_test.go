package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// exampleSet is a set of directives with recorded threads.
type exampleSet struct {
	dir     string            // of the directives, below examples
	id      string            // of the directives, without their names
	tools   map[string]string // file: path in the project
	args    []string          // of each directive
	setting func(*testing.T) map[string]string
}

// TestExamplesReplay runs the recorded thread of each example directive, without a server and
// without a key. A changed prompt is a difference. RYE_UPDATE_GOLDEN=1 records again what does not
// pass, with the scripted model of the test that runs the example.
func TestExamplesReplay(t *testing.T) {
	for _, e := range []exampleSet{
		{dir: "directives", id: "examples", args: []string{"words=40"}, setting: scriptSetting},
		{dir: "threads", id: "examples/threads", tools: map[string]string{"recent_commits.sh": ".ai/tools/examples/threads/recent_commits.sh"}, setting: pageSetting},
	} {
		t.Run(e.dir, func(t *testing.T) { e.replay(t) })
	}
}

func (e *exampleSet) replay(t *testing.T) {
	l := newLab(t)
	l.dir = filepath.Join(l.dir, "boats") // the prompt has its name
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", e.dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	directives := map[string]string{}
	missing := false
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name == "README" {
			continue
		}
		directives[name] = string(l.read(file))
		l.write(".ai/directives/"+e.id+"/"+name+".md", directives[name])
		if b, err := os.ReadFile(e.recording(name)); err == nil {
			l.write(".ai/tests/"+e.id+"/"+name+".yaml", string(b))
		} else {
			missing = true
		}
	}
	for file, to := range e.tools {
		l.write(to, string(l.read(filepath.Join("..", "..", "examples", e.dir, file))))
	}
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	l.must("sign", "*")
	_, out, status := l.run("test")
	if (missing || status != 0) && os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		e.record(t, l, directives)
		_, out, status = l.run("test")
		missing = false
	}
	if missing || status != 0 || strings.Count(out, "ok ") != len(directives) || len(directives) == 0 {
		t.Fatalf("the recordings of the examples do not pass; RYE_UPDATE_GOLDEN=1 records them again:\n%s", out)
	}
	for name, text := range directives {
		l.write(".ai/directives/"+e.id+"/"+name+".md", text+"\nDo something else.\n")
	}
	l.must("sign", "*")
	_, out, status = l.run("test")
	if n := strings.Count(out, "+  Do something else."); status != 1 || n != len(directives) || strings.Count(out, "turn 1: the messages differ") != n {
		t.Errorf("%d of %d changed prompts are differences, exit status %d\n%s", n, len(directives), status, out)
	}
}

func (e *exampleSet) recording(name string) string {
	return filepath.Join("..", "..", "examples", "tests", filepath.FromSlash(strings.TrimPrefix(e.id+"/"+name, "examples/"))+".yaml")
}

// record runs each directive with a scripted model.
func (e *exampleSet) record(t *testing.T, l *lab, directives map[string]string) {
	files := e.setting(t)
	scenario := files["scenario"]
	delete(files, "scenario")
	var server http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(w, r) }))
	defer s.Close()
	for name, text := range files {
		l.write(name, strings.ReplaceAll(text, "URL/v1", s.URL+"/v1"))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "README.md"}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.test", "commit", "-q", "-m", "Count boats"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = l.dir, l.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	l.more = func() []string { return []string{"DEMO_KEY=sk-demo-12345678"} }
	l.must("sign", "*")
	for name := range directives {
		// A directive that starts threads names them by the beginning of their ids, and
		// one that searches the project must not find older recordings.
		for _, kind := range []string{"threads", "tests", "knowledge/threads", "knowledge/graphs"} {
			if err := os.RemoveAll(filepath.Join(l.dir, ".ai", kind)); err != nil {
				t.Fatal(err)
			}
		}
		parsed, err := scripted.Parse("scenario", []byte(scenario))
		if err != nil {
			t.Fatal(err)
		}
		server = &scripted.Server{Scenario: parsed}
		l.must(append([]string{"test", "record", e.id + "/" + name, "--model", "scripted-1", "--replace"}, e.args...)...)
		b := l.read(filepath.Join(l.dir, ".ai", "tests", filepath.FromSlash(e.id), name+".yaml"))
		if err := os.MkdirAll(filepath.Dir(e.recording(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(e.recording(name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name := range directives {
		l.write(".ai/tests/"+e.id+"/"+name+".yaml", string(l.read(e.recording(name))))
	}
	l.more = nil
	l.must("sign", "*")
}

// scriptSetting returns the project, the model and the scenario of run_example_directive.
func scriptSetting(t *testing.T) map[string]string {
	a, err := txtar.ParseFile(filepath.Join("..", "..", "testdata", "scripts", "run_example_directive.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range a.Files {
		switch f.Name {
		case "script.yaml":
			out["scenario"] = string(f.Data)
		case ".ai/tools/demo/model.yaml":
			out[f.Name] = strings.ReplaceAll(string(f.Data), "${MODEL_URL}/v1", "URL/v1")
		case "README.md", "prices.txt":
			out[f.Name] = string(f.Data)
		}
	}
	return out
}

var titled = regexp.MustCompile("(?ms)^```+[a-z]+ title=\"([^\"]+)\"\n(.*?)^```")

// pageSetting returns the project of the page of the example threads, their scenario, and the
// scripted model as rye provider add writes it.
func pageSetting(t *testing.T) map[string]string {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "thread-examples.md"))
	scenario, serr := os.ReadFile(filepath.Join("..", "..", "examples", "threads", "scenario.yaml"))
	if err != nil || serr != nil {
		t.Fatal(err, serr)
	}
	out := map[string]string{"scenario": string(scenario), ".ai/tools/examples/model.yaml": exampleModel, ".ai/config/agent/agent.yaml": exampleAgent}
	for _, m := range titled.FindAllStringSubmatch(string(b), -1) {
		switch m[1] {
		case "README.md", "docs/prices.txt", "boats.go", "boats_test.go":
			out[m[1]] = m[2]
		}
	}
	return out
}

const exampleModel = `version: "1.0.0"
tool_type: provider
executor_id: rye/core/primitives/http_client
category: examples
description: A scripted model.
config:
  method: POST
  url: "URL/v1/chat/completions"
  body: "{request}"
  mode: stream
  framing: sse
  sinks: ["null"]
  allow_private: ["127.0.0.0/8"]
  timeout: 60
  retry: {max_attempts: 1}
provider:
  dialect: openai_chat
  tiers: {general: scripted-1, fast: scripted-1}
  tools: {mode: native}
  body: {add: {stream_options: {include_usage: true}}}
  models:
    scripted-1: {window: 40000, max_output: 4000, input: [text], prices: {input: "1", output: "2"}}
`

const exampleAgent = `schema_version: "1.0.0"
category: agent
description: The providers of this project.
providers: [examples/model]
`
