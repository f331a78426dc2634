package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/internal/testing/vterm"
)

const asksAboutAll = "schema_version: \"1.0.0\"\ncategory: agent\ndescription: Ask.\napprovals:\n  auto_approve_up_to: {sandboxed: T1, unsandboxed: T1}\n"

// changing is a project whose tools of files ask, with a model of the steps.
func changing(t *testing.T, steps string, more map[string]string) *screen {
	t.Helper()
	s := asking(t, steps)
	files := map[string]string{
		".ai/config/agent/allowance.yaml": asksAboutAll,
		".ai/directives/team/ask.md":      strings.Replace(strings.Replace(askingDirective, "{input:file}", "it", 1), "rye/bash/bash", "rye/file-system/*", 1),
		"notes.txt":                       "one\ntwo\n",
	}
	for name, content := range more {
		files[name] = content
	}
	for name, content := range files {
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.rye("sign", "*")
	return s
}

var (
	waited = regexp.MustCompile(`waiting 0:\d\d`)
	digest = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
)

// shownBy compares what an emulated terminal shows of the output with a golden screen.
func (x *terminal) shownBy(name string) {
	x.t.Helper()
	e := vterm.New(80, 40)
	if _, err := e.Write(x.out.Bytes()); err != nil {
		x.t.Fatal(err)
	}
	got := digest.ReplaceAllString(waited.ReplaceAllString(masked(e.Screen()), "waiting TIME"), "sha256:DIGEST")
	testkit.Golden(x.t, filepath.Join("testdata", "screens", name+".txt"), got)
}

const writesNotes = "  - send: {calls: [{name: rye__file-system__write, input: {file_path: notes.txt, content: \"one\\n\\t2\\u202e\\n\"}}]}\n"

// TestApprovalDiff asks about a call that writes a file: d shows how it changes, at the terminal of
// the thread and, with the content of the file at that time, at a second one.
func TestApprovalDiff(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a thread of some turns")
	}
	t.Parallel()
	edits := "  - send: {calls: [{name: rye__file-system__edit_lines, input: {file_path: notes.txt, changes: [{line_id: sp5lnjgeon, new_content: \"zwei\"}]}}]}\n"
	s := changing(t, edits+writesNotes+returns, nil)
	notes := filepath.Join(s.dir, "notes.txt")
	x := s.at(nil, "run", "directive", "team/ask")
	x.until(asksKeys) // the model is a call, too
	x.next()
	x.send("y")
	x.until(asksKeys)
	x.next()
	x.send("d")
	x.until("Space shows them")
	for _, want := range []string{"--- a/notes.txt\r\n+++ b/notes.txt\r\n", " one\r\n-two\r\n+zwei\r\n"} {
		if !strings.Contains(x.out.String(), want) {
			t.Errorf("the details of edit_lines have no %q: %q", want, x.out.String())
		}
	}
	x.next()
	x.send("q")
	x.until("waiting 0:")
	x.send("n")
	x.until("A line that the model reads")
	x.next()
	x.send("\n")
	x.until(asksKeys) // about the model
	x.next()
	x.send("y")
	x.until(asksKeys)
	x.next()
	x.send("d")
	x.until("Space shows them")
	x.shownBy("approval_diff")
	if b, err := os.ReadFile(notes); err != nil || string(b) != "one\ntwo\n" {
		t.Errorf("a call that was refused, or that waits, wrote %q, %v", b, err)
	}
	x.next()
	x.send("q")
	x.until("waiting 0:")
	x.send("\x04")
	x.status()
	if err := os.WriteFile(notes, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x = s.at(nil, "approve")
	x.until(asksKeys)
	x.next()
	x.send("d")
	x.until("item        ")
	x.until("waiting 0:")
	x.shownBy("approval_diff_second")
	x.next()
	x.send("y")
	x.until(asksKeys) // about the model
	x.next()
	x.send("y")
	x.until("label")
	if status := x.status(); status != 0 {
		t.Errorf("status %d: %q", status, x.out.String())
	}
	if b, err := os.ReadFile(notes); err != nil || string(b) != "one\n\t2\u202e\n" {
		t.Errorf("the call wrote %q, %v", b, err)
	}
}

// TestApprovalDiffOfRun leaves the question of a node of a graph: rye approve shows under d how the
// call changes the file.
func TestApprovalDiffOfRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a graph two times")
	}
	t.Parallel()
	s := changing(t, returns, map[string]string{".ai/tools/team/save.yaml": `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: team
description: Save.
config:
  start: save
  nodes:
    save:
      action: {item_id: rye/file-system/write, params: {file_path: notes.txt, content: "one\n2\n"}}
`})
	x := s.at(nil, "graph", "run", "team/save")
	x.until(asksKeys) // the graph is a call, too
	x.next()
	x.send("y")
	x.until(asksKeys)
	x.send("\x04")
	x.status()
	x = s.at(nil, "approve", "save")
	x.until(asksKeys)
	x.next()
	x.send("d")
	x.until("+2")
	x.until("waiting 0:")
	x.shownBy("approval_diff_run")
	x.next()
	x.send("y")
	x.permitGraph()
	s.wrote("notes.txt", "one\n2\n")
}

