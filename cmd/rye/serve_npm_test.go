package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// npmFolder is where the packages of mcpserve/testdata/npm are installed.
func npmFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RYE_NPM")
	if dir == "" {
		t.Skip("RYE_NPM names no folder with the packages of mcpserve/testdata/npm; .ci/run installs them")
	}
	return dir
}

// served is a project that is ready to be served.
type served struct {
	t   *testing.T
	dir string
	env []string
}

func newServed(t *testing.T) *served {
	t.Helper()
	dir := t.TempDir()
	s := &served{t: t, dir: dir, env: []string{
		"HOME=" + filepath.Join(dir, "home"), "USERPROFILE=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"WORK=" + dir, "RYE_NPM=" + os.Getenv("RYE_NPM"),
	}}
	tools := filepath.Join(dir, "project", ".ai", "tools", "demo")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"hello": "echo hello", "slow": "echo begun; sleep 60"} {
		text := "# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: demo\n# description: A tool.\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(tools, name+".sh"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.prompts()
	s.must(s.rye("key", "new", "--owner", "ada", "--no-passphrase"))
	s.must(s.rye("sign", "*"))
	return s
}

// prompts writes the directives that the conformance suite reads as prompts.
func (s *served) prompts() {
	s.t.Helper()
	dir := filepath.Join(s.dir, "project", ".ai", "directives")
	if err := os.Mkdir(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	for name, c := range map[string]struct{ inputs, body string }{
		"test_simple_prompt": {"", "Answer with one word."},
		"test_prompt_with_arguments": {`<inputs><input name="arg1" type="string" required="true">The first.</input>` +
			`<input name="arg2" type="string" required="true">The second.</input></inputs>`, "Compare {input:arg1} with {input:arg2}."},
	} {
		text := "# A prompt\n\nA prompt.\n\n```xml\n<directive name=\"" + name + "\" version=\"1.0.0\">\n  <metadata><description>A prompt.</description>" +
			"<category></category><author>ada</author><permissions></permissions></metadata>\n  " + c.inputs + "\n</directive>\n```\n\n" + c.body + "\n"
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// rye is the program, which is this one under another name.
func (s *served) rye(words ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), os.Args[0])
	cmd.Args = append([]string{"rye"}, words...)
	cmd.Env, cmd.Dir = s.env, filepath.Join(s.dir, "project")
	return cmd
}

func (s *served) must(cmd *exec.Cmd) []byte {
	s.t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%q: %v\n%s\n%s", cmd.Args, err, out, stderr.Bytes())
	}
	return out
}

// web serves HTTP until the test ends and returns the address.
func (s *served) web() string {
	s.t.Helper()
	cmd := s.rye("serve", "--http", "0")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "serving "); ok {
			go func() {
				for lines.Scan() {
				}
			}()
			return url
		}
	}
	s.t.Fatal("the server has not begun")
	return ""
}

func (s *served) node(words ...string) *exec.Cmd {
	dir := npmFolder(s.t)
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(dir, "node_modules", ".bin", "node"), words...)
	cmd.Env, cmd.Dir = s.env, filepath.Join(s.dir, "project")
	return cmd
}

// The conformance suite of the protocol against rye serve. Its scenarios call
// tools, prompts and resources by name that rye does not have: those that
// cannot succeed are listed in testdata, and nothing else may fail. That
// TestConformanceOfTransports passes shows that only the names cause it.
func TestConformance(t *testing.T) {
	dir := npmFolder(t)
	s := newServed(t)
	url := s.web()
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			out := t.TempDir()
			suite := s.node(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
				"server", "--url", url, "--requirements", revision, "-o", out)
			text, _ := suite.CombinedOutput() // the exit status is not 0: some checks must fail
			compareGolden(t, filepath.Join("testdata", "conformance-"+revision+".txt"), failedChecks(t, out, text))
		})
	}
}

// failedChecks lists the checks without success, a line each.
func failedChecks(t *testing.T, dir string, text []byte) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) < 30 {
		t.Fatalf("the suite left %d results, %v\n%s", len(files), err, text)
	}
	var lines []string
	for _, file := range files {
		scenario := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
		scenario = scenario[:len(scenario)-len("-2026-01-02T03-04-05-678Z")]
		b, err := os.ReadFile(file)
		var checks []struct{ ID, Status string }
		if err == nil {
			err = json.Unmarshal(b, &checks)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if c.Status == "FAILURE" || c.Status == "WARNING" {
				lines = append(lines, scenario+" "+c.ID+"\n")
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s differs, %v; now:\n%s", file, err, got)
	}
}

// The clients of the TypeScript SDK, of both eras, over both transports.
func TestTypeScriptClients(t *testing.T) {
	npmFolder(t)
	script, err := filepath.Abs(filepath.Join("..", "..", "mcpserve", "testdata", "npm", "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	s := newServed(t)
	bin := filepath.Join(s.dir, "rye")
	if err := os.Symlink(os.Args[0], bin); err != nil {
		t.Skip(err)
	}
	url := s.web()
	const want = `{"era":"%s","server":"rye","instructions":true,"tools":["execute","load","search","sign"],"cancelled":"cancelled","progress":true,` +
		`"hello":true,"absent":"TOOL_NOT_FOUND","failed":true,"after":true,"prompts":true,"resources":true,"read":true}`
	eras := map[string]string{"v1": "with a handshake", "v2": "2026-07-28"}
	for _, words := range [][]string{{"v1", "stdio", bin, "serve"}, {"v1", "http", url}, {"v2", "stdio", bin, "serve"}, {"v2", "http", url}} {
		t.Run(words[0]+" "+words[1], func(t *testing.T) {
			got := strings.TrimSpace(string(s.must(s.node(append([]string{script}, words...)...))))
			if want := fmt.Sprintf(want, eras[words[0]]); got != want {
				t.Errorf("the client saw %s\nwant %s", got, want)
			}
		})
	}
}

// The inspector finds nothing in the tools that some client would trip over.
func TestInspector(t *testing.T) {
	dir := npmFolder(t)
	s := newServed(t)
	inspector := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	out := s.must(s.node(inspector, "--cli", s.web(), "--transport", "http", "--method", "tools/list", "--strict"))
	var doc struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(out, &doc); err != nil || len(doc.Tools) != 4 {
		t.Errorf("%v: %s", err, out)
	}
}
