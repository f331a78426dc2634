package mcpserve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/ryeos/rye/primary/agent"
)

// Every line is a message or gets an answer, and an id comes back as it was.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		hello, call("2", "x"), call(`"two"`, ""), `{}`, `[]`, `null`, `"x"`, `{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":-0,"method":"ping"}`, `{"jsonrpc":"2.0","id":"\u0000","method":"ping"}`, `{"jsonrpc":"2.0","id":"é\ud800","method":"ping"}`,
		`{"jsonrpc":"2.0","ID":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}",
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, strings.Repeat(`{"a":`, 1200),
		`{"jsonrpc":"2.0","id":01,"method":"ping"}`, `{"jsonrpc":"2.0","id":-,"method":"ping"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return
		}
		msg, refused := decode(line)
		if (msg == nil) == (refused == nil) {
			t.Fatalf("decode(%q) = %v, %q", line, msg, refused)
		}
		if refused != nil {
			var doc struct{ Error struct{ Code int } }
			if err := json.Unmarshal(refused, &doc); err != nil || doc.Error.Code == 0 {
				t.Fatalf("decode(%q) answers %q, %v", line, refused, err)
			}
			return
		}
		if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
			sameID(t, line, req.ID)
		}
	})
}

func sameID(t *testing.T, line []byte, id jsonrpc.ID) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(line, &in); err != nil {
		t.Fatal(err)
	}
	out, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]json.RawMessage
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(in["id"], &a) != nil || json.Unmarshal(back["id"], &b) != nil || a != b {
		t.Fatalf("the id of %q comes back as %s", line, back["id"])
	}
}

// Lines are split at line ends, for any size of the buffer.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\nccc"), uint8(2))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nb"), uint8(20))
	f.Add([]byte("\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\r\nb"), uint8(10))
	f.Fuzz(func(t *testing.T, in []byte, most uint8) {
		r := bufio.NewReaderSize(bytes.NewReader(in), 16)
		for _, want := range bytes.SplitAfter(in, []byte("\n")) {
			line, long, err := readLine(r, int(most))
			fits := contentLen(want) <= int(most)
			if long == fits || fits && !bytes.Equal(line, want) || !fits && line != nil {
				t.Fatalf("readLine = %q, %v, %v, want %q", line, long, err, want)
			}
		}
	})
}

// Every entry is listed once, also when the list changes between two pages.
func TestPages(t *testing.T) {
	var all []agent.Prompt
	for i := range 2*pageSize + 3 {
		all = append(all, agent.Prompt{Name: fmt.Sprintf("p/%04d", (i*7919)%(2*pageSize+3))})
	}
	name := func(p agent.Prompt) string { return p.Name }
	var seen []string
	cursor, pages := "", 0
	for {
		part, next, err := page(all, cursor, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range part {
			seen = append(seen, p.Name)
		}
		pages++
		if pages == 1 { // what the cursor names goes away
			all = slices.DeleteFunc(all, func(p agent.Prompt) bool { return p.Name == part[pageSize-1].Name })
		}
		if cursor = next; next == "" {
			break
		}
	}
	if pages != 3 || len(seen) != 2*pageSize+3 || !slices.IsSorted(seen) || len(slices.Compact(seen)) != len(seen) {
		t.Errorf("%d pages with %d entries", pages, len(seen))
	}
	if part, next, err := page([]agent.Prompt{}, "", name); err != nil || len(part) != 0 || next != "" {
		t.Errorf("page of nothing = %v, %q, %v", part, next, err)
	}
	if part, _, err := page([]agent.Prompt{{Name: ""}}, "", name); err != nil || len(part) != 1 {
		t.Errorf("an entry without a name = %v, %v", part, err)
	}
	for _, cursor := range []string{"AAAA", "%%", "YWZ0ZXI", "after x"} {
		if _, _, err := page(all, cursor, name); err == nil {
			t.Errorf("the cursor %q passes", cursor)
		}
	}
}
