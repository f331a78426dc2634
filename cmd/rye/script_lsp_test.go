package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// toyLSP is a small real language server. Its language: "def NAME" defines a
// name, "use NAME" uses one, other lines are comments. The first argument makes
// it misbehave: banner, crash, silent, deaf, huge, refuse, pull, asks.
func toyLSP() {
	t := &toyServer{in: bufio.NewReader(os.Stdin), mode: strings.Join(os.Args[1:], " ")}
	switch t.mode {
	case "banner":
		fmt.Println("Welcome to toylsp 1.0!")
	case "crash":
		fmt.Fprintln(os.Stderr, "cannot open the licence")
		os.Exit(3)
	case "silent":
		child := exec.Command("sleep", "60")
		if child.Start() == nil {
			os.WriteFile("child.pid", []byte(strconv.Itoa(child.Process.Pid)), 0o644)
		}
		time.Sleep(time.Minute)
	case "huge":
		fmt.Print("Content-Length: 99999999999\r\n\r\n")
	}
	t.serve()
}

type toyServer struct {
	in    *bufio.Reader
	mode  string
	lines []string
	uri   string
	asked string
	wait  *toyMessage // a question that is answered when asked is known
}

type toyMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params struct {
		TextDocument struct {
			URI, Text, LanguageID string
		}
		Position struct{ Line, Character int }
		Context  struct{ IncludeDeclaration bool }
		Query    string
	} `json:"params"`
	Result json.RawMessage `json:"result,omitempty"`
}

func (t *toyServer) serve() {
	for {
		header, err := textproto.NewReader(t.in).ReadMIMEHeader()
		if err != nil {
			os.Exit(0)
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		b := make([]byte, n)
		if _, err := io.ReadFull(t.in, b); err != nil {
			os.Exit(1)
		}
		var m toyMessage
		if err := json.Unmarshal(b, &m); err != nil {
			fmt.Fprintln(os.Stderr, "bad message:", err)
			os.Exit(1)
		}
		t.handle(m)
	}
}

func (t *toyServer) send(v map[string]any) {
	v["jsonrpc"] = "2.0"
	b, _ := json.Marshal(v)
	fmt.Printf("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s", len(b), b)
}

func (t *toyServer) answer(m toyMessage, result any) {
	t.send(map[string]any{"id": m.ID, "result": result})
}

func (t *toyServer) handle(m toyMessage) {
	switch m.Method {
	case "initialize":
		able := map[string]any{"textDocumentSync": 1, "diagnosticProvider": nil}
		if t.mode == "pull" {
			able["diagnosticProvider"] = map[string]any{"interFileDependencies": false}
		}
		t.answer(m, map[string]any{"capabilities": able})
	case "initialized":
		t.send(map[string]any{"id": "c1", "method": "workspace/configuration", "params": map[string]any{"items": []any{map[string]any{"section": "toy.motto"}}}})
	case "":
		t.asked = string(m.Result)
		if t.wait != nil {
			t.handle(*t.wait)
		}
		if t.mode == "asks" {
			t.publish()
		}
	case "textDocument/didOpen":
		t.uri, t.lines = m.Params.TextDocument.URI, strings.Split(m.Params.TextDocument.Text, "\n")
		if t.mode != "deaf" && t.mode != "pull" {
			t.send(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{"uri": t.uri, "diagnostics": []any{}}})
			t.publish()
		}
	case "textDocument/diagnostic":
		t.answer(m, map[string]any{"kind": "full", "items": t.problems()})
	case "textDocument/definition":
		t.answer(m, t.first("def", t.word(m)))
	case "textDocument/references":
		t.answer(m, t.all(t.word(m), m.Params.Context.IncludeDeclaration))
	case "textDocument/hover":
		if t.mode == "refuse" {
			t.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32803, "message": "not in this state"}})
			return
		}
		if t.asked == "" {
			t.wait = &m
			return
		}
		t.answer(m, map[string]any{"contents": map[string]any{"kind": "markdown", "value": "**" + t.word(m) + "** " + t.asked}})
	case "textDocument/documentSymbol":
		t.answer(m, t.symbols(""))
	case "workspace/symbol":
		t.answer(m, []any{map[string]any{"name": m.Params.Query, "kind": 12, "location": map[string]any{"uri": "file:///elsewhere/x.toy", "range": toySpan(4, 2, 3)}}})
	case "shutdown":
		dir, _ := os.Getwd() // the project is read-only for it, its home is in its cache
		os.WriteFile(filepath.Join(os.Getenv("HOME"), "toylsp.ended"), []byte(dir), 0o644)
		t.answer(m, nil)
	case "exit":
		os.Exit(0)
	}
}

