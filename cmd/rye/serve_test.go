package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

// play drives the server with the program mcp and returns the answers.
func (s *served) play(lines string) []byte {
	s.t.Helper()
	bin := filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "rye")); err != nil {
		s.t.Skip(err)
	}
	file := filepath.Join(s.dir, "play")
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), os.Args[0])
	cmd.Args = []string{"mcp", file, "serve"}
	cmd.Env = append(s.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Dir = filepath.Join(s.dir, "project")
	return s.must(cmd)
}

// The definitions take part of a model's context in every conversation and contain
// policy, so a change must be visible in the golden file.
func TestServedTools(t *testing.T) {
	s := newServed(t)
	out := s.play(`raw {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
raw {"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
	var answers []struct {
		Result struct {
			Instructions string
			Tools        []json.RawMessage
		}
	}
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != 2 || len(answers[1].Result.Tools) != 4 {
		t.Fatalf("%v: %s", err, out)
	}
	if n := len(answers[0].Result.Instructions); n == 0 || n > 4096 {
		t.Errorf("the instructions have %d bytes; some clients cut them at 4096", n)
	}
	size := 0
	for _, raw := range answers[1].Result.Tools {
		var seen struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"input_schema"`
		}
		var tool struct{ InputSchema json.RawMessage }
		if err := json.Unmarshal(raw, &seen); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &tool); err != nil || len(tool.InputSchema) == 0 {
			t.Fatalf("%v: %s", err, raw)
		}
		seen.InputSchema = tool.InputSchema
		b, err := json.Marshal(seen)
		if err != nil {
			t.Fatal(err)
		}
		size += len(b)
	}
	if tokens := size / 4; tokens >= 1000 {
		t.Errorf("a model sees some %d tokens of tools, which must stay below 1,000", tokens)
	} else {
		t.Logf("a model sees some %d tokens of tools, %d of instructions", tokens, len(answers[0].Result.Instructions)/4)
	}
	list, err := json.Marshal(answers[1].Result.Tools)
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, list, "", "  "); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, filepath.Join("testdata", "mcp-tools.json"), pretty.String()+"\n")
}

func TestCheckAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"7333": true, "0": true, "65535": true, "127.0.0.1:0": true, "[::1]:80": true, "localhost:7333": true, ":7333": true,
		"": false, "foo": false, "65536": false, "99999999999999999999": false, "-1": false, "127.0.0.1": false, "127.0.0.1:": false,
		"::1:80": false, "localhost:http": false, "localhost:-1": false, "http://localhost:80": false, "a:b:1": false,
	} {
		if err := checkAddress(address); (err == nil) != want || err != nil && diag.CodeOf(err) != diag.Usage {
			t.Errorf("checkAddress(%q) = %v", address, err)
		}
	}
}

func TestListenReason(t *testing.T) {
	taken, err := net.Listen("tcp", serveAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = net.Listen("tcp", taken.Addr().String())
	if err == nil {
		t.Fatal("two listen at one address")
	}
	if reason := listenReason(err); runtime.GOOS != "windows" && reason != "port_in_use" {
		t.Errorf("the reason is %q", reason)
	}
	if reason := listenReason(&net.OpError{Err: os.ErrPermission}); reason != "port_privileged" {
		t.Errorf("the reason is %q", reason)
	}
}

func TestParseCapability(t *testing.T) {
	for word, want := range map[string]string{
		"search": "rye.search.*", "draft": "rye.draft.*", "rye.execute.tool.gh.*": "rye.execute.tool.gh.*", "rye.*": "rye.*", "rye.s*.*": "rye.s*.*",
		"rye.[ls]oad.*": "rye.[ls]oad.*",
	} {
		if got, err := parseCapability(word); err != nil || string(got) != want {
			t.Errorf("parseCapability(%q) = %q, %v", word, got, err)
		}
	}
	for word, hint := range map[string]string{
		"serach": "did you mean search?", "rye.exec.*": "did you mean execute?", "rye.Search.*": "did you mean search?", "Sign": "did you mean sign?",
		"nothing": "name verbs", "rye.x*.*": "name verbs", "rye.search.": "write rye.VERB", "*": "name verbs", "rye": "name verbs",
	} {
		_, err := parseCapability(word)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.Usage || !strings.HasPrefix(cli.Hint(e), hint) {
			t.Errorf("parseCapability(%q): %v", word, err)
		}
	}
}
