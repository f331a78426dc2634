package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/layered"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/transcript"
)

// services returns services with the shipped configurations, over which the texts of
// more are laid, as a project's layer is.
func services(t testing.TB, more map[string]string) Services {
	t.Helper()
	return Services{
		Config: func(_ context.Context, id string) (map[string]any, error) {
			b, err := os.ReadFile(filepath.Join("../../stdlib/.ai/config", id+".yaml"))
			if err != nil {
				return nil, err
			}
			layers := []layered.Layer{parseLayer(t, string(b))}
			if s, ok := more[id]; ok {
				layers = append(layers, parseLayer(t, s))
			}
			root := layered.Merge(layers)
			delete(root, "schema_version")
			return root, nil
		},
		Now:  func() time.Time { return time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC) },
		Rand: func() float64 { return 0.5 },
	}
}

func parseLayer(t testing.TB, s string) layered.Layer {
	t.Helper()
	doc, fs := yamlx.Parse([]byte(s))
	if doc == nil || len(fs) > 0 {
		t.Fatal(fs)
	}
	return layered.Layer{Root: doc.Root}
}

// lines returns a conversation of "event {data}" lines.
func lines(t testing.TB, texts ...string) []transcript.Line {
	t.Helper()
	var out []transcript.Line
	for i, s := range texts {
		event, data, _ := strings.Cut(s, " ")
		if !json.Valid([]byte(data)) {
			t.Fatalf("%s: the data are not JSON", s)
		}
		out = append(out, transcript.Line{Seq: int64(i + 1), Event: event, Data: json.RawMessage(data)})
	}
	return out
}

// object parses the parameters of a step.
func parse(t testing.TB, s string) map[string]any {
	t.Helper()
	if s == "" {
		return nil
	}
	v, fs := jsonx.ParseMessage([]byte(s))
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%s: %v", s, fs)
	}
	return m
}

// show returns a value as compact JSON, or an error as "error: …".
func show(t testing.TB, out Output, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error()
	}
	if !out.Success {
		t.Errorf("success is false without an error: %v", out.Data)
	}
	b, err := jsonx.Marshal(out.Data)
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	for _, e := range out.Events {
		b, err := jsonx.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		s += fmt.Sprintf(" %s%s", e.Event, b)
	}
	return s
}

// a call and its result in a conversation
func called(id, ref, input, result string, isError bool) []string {
	return []string{
		fmt.Sprintf(`tool_call {"turn":1,"call_id":%q,"ref":%q,"input":%s}`, id, ref, input),
		fmt.Sprintf(`tool_result {"call_id":%q,"ref":%q,"is_error":%v,"content":[{"type":"text","text":%q}]}`, id, ref, isError, result),
	}
}
