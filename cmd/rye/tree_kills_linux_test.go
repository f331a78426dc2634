package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// treeModel answers the threads of a tree as a model that wants the labels of two leaves,
// and resumes a leaf that ended without one. It has no state: what it answers depends on the
// conversation only.
type treeModel struct {
	mu  sync.Mutex
	bad []string
}

// treeMessage is one message of a conversation.
type treeMessage struct {
	Role    string
	Content json.RawMessage
	Calls   []struct {
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (s *treeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed while it asked
	}
	var req struct{ Messages []treeMessage }
	if err := json.Unmarshal(body, &req); err != nil {
		s.report(err.Error())
	}
	name, input := treeAnswer(req.Messages)
	scenario, err := scripted.Parse("scenario", fmt.Appendf(nil, "dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps:\n  - {send: {calls: [{name: %s, input: %s}]}, fault: {delay_ms: 20}}\n", name, input))
	if err != nil {
		s.report(err.Error())
		return
	}
	one := &scripted.Server{Scenario: scenario}
	r.Body = io.NopCloser(bytes.NewReader(body))
	one.ServeHTTP(w, r)
	for _, p := range one.Problems() {
		s.report(p)
	}
}

func (s *treeModel) report(problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad = append(s.bad, problem)
}

// treeIDs find the leaves that a result names. An error that a process has not begun names
// one, too, which does not exist.
var treeIDs = map[string]*regexp.Regexp{"one": treeID("one"), "two": treeID("two")}

func treeID(leaf string) *regexp.Regexp {
	return regexp.MustCompile(`thread_id\\":\\"(` + leaf + `-[0-9a-z]{26})`)
}

// treeAnswer returns the call that the model makes next.
func treeAnswer(messages []treeMessage) (name, input string) {
	var results strings.Builder
	last, turns := "", 0
	for _, m := range messages {
		switch m.Role {
		case "tool":
			results.Write(m.Content)
			results.WriteByte('\n')
		case "assistant":
			turns++
			last = m.Calls[0].Function.Arguments
		}
	}
	first, text := string(messages[len(messages)-1].Content), results.String()
	for _, m := range messages {
		if m.Role == "user" {
			first = string(m.Content)
			break
		}
	}
	for leaf := range treeIDs {
		if strings.Contains(first, "label "+leaf) {
			if turns == 0 {
				return "team__once", "{}"
			}
			return "directive_return", `{"label": "` + leaf + `"}`
		}
	}
	for _, leaf := range []string{"two", "one"} { // two works while one is waited for
		if !treeIDs[leaf].MatchString(text) {
			return "rye__agent__threads__thread_directive", fmt.Sprintf(`{"directive_id": "team/%s", "mode": "%s"}`, leaf, map[string]string{"one": "wait", "two": "spawn"}[leaf])
		}
	}
	for _, leaf := range []string{"one", "two"} {
		if strings.Contains(text, `\"label\":\"`+leaf+`\"`) {
			continue
		}
		id := treeIDs[leaf].FindStringSubmatch(text)[1]
		operation := `"wait_threads", "thread_ids": ["` + id + `"]`
		if strings.Contains(last, "wait_threads") && strings.Contains(last, id) || strings.Contains(last, `"wait"`) && leaf == "one" {
			operation = `"resume_thread", "thread_id": "` + id + `"`
		}
		return "rye__agent__threads__orchestrator", `{"operation": ` + operation + `}`
	}
	return "directive_return", `{"label": "one two"}`
}

const treeDirective = "# %[1]s\n\nReturn a label.\n\n```xml\n" + `<directive name="%[1]s" version="1.0.0">
  <metadata>
    <description>Return a label.</description>
    <category>team</category>
    <author>ada</author>
    <model tier="general" provider="team/model"/>
    <limits turns="60" tokens="100000" spend="%[3]s" spawns="%[4]s" depth="%[5]s"/>
    <permissions>
      <execute><tool>rye/agent/threads/thread_directive</tool><tool>rye/agent/threads/orchestrator</tool><tool>team/once</tool><directive>team/*</directive></execute>
    </permissions>
  </metadata>
  <outputs>
    <output name="label" type="string" required="true">The label.</output>
  </outputs>
</directive>
` + "```\n\nReturn the %[2]s.\n"

// TestKilledTrees kills processes of running trees of threads with SIGKILL at random times,
// and resumes what stopped. Each tree returns what one without a kill returns: a leaf exists
// once and made its effect at most once, every log verifies, and nothing stays reserved.
// RYE_TREE_KILLS is the number of kills, 6 by default; 1000 is the size of the design.
func TestKilledTrees(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for some seconds")
	}
	t.Parallel()
	wanted := 6
	if text := os.Getenv("RYE_TREE_KILLS"); text != "" {
		var err error
		if wanted, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	l := newCrashLab(t)
	l.more = nil // the processes of a tree run at the same time
	model := &treeModel{}
	h := httptest.NewServer(model)
	t.Cleanup(h.Close)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	l.write(".ai/directives/team/root.md", fmt.Sprintf(treeDirective, "root", "labels", "0.60", "20", "1"))
	for leaf := range treeIDs {
		l.write(".ai/directives/team/"+leaf+".md", fmt.Sprintf(treeDirective, leaf, "label "+leaf, "0.10", "0", "0"))
	}
	l.write(".ai/tools/team/model.yaml", fmt.Sprintf(turnsModel, h.URL))
	l.write(".ai/tools/team/once.sh", fmt.Sprintf(crashEffect, ""))
	l.must("sign", "*")
	l.must("run", "rye/bash/bash", "command=true") // fills the cache
	began := time.Now()
	l.killedTree(t, 0, 0)
	span := time.Since(began) / 4
	kills, trees := 0, 0
	for ; kills < wanted && !t.Failed(); trees++ {
		kills += l.killedTree(t, 1+rand.IntN(6), span)
	}
	t.Logf("%d kills of processes of %d trees; %s between two kills at most", kills, trees, span.Round(time.Millisecond))
	if len(model.bad) > 0 {
		t.Errorf("the model was asked what it does not expect: %s", model.bad)
	}
}

// killedTree runs a tree and kills some of its processes within a time, and returns how many
// it killed.
func (l *crashLab) killedTree(t *testing.T, most int, span time.Duration) (kills int) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(l.dir, ".ai", "threads")); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(l.dir, "effects"))
	var spawned struct {
		Data struct {
			ID string `json:"thread_id"`
		}
	}
	if err := json.Unmarshal([]byte(l.must("spawn", "directive", "team/root", "--json")), &spawned); err != nil {
		t.Fatal(err)
	}
	root := spawned.Data.ID
	var resumes sync.WaitGroup
	for range most {
		time.Sleep(rand.N(span)) // the time of a kill is what is tested
		all := l.threadProcesses(t)
		if len(all) == 0 {
			break
		}
		if syscall.Kill(all[rand.IntN(len(all))], syscall.SIGKILL) == nil {
			kills++
		}
		resume := l.cmd("threads", "resume", root) // refused if the root runs; it can be killed, too
		if err := resume.Start(); err != nil {
			t.Fatal(err)
		}
		resumes.Go(func() { _ = resume.Wait() })
	}
	if rand.IntN(2) == 0 {
		l.must("threads", "list") // settles what stopped, and ends the children of the root
	}
	for n := 0; ; n++ {
		out, all, _ := l.run("threads", "wait", root, "--timeout", "60s")
		if strings.Contains(out, "completed") {
			break
		}
		if n == 5 {
			l.showTree(t, root)
			t.Fatalf("%s does not complete: %s", root, all)
		}
		l.run("threads", "resume", root) // what it prints is judged by the next look
	}
	resumes.Wait()
	// The last process of a leaf may still close its account.
	for end := time.Now().Add(time.Minute); len(l.threadProcesses(t)) > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if l.wholeTree(t, root); t.Failed() {
		l.showTree(t, root)
	}
	return kills
}

