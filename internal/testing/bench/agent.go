package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/testing/bench/rulemodel"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// longParts is the number of files that the long task reads. With the last turn, which
// returns, it stays within the limit of 200 turns of the shipped allowance.
const longParts = 198

// minSamePrefix is the part of the bytes of each request with which the next one must
// begin: what services cache.
const minSamePrefix = 0.98

// agentTask is one piece of work for a model.
type agentTask struct {
	name    string
	tools   string // elements of <execute>
	rule    rulemodel.Rule
	files   map[string]string
	prepare func(b *bench, dir string) error
	after   func(b *bench, dir string, out *agentRun) error // continues a suspended thread
	check   func(dir string) error                          // of the files that the work changed
}

// agentRun is the outcome of a task.
type agentRun struct {
	elapsed, cpu time.Duration
	rss          int64
	thread       string
	state        string
	result       string
	problem      string
}

func toolNames(ids ...string) string {
	var out strings.Builder
	for _, id := range ids {
		out.WriteString("<tool>" + id + "</tool>")
	}
	return out.String()
}

func agentTasks(page string) []agentTask {
	src := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		src["src/"+name+".py"] = "def f(x):\n    return old_total(x)\n"
	}
	data := map[string]string{}
	for n := 1; n <= 6; n++ {
		data[fmt.Sprintf("data/%d.csv", n)] = fmt.Sprintf("apples,%d\npears,%d\n", n, 10*n)
	}
	return []agentTask{
		{
			name:  "fix",
			tools: "<tool>rye/file-system/*</tool>" + toolNames(bashID),
			rule:  fixRule,
			files: map[string]string{
				"calc.py":      "def add(a, b):\n    return a - b\n",
				"test_calc.py": "from calc import add\n\nassert add(2, 3) == 5, 'AssertionError: add(2, 3) must be 5'\nprint('all tests pass')\n",
			},
			check: contains("calc.py", "return a + b"),
		},
		{
			name:  "rename",
			tools: toolNames(grepID, bashID),
			rule:  renameRule,
			files: src,
			check: contains("src/c.py", "new_total"),
		},
		{
			name:  "report",
			tools: toolNames(globID, readID, writeID),
			rule:  reportRule,
			files: data,
			check: contains("report.md", "The sum is 231."),
		},
		{
			name:  "page",
			tools: toolNames("bench/page"),
			rule:  pageRule,
			files: map[string]string{".ai/tools/bench/page.yaml": fmt.Sprintf(pageTool, page)},
		},
		{
			name:  "graph",
			tools: toolNames("bench/flow", bashID),
			rule:  graphRule,
			files: map[string]string{".ai/tools/bench/flow.yaml": flowTool},
		},
		{
			name:  "children",
			tools: toolNames(childID) + "<directive>bench/part</directive>",
			rule:  mergeRule,
			files: map[string]string{".ai/directives/bench/part.md": partDirective},
		},
		{
			name:    "long",
			tools:   toolNames(readID),
			rule:    longRule,
			prepare: writeParts,
		},
		{
			name:    "image",
			tools:   toolNames(readID),
			rule:    imageRule,
			prepare: writeImage,
		},
		{
			name:    "mcp",
			tools:   toolNames("mcp/hello/hello"),
			rule:    serverRule,
			prepare: addServer,
		},
		{
			name:    "question",
			tools:   toolNames(bashID),
			rule:    questionRule,
			files:   map[string]string{"build/x": "x\n"},
			prepare: suspendQuestions,
			after:   approveQuestion,
			check:   missing("build"),
		},
	}
}

const agentModel = `version: "1.0.0"
tool_type: provider
executor_id: rye/core/primitives/http_client
category: bench
description: A model that follows rules.
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
  tiers: {general: rules, fast: rules}
  tools: {mode: native}
  body: {add: {stream_options: {include_usage: true}}}
  models:
    rules: {window: 32000, max_output: 2000, input: [text, image], prices: {input: "1", cache_read: "0.1", output: "4"}}
`

const agentDirective = "# Work\n\n```xml\n" + `<directive name="%s" version="1.0.0">
  <metadata>
    <description>Is measured.</description>
    <category>bench</category>
    <author>bench</author>
    <model tier="general" provider="bench/model"/>
    <limits turns="260" tokens="4000000" spend="5.00"/>
    <permissions><execute>%s</execute></permissions>
  </metadata>
  <outputs><output name="result" type="string" required="true">The result.</output></outputs>
</directive>
` + "```\n\nTASK-%s: do the work. %s\n"

const partDirective = "# Part\n\n```xml\n" + `<directive name="part" version="1.0.0">
  <metadata>
    <description>Does a part.</description>
    <category>bench</category>
    <author>bench</author>
    <model tier="general" provider="bench/model"/>
    <limits turns="4" tokens="50000" spend="0.10"/>
    <permissions><execute><tool>rye/file-system/read</tool></execute></permissions>
  </metadata>
  <inputs><input name="part" type="string" required="true">The part.</input></inputs>
  <outputs><output name="result" type="string" required="true">The result.</output></outputs>
</directive>
` + "```\n\nTASK-part: PART:{input:part}\n"

