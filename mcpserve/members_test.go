package mcpserve

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestRepeatedKey(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list"}`:      "method",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                           "id",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","meth\u006fd":"tools/list"}`: "method",
		`{"params":{"name":"search","arguments":{},"name":"execute"}}`:              "name",
		`{"params":{"_meta":{"progressToken":1,"progressToken":2}}}`:                "progressToken",
		` { "a" : [ 1 , { } ] , "b" : "\"}" , "a" : null } `:                        "a",
		`{"":1,"":2}`:             "",
		`{"x":1,"x":2}`:           "x", // a key that the protocol does not define
		"{\"\xff\":1,\"\xff\":2}": "\ufffd",
	} {
		if key, found := repeatedKey([]byte(line)); !found || key != want {
			t.Errorf("repeatedKey(%s) = %q, %v", line, key, found)
		}
	}
	for _, line := range []string{
		hello, call("1", "x"), newCall(""), `{}`, `[]`, `null`, `1`, `"a"`, `{"a":"a","A":1}`, `{"params":[{"a":1,"a":2}]}`,
		`{"params":{"arguments":{"a":1,"a":2}}}`, // the verb's affair
		`{"a":{"b":1},"c":{"b":1}}`, `{"a":"\\","b":"\\\"","c":-1.5e3,"d":true}`,
	} {
		if key, found := repeatedKey([]byte(line)); found {
			t.Errorf("repeatedKey(%s) = %q", line, key)
		}
	}
}

// The members of an object are those that another reader of JSON finds.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		hello, newCall("x"), `{}`, `{"a":1}`, `{ "a" : [1,{"b":"}"}] , "b" : "\"" }`, `{"a":"\\","b":{}}`, `{"\u0061":1,"":-0.5e-7}`,
		`[1]`, `"{"`, `{"a":{"a":{"a":[[],{}]}}}`, "{\"a\":1\n,\t\"b\":true\r}", "{\"\xff\":null}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil {
			return
		}
		got := map[string]json.RawMessage{}
		for key, value := range members(b) {
			got[strings.ToValidUTF8(key, "\ufffd")] = value
		}
		for key, value := range want {
			if v, ok := got[key]; !ok && !strings.Contains(key, "\ufffd") || ok && !bytes.Equal(v, bytes.TrimSpace(value)) {
				t.Fatalf("members(%q): %q is %q, want %q", b, key, v, value)
			}
		}
		if len(got) > len(want) {
			t.Fatalf("members(%q) finds %d keys, want %d", b, len(got), len(want))
		}
	})
}
