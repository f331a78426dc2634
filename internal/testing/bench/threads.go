package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// threadScenario has the answers of three turns: two calls of a tool, and the outputs.
const threadScenario = `dialect: openai_chat
usage: {input: 100, output: 20}
steps:
  - send: {text: "I read it. ", calls: [{name: rye__file-system__read, input: {file_path: a.md}}]}
  - send: {text: "And the other. ", calls: [{name: rye__file-system__read, input: {file_path: b.md}}]}
  - send: {calls: [{name: directive_return, input: {label: bug}}]}
`

const threadModel = `version: "1.0.0"
tool_type: provider
executor_id: rye/core/primitives/http_client
category: demo
description: A scripted model.
config:
  method: POST
  url: "%s/v1/chat/completions"
  body: "{request}"
  mode: stream
  framing: sse
  sinks: ["null"]
  allow_private: ["127.0.0.0/8"]
  timeout: 60
provider:
  dialect: openai_chat
  tiers: {general: scripted}
  tools: {mode: native}
  body: {add: {stream_options: {include_usage: true}}}
  models:
    scripted: {window: 40000, max_output: 4000, input: [text], prices: {input: "0", output: "0"}}
`

// measuredDirective is a directive whose thread is measured.
type measuredDirective struct {
	name, model string
	limits      string // attributes
	permissions string // inside of execute
	outputs     string
	body        string
}

func (d measuredDirective) text() string {
	return fmt.Sprintf("# Work\n\n```xml\n"+`<directive name="%s" version="1.0.0">
  <metadata>
    <description>Is measured.</description>
    <category>demo</category>
    <author>bench</author>
    <model tier="general" provider="demo/%s"/>
    <limits %s/>
    <permissions><execute>%s</execute></permissions>
  </metadata>
  %s
</directive>
`+"```\n\n%s\n", d.name, d.model, d.limits, d.permissions, d.outputs, d.body)
}

// threadDirective returns a directive of some turns that may read files.
func threadDirective(name, model, outputs string) string {
	return measuredDirective{
		name:        name,
		model:       model,
		outputs:     outputs,
		body:        "Do it.",
		limits:      `turns="6" tokens="50000" spend="0.20"`,
		permissions: "<tool>rye/file-system/read</tool>",
	}.text()
}

// modelServer answers with three turns again and again, or streams tokens.
type modelServer struct {
	mu   sync.Mutex
	turn *scripted.Server
	sent []time.Time // of each token
	held *held
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/tokens/") {
		s.tokens(w)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/held/") {
		s.held.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	if s.turn == nil || s.turn.Unused() == 0 {
		scenario, err := scripted.Parse("scenario", []byte(threadScenario))
		if err != nil {
			panic(err) // the text above
		}
		s.turn = &scripted.Server{Scenario: scenario}
	}
	turn := s.turn
	s.mu.Unlock()
	turn.ServeHTTP(w, r)
}

// The tokens that are streamed, and the pause between two of them, as a fast model makes.
const (
	tokenCount = 60
	tokenPause = 12 * time.Millisecond
)

func token(n int) string {
	return fmt.Sprintf("tok%d ", n)
}