func toySpan(line, from, to int) map[string]any {
	return map[string]any{"start": map[string]any{"line": line, "character": from}, "end": map[string]any{"line": line, "character": to}}
}

// parts is a line's verb and name, and where the name begins, in UTF-16.
func toyParts(line string) (verb, name string, at int) {
	before, rest, _ := strings.Cut(line, " ")
	if i := strings.Index(line, "|"); i >= 0 { // a decoration before the statement
		verb, name, at = toyParts(strings.TrimSpace(line[i+1:]))
		for _, r := range line[:len(line)-len(strings.TrimSpace(line[i+1:]))] {
			at++
			if r > 0xffff {
				at++
			}
		}
		return verb, name, at
	}
	return before, strings.TrimSpace(rest), len(before) + 1
}

func (t *toyServer) each(f func(i int, verb, name string, at int)) {
	for i, line := range t.lines {
		if verb, name, at := toyParts(line); name != "" && (verb == "def" || verb == "use") {
			f(i, verb, name, at)
		}
	}
}

func (t *toyServer) place(i, at int, name string) map[string]any {
	return map[string]any{"uri": t.uri, "range": toySpan(i, at, at+len(name))}
}

func (t *toyServer) word(m toyMessage) (word string) {
	t.each(func(i int, _, name string, at int) {
		if p := m.Params.Position; p.Line == i && p.Character >= at && p.Character <= at+len(name) {
			word = name
		}
	})
	return word
}

func (t *toyServer) first(verb, word string) (found any) {
	t.each(func(i int, v, name string, at int) {
		if v == verb && name == word && found == nil {
			found = t.place(i, at, name)
		}
	})
	return found
}

func (t *toyServer) all(word string, declaration bool) []any {
	out := []any{}
	t.each(func(i int, verb, name string, at int) {
		if name == word && (verb == "use" || declaration) {
			out = append(out, t.place(i, at, name))
		}
	})
	return out
}

func (t *toyServer) problems() []any {
	var defined []string
	t.each(func(_ int, verb, name string, _ int) {
		if verb == "def" {
			defined = append(defined, name)
		}
	})
	out := []any{}
	t.each(func(i int, verb, name string, at int) {
		if verb == "use" && !slices.Contains(defined, name) {
			out = append(out, map[string]any{"range": toySpan(i, at, at+len(name)), "severity": 1, "code": 7, "source": "toy", "message": name + " is not defined"})
		}
	})
	return out
}

func (t *toyServer) publish() {
	t.send(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{"uri": t.uri, "diagnostics": t.problems()}})
}

func (t *toyServer) symbols(string) []any {
	out := []any{}
	t.each(func(i int, verb, name string, at int) {
		if verb == "def" {
			out = append(out, map[string]any{"name": name, "kind": 12, "range": toySpan(i, 0, at+len(name)), "selectionRange": toySpan(i, at, at+len(name)),
				"children": []any{map[string]any{"name": name + ".inner", "kind": 13, "range": toySpan(i, at, at), "selectionRange": toySpan(i, at, at)}}})
		}
	})
	return out
}
