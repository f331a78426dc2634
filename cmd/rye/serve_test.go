package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