// permitGraph answers the question about a graph itself, and waits for its end.
func (x *terminal) permitGraph() {
	x.t.Helper()
	x.until(asksKeys)
	x.next()
	x.send("y")
	if status := x.status(); status != 0 {
		x.t.Errorf("status %d: %q", status, x.out.String())
	}
}

// wrote compares a file of the project.
func (s *screen) wrote(name, want string) {
	s.t.Helper()
	if b, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || string(b) != want {
		s.t.Errorf("the call wrote %q, %v", b, err)
	}
}

// TestApprovalWordOfRun leaves the question about a T4 tool of a graph: rye approve needs the word
// yes, as the first terminal did, and not only its key.
func TestApprovalWordOfRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a graph two times")
	}
	t.Parallel()
	s := changing(t, returns, map[string]string{
		".ai/tools/team/wipe.sh": `# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: team
# description: Wipes.
# risk: T4
echo wiped >>wiped
`,
		".ai/tools/team/clean.yaml": `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: team
description: Clean.
config:
  start: wipe
  nodes:
    wipe:
      action: {item_id: team/wipe}
`})
	const asksWord = "Type yes and Enter"
	x := s.at(nil, "graph", "run", "team/clean")
	x.until(asksKeys) // the graph is a call, too
	x.next()
	x.send("y")
	x.until(asksKeys)
	x.next()
	x.send("y")
	x.until(asksWord)
	x.send("\x1b")
	x.until(asksKeys)
	x.send("\x04")
	x.status()
	x = s.at(nil, "approve", "clean")
	x.until(asksKeys)
	x.next()
	x.send("y")
	x.until(asksWord)
	if _, err := os.Stat(filepath.Join(s.dir, "wiped")); err == nil {
		t.Fatal("the key alone ran the tool")
	}
	x.send("es\r")
	x.next()
	x.permitGraph()
	s.wrote("wiped", "wiped\n")
}

// TestModelQuestionLeft ends the input at the question about the provider: the error states that a
// person must permit it, and names the command that asks again.
func TestModelQuestionLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a thread")
	}
	t.Parallel()
	s := changing(t, returns, nil)
	x := s.at(nil, "run", "directive", "team/ask")
	x.until(asksKeys)
	x.next()
	x.send("\x04")
	x.until("rye threads resume 1")
	x.until("a person must permit the provider")
	x.status()
	logs, err := filepath.Glob(filepath.Join(s.dir, ".ai", "threads", "*", "transcript.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%q, %v", logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	_, end, ended := strings.Cut(string(b), `"event":"thread_error"`)
	if !ended || !strings.Contains(end, `"APPROVAL_REQUIRED"`) || !strings.Contains(end, "must permit the provider") {
		t.Errorf("%s", end)
	}
	// The command that the person read asks again.
	x = s.at(nil, "threads", "resume", "1")
	x.until(asksKeys)
	x.next()
	x.send("y")
	x.until("thread ask 1 completed")
	if status := x.status(); status != 0 {
		t.Errorf("status %d: %q", status, x.out.String())
	}
}
