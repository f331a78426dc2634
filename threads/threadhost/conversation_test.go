package threadhost

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/transcript"
)

// FuzzConversation reads the data of a line as a native step does, from the log, and as a step that is a program
// does, from the file of the conversation: every line that one of them reads has the same data for the other.
func FuzzConversation(f *testing.F) {
	for _, data := range []string{
		`{"blocks":[{"type":"text","text":"ä\u0000"},{"type":"tool_call","id":"a","name":"n","input":{"x":12345678901234567890.10}}],"any":1}`,
		`{"any":{"n":1,"n":2},"any":"\ud800"}`, // an earlier version wrote arguments as they came
		`{"any":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`,
		`{"any":1e400,"blocks":null}`, `{}`, `null`, `{"Any":1,"any":2}`,
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		line := transcript.Line{Seq: 1, Time: "t", Event: "observation", Data: json.RawMessage(data)}
		var object map[string]any
		if line.Decode(&object) != nil || object == nil {
			return
		}
		text, err := conversationText("x", []transcript.Line{line})
		if err != nil {
			t.Fatal(err)
		}
		var whole struct {
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := jsonx.Record(whole.Data)
		if err != nil {
			t.Fatal(err)
		}
		if blocks, isList := object["blocks"].([]any); isList { // reasoning is left out
			kept := []any{}
			for _, b := range blocks {
				if m, _ := b.(map[string]any); m["type"] != "reasoning" && m["type"] != "opaque" {
					kept = append(kept, b)
				}
			}
			object["blocks"] = kept
		}
		want, err := jsonx.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := jsonx.Record(want); err != nil || !reflect.DeepEqual(got, same) {
			t.Fatalf("a program reads %v, a native step %v", got, same)
		}
	})
}