func (s *modelServer) tokens(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta, finish string) {
		fmt.Fprintf(w, `data: {"id":"x","object":"chat.completion.chunk","model":"scripted","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	sent := make([]time.Time, tokenCount)
	for n := range sent {
		chunk(fmt.Sprintf(`"content":%q`, token(n)), "null")
		sent[n] = time.Now()
		w.(http.Flusher).Flush()
		time.Sleep(tokenPause)
	}
	s.mu.Lock()
	s.sent = sent
	s.mu.Unlock()
	chunk("", `"stop"`)
	io.WriteString(w, "data: [DONE]\n\n")
}

// threads measures a directive that is followed with a model whose answers take no time.
func (b *bench) threads() error {
	s := &modelServer{held: &held{}}
	server := httptest.NewServer(s)
	defer server.Close()
	dir := filepath.Join(b.work, "threads")
	outputs := `<outputs><output name="label" type="string" required="true">A label.</output></outputs>`
	for name, text := range map[string]string{
		".ai/tools/demo/model.yaml":       fmt.Sprintf(threadModel, server.URL),
		".ai/tools/demo/stream.yaml":      fmt.Sprintf(threadModel, server.URL+"/tokens"),
		".ai/tools/demo/late.yaml":        fmt.Sprintf(threadModel, server.URL+"/held"),
		".ai/directives/demo/held.md":     threadDirective("held", "late", outputs),
		".ai/directives/demo/three.md":    threadDirective("three", "model", outputs),
		".ai/directives/demo/streamed.md": threadDirective("streamed", "stream", ""),
		"a.md":                            "A.\n", "b.md": "B.\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644),
		)
		if err != nil {
			return err
		}
	}
	_, err := b.program(dir, b.rye, "sign", "*").once()
	if err != nil {
		return err
	}
	if err := b.threeTurns(dir); err != nil {
		return err
	}
	return errors.Join(b.firstTokens(dir, s), b.heldThreads(dir, s.held))
}

// threeTurns compares a thread of three turns with its parts: rye that prepares it, and
// the two runs of its tool.
func (b *bench) threeTurns(dir string) error {
	shell, err := exec.LookPath("bash")
	if err != nil {
		fmt.Println("\nthree turns: left out, bash was not found")
		return nil
	}
	got, err := race(max(b.spawns/4, 5), b.program(dir, b.rye, "-q", "run", "directive", "demo/three"),
		b.program(dir, b.rye, "run", "directive", "demo/three", "--dry-run"), b.program(dir, b.rye, "run", "rye/file-system/read", "file_path=a.md"),
		b.program(dir, shell, "-c", "echo hello"))
	if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(dir, ".ai", "threads", "three-*", "transcript.jsonl"))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("no thread has a log: %w", err)
	}
	raw, err := os.ReadFile(logs[0])
	if err != nil {
		return err
	}
	fmt.Printf("\n| thread | three turns, two calls of a tool | `bash` alone | over it | processor time | prepared only | one call of the tool by rye run | memory | lines of the log |\n|---|---|---|---|---|---|---|---|---|\n")
	fmt.Printf(
		"| a model without latency | %s | %s | %s | %s | %s | %s | %s | %d |\n",
		got[0],
		got[3],
		got[0].over(got[3]),
		ms(median(got[0].cpu)),
		got[1],
		got[2],
		mb(got[0].rss),
		strings.Count(string(raw), "\n"),
	)
	return nil
}

// firstTokens measures the time from a token of the server to the terminal.
func (b *bench) firstTokens(dir string, s *modelServer) error {
	var first, rest []time.Duration
	for range max(b.rounds/2, 2) {
		seen, err := b.seeTokens(dir)
		if err != nil {
			return err
		}
		s.mu.Lock()
		for n, at := range s.sent {
			if n == 0 {
				first = append(first, seen[n].Sub(at))
			} else {
				rest = append(rest, seen[n].Sub(at))
			}
		}
		s.mu.Unlock()
	}
	slices.Sort(rest)
	fmt.Printf("\n| from the server's token to the terminal | first token | half within | 99 of 100 within |\n|---|---|---|---|\n")
	fmt.Printf(
		"| one each %s | %s | %s | %s |\n",
		tokenPause,
		ms(median(first)),
		ms(median(rest)),
		ms(rest[len(rest)*99/100]),
	)
	return nil
}

// seeTokens runs the directive and returns when each token was printed.
func (b *bench) seeTokens(dir string) ([]time.Time, error) {
	p := b.program(dir, b.rye, "run", "directive", "demo/streamed")
	c := exec.Command(p.argv[0], p.argv[1:]...)
	c.Dir = p.dir
	c.Env = p.env
	out, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	seen := make([]time.Time, 0, tokenCount)
	r := bufio.NewReader(out)
	for {
		word, err := r.ReadString(' ')
		if len(seen) < tokenCount && strings.HasSuffix(word, token(len(seen))) {
			seen = append(seen, time.Now())
		}
		if err != nil {
			break
		}
	}
	if err := c.Wait(); err != nil {
		return nil, err
	}
	if len(seen) != tokenCount {
		return nil, fmt.Errorf("%d of %d tokens were printed", len(seen), tokenCount)
	}
	return seen, nil
}
