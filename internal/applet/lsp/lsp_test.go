package lsp

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLSPCodec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, words string }{
		{"fine", "Content-Length: 7\r\n\r\n{\"a\":1}", ""},
		{"lower case, type", "content-length:7\r\nContent-Type: x\r\n\r\n{\"a\":1}", ""},
		{"bare newlines", "Content-Length: 7\n\n{\"a\":1}", ""},
		{"banner", "Hello there\n", "something other"},
		{"banner without end", "Hello", "something other"},
		{"JSON without header", "{\"jsonrpc\":\"2.0\"}\n", "something other"},
		{"endless line", strings.Repeat("x", maxHeader+1), "something other"},
		{"no length", "X: 1\r\n\r\n{}", "Content-Length"},
		{"negative", "Content-Length: -1\r\n\r\n", "has the length"},
		{"huge", "Content-Length: 99999999999999999999\r\n\r\n", "has the length"},
		{"too long", "Content-Length: 67108865\r\n\r\n", "has the length"},
		{"no number", "Content-Length: x\r\n\r\n", "has the length"},
		{"cut", "Content-Length: 9\r\n\r\n{\"a\":1}", "EOF"},
		{"no JSON", "Content-Length: 2\r\n\r\n{x", "not JSON-RPC"},
	} {
		var framing codec
		var v map[string]any
		err := framing.ReadObject(bufio.NewReader(strings.NewReader(c.in)), &v)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.name, err, c.words)
		}
	}
}

// column and units are inverse for every character.
func TestColumns(t *testing.T) {
	t.Parallel()
	line := "a\té😀b\u0301漢"
	n := 0
	for i, r := range []rune(line) {
		if got := units(line, i+1); got != n {
			t.Errorf("character %d is at %d, want %d", i+1, got, n)
		}
		if got := column(line, true, n); got != i+1 {
			t.Errorf("unit %d is character %d, want %d", n, got, i+1)
		}
		n += utf16Len(r)
	}
	if units(line, 100) != n || column(line, true, 100) != 8 || column("", false, 4) != 5 {
		t.Error("beyond the end")
	}
}

func TestWordIn(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"help": 0, "(help)": 1, "helper help": 7, "xhelp help2 _help": -1, "": -1, "é.help": 3, "éhelp help": 7} {
		if got := wordIn(in, "help"); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func TestURIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/a/b c.go", "/ü/100%/x#y?.go"} {
		if runtime.GOOS == "windows" {
			name = "C:" + filepath.FromSlash(name)
		}
		uri := fileURI(name)
		if got := uriPath(uri); got != name {
			t.Errorf("%q -> %q -> %q", name, uri, got)
		}
	}
	if normalURI("file:///a%2Fb/%C3%BC") != normalURI("file:///a/b/ü") || uriPath("untitled:x") != "" || uriPath("http://x/y") != "" {
		t.Error("spellings of an address")
	}
}

func TestHoverText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`null`:                 "",
		`{}`:                   "",
		`{"contents":"text "}`: "text\n",
		`{"contents":{"kind":"markdown","value":"**x**"}}`:           "**x**\n",
		`{"contents":[{"language":"go","value":"x"},"y", "", null]}`: "```go\nx\n```\n\ny\n",
		`{"contents":5}`: "",
		`[]`:             "",
	} {
		if got := hoverText(json.RawMessage(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestCodeText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{``: "", `null`: "", `7`: "7", `"E1"`: "E1", `{"value":1}`: ""} {
		if got := codeText(json.RawMessage(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