const pageTool = `version: 1.0.0
tool_type: http
executor_id: rye/core/primitives/http_client
category: bench
description: Gets a page of the news server.
config:
  url: "%s/{path}"
  allow_private: [127.0.0.1]
  timeout: 60
config_schema:
  type: object
  required: [path]
  properties: {path: {type: string, description: The path of the page.}}
`

const flowTool = `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: bench
description: Writes a word in capital letters.
config_schema:
  type: object
  required: [word]
  properties: {word: {type: string, description: The word.}}
config:
  start: upper
  nodes:
    upper: {action: {item_id: rye/bash/bash, params: {command: "echo ${inputs.word} | tr a-z A-Z"}}, assign: {text: "${result.stdout}"}, next: done}
    done: {type: return, output: {text: "${state.text}"}}
`

const suspendAllowance = `schema_version: "1.0.0"
category: agent
description: Calls that need a person wait.
approvals: {headless: suspend}
`

// agents measures ten pieces of work with a model that follows rules and makes the
// mistakes of real ones.
func (b *bench) agents() error {
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "<html><body><p>The price is 42 euros.</p></body></html>")
	}))
	defer pages.Close()
	fmt.Printf("\n| work | end | turns | tokens read, cached | written | money | first request | identical beginning | time | processor time | memory |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	var failed []error
	for _, t := range agentTasks(pages.URL) {
		if err := b.agentTask(&t); err != nil {
			failed = append(failed, fmt.Errorf("the task %s: %w", t.name, err))
		}
	}
	return errors.Join(append(failed, b.peers())...)
}

// agentTask runs one task in a project of its own and prints its row.
func (b *bench) agentTask(t *agentTask) error {
	rules := []rulemodel.Marked{
		{Marker: `directive name="thread_summary"`, Rule: summaryRule},
		{Marker: "TASK-part", Rule: partRule},
		{Marker: "TASK-" + t.name, Rule: t.rule},
	}
	model := rulemodel.New(scripted.Chat, rules...)
	server := httptest.NewServer(model)
	defer server.Close()
	dir := filepath.Join(b.work, "agent", t.name)
	if err := b.agentProject(dir, t, server.URL); err != nil {
		return err
	}
	model.Reset()
	run, err := b.runAgent(dir, "run", "directive", "bench/"+t.name, "--json")
	if err == nil && t.after != nil {
		err = t.after(b, dir, run)
	}
	if err != nil {
		return err
	}
	if run.problem == "" && t.check != nil {
		if err := t.check(dir); err != nil {
			run.problem = err.Error()
		}
	}
	s := model.Stats()
	end := "done"
	switch {
	case len(s.Lost) > 0:
		end = "lost: the model did not read " + shorten(s.Lost[0])
	case run.problem != "":
		end = "failed: " + shorten(run.problem)
	case run.result == "":
		end = "failed: no outputs, " + run.state
	case s.SamePrefix() < minSamePrefix && t.name != "long": // compaction replaces results of the conversation
		end = fmt.Sprintf("failed: %.3f of each request is a beginning of the next one, not %.2f", s.SamePrefix(), minSamePrefix)
	}
	money, err := b.money(dir, run.thread)
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %s | %d | %d, %d | %d | $%s | %.1f kB, %d tools | %.3f | %s | %s | %s |\n", t.name, end, s.Requests, s.Input, s.Cached, s.Output, money,
		float64(s.FirstBytes)/1000, s.ToolsOffered, s.SamePrefix(), ms(run.elapsed), ms(run.cpu), mb(run.rss))
	if problems := model.Problems(); len(problems) > 0 {
		return fmt.Errorf("a request broke the dialect: %s", problems[0])
	}
	if end != "done" {
		return errors.New(end)
	}
	return nil
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "/")), " ")
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return s
}

// agentProject writes and signs the project of a task.
func (b *bench) agentProject(dir string, t *agentTask, url string) error {
	start := ""
	if t.name == "long" {
		start = "The next part is part-001.txt in the folder parts. Read the parts one after the other."
	}
	files := map[string]string{
		".ai/tools/bench/model.yaml": fmt.Sprintf(agentModel, url),
		".ai/directives/bench/" + t.name + ".md": fmt.Sprintf(
			agentDirective,
			t.name,
			t.tools,
			t.name,
			start,
		),
	}
	for name, text := range t.files {
		files[name] = text
	}
	if err := writeAll(dir, files); err != nil {
		return err
	}
	if t.prepare != nil {
		if err := t.prepare(b, dir); err != nil {
			return err
		}
	}
	_, err := b.program(dir, b.rye, "sign", "*").once()
	return err
}