// showTree logs what is recorded of the threads of the project.
func (l *crashLab) showTree(t *testing.T, root string) {
	t.Helper()
	for _, args := range [][]string{{"threads", "list", "--json"}, {"threads", "tree", root}, {"threads", "cost", root, "--tree"}} {
		out, all, _ := l.run(args...)
		t.Logf("rye %s\n%s%s", strings.Join(args, " "), out, all)
	}
	for _, name := range []string{"transcript.jsonl", "stderr.log"} {
		files, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", "*", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			b, _ := os.ReadFile(path) // what is missing is shown as empty
			t.Logf("%s\n%s", path, b)
		}
	}
}

// threadProcesses returns the processes of threads of the project.
func (l *crashLab) threadProcesses(t *testing.T) (out []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte("\x00thread-process\x00")) && !bytes.Contains(b, []byte("\x00threads\x00resume\x00")) {
			continue
		}
		if dir, err := os.Readlink(filepath.Join(filepath.Dir(path), "cwd")); err == nil && dir == l.dir {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			out = append(out, pid)
		}
	}
	return out
}

// wholeTree checks a tree that has completed.
func (l *crashLab) wholeTree(t *testing.T, root string) {
	t.Helper()
	if out := l.must("threads", "result", root); !strings.Contains(out, `"label": "one two"`) {
		t.Errorf("%s returned %s", root, out)
	}
	for leaf := range treeIDs {
		logs, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", leaf+"-*", "transcript.jsonl"))
		begun := slices.DeleteFunc(slices.Clone(logs), func(path string) bool { // its start was refused after its caller's end
			info, err := os.Stat(path)
			return err == nil && info.Size() == 0
		})
		if err != nil || len(begun) != 1 {
			for _, path := range logs {
				b, _ := os.ReadFile(path)
				t.Logf("%s\n%s", path, b)
			}
			t.Errorf("%s has the leaves %s, %v\n%s", root, logs, err, l.must("threads", "tail", root))
		}
	}
	if n := l.effects(); n > 2 {
		t.Errorf("%s: %d effects of two leaves", root, n)
	}
	if out, all, status := l.run("threads", "verify"); status != 0 {
		t.Errorf("%s: %s%s", root, out, all)
	}
	l.must("threads", "list") // settles leaves that were admitted and never began
	var cost struct {
		Data struct {
			Threads []struct{ Reserved, Actual, Max string }
		}
	}
	if err := json.Unmarshal([]byte(l.must("threads", "cost", root, "--tree", "--json")), &cost); err != nil {
		t.Fatal(err)
	}
	for _, c := range cost.Data.Threads {
		if c.Reserved != "0.00" {
			t.Errorf("%s: %s is reserved in %+v", root, c.Reserved, cost.Data.Threads)
		}
	}
	if len(cost.Data.Threads) < 3 {
		t.Errorf("%s: the registry has %+v", root, cost.Data.Threads)
	}
	before := l.must("threads", "rebuild", "--dump")
	l.must("threads", "rebuild")
	if after := l.must("threads", "rebuild", "--dump"); after != before {
		t.Errorf("%s: the logs state another store:\n%s", root, linediff.Unified("before", "rebuilt", []byte(before), []byte(after)))
	}
}