func writeAll(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// runAgent runs rye and reads its envelope. A failure of the work is a problem of the
// outcome, not an error.
func (b *bench) runAgent(dir string, args ...string) (*agentRun, error) {
	p := b.program(dir, append([]string{b.rye}, args...)...)
	c := exec.Command(p.argv[0], p.argv[1:]...)
	c.Dir = p.dir
	c.Env = p.env
	var stdout, stderr bytes.Buffer
	c.Stdout = &stdout
	c.Stderr = &stderr
	start := time.Now()
	failure := c.Run()
	out := &agentRun{elapsed: time.Since(start)}
	if c.ProcessState == nil {
		return nil, failure
	}
	out.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	out.rss = residentSize(c.ProcessState)
	var envelope struct {
		Data struct {
			Thread  string            `json:"thread_id"`
			Status  string            `json:"status"`
			Outputs map[string]string `json:"outputs"`
		} `json:"data"`
		Error struct {
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
		} `json:"error"`
	}
	err := json.Unmarshal(stdout.Bytes(), &envelope)
	if err != nil {
		return nil, fmt.Errorf("running %q: %w: %s%s", p.argv, failure, stdout.Bytes(), stderr.Bytes())
	}
	out.thread = envelope.Data.Thread
	out.state = envelope.Data.Status
	out.result = envelope.Data.Outputs["result"]
	if failure != nil {
		out.problem = envelope.Error.Message
	}
	if out.thread == "" {
		logs, _ := filepath.Glob(filepath.Join(dir, ".ai", "threads", "*", "transcript.jsonl")) // the pattern is valid
		if len(logs) > 0 {
			out.thread = filepath.Base(filepath.Dir(logs[0]))
		}
	}
	return out, nil
}

// money returns the cost of a thread and of all threads below it in USD.
func (b *bench) money(dir, thread string) (string, error) {
	p := b.program(dir, b.rye, "threads", "cost", thread, "--tree", "--json")
	c := exec.Command(p.argv[0], p.argv[1:]...)
	c.Dir = p.dir
	c.Env = p.env
	raw, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("reading the cost of %s: %w", thread, err)
	}
	var envelope struct {
		Data struct {
			Total struct {
				Actual string `json:"actual"`
			} `json:"total"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return "", fmt.Errorf("reading the cost of %s: %w", thread, err)
	}
	return envelope.Data.Total.Actual, nil
}

// writeParts writes the files of the long task, some 2 kB each.
func writeParts(_ *bench, dir string) error {
	files := map[string]string{}
	for n := 1; n <= longParts; n++ {
		end := fmt.Sprintf("The next part is part-%03d.txt.\n", n+1)
		if n == longParts {
			end = "This is the last part.\n"
		}
		files[fmt.Sprintf("parts/part-%03d.txt", n)] = strings.Repeat("The wind turned to the north, and the ships waited in the harbour.\n", 30) + end
	}
	return writeAll(dir, files)
}

// writeImage writes a chart of two colours.
func writeImage(_ *bench, dir string) error {
	img := image.NewRGBA(image.Rect(0, 0, 640, 480))
	for y := range 480 {
		for x := range 640 {
			shade := color.RGBA{R: 200, A: 255}
			if x/80%2 == 0 {
				shade = color.RGBA{B: 200, A: 255}
			}
			img.Set(x, y, shade)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return err
	}
	return writeAll(dir, map[string]string{"chart.png": b.String()})
}

// addServer adds the MCP server hello.
func addServer(b *bench, dir string) error {
	_, err := b.program(
		dir,
		b.rye,
		"mcp",
		"add",
		"hello",
		"--yes",
		"--",
		b.sibling("hello"),
		"sdk",
	).once()
	return err
}

// suspendQuestions makes the threads of the user wait for a person.
func suspendQuestions(b *bench, _ string) error {
	home := filepath.Join(b.work, "home")
	err := writeAll(home, map[string]string{".ai/config/agent/allowance.yaml": suspendAllowance})
	if err != nil {
		return err
	}
	_, err = b.program(home, b.rye, "sign", "config:agent/allowance").once()
	return err
}

// approveQuestion answers the question of the thread and continues it.
func approveQuestion(b *bench, dir string, out *agentRun) error {
	if out.state != "suspended" {
		return fmt.Errorf("the thread is %s, not suspended", out.state)
	}
	answered, err := b.runAgent(dir, "threads", "approve", out.thread, "--json")
	if err != nil {
		return err
	}
	out.elapsed += answered.elapsed
	out.cpu += answered.cpu
	out.rss = max(out.rss, answered.rss)
	out.state = answered.state
	out.result = answered.result
	out.problem = answered.problem
	return nil
}

func contains(name, text string) func(string) error {
	return func(dir string) error {
		raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !strings.Contains(string(raw), text) {
			err = fmt.Errorf("%s does not contain %q: %q", name, text, raw)
		}
		return err
	}
}

func missing(name string) func(string) error {
	return func(dir string) error {
		_, err := os.Lstat(filepath.Join(dir, name))
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s still exists", name)
		}
		return nil
	}
}
