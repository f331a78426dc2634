package steps

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// both runs a step and its twin in Python, which has the same input and must have the
// same output, and returns the output of the step. Fingerprints are any digest. With -short
// the twins do not run.
func both(t *testing.T, name string, in Input) string {
	t.Helper()
	out, err := All()[name](t.Context(), in)
	want := show(t, out, err)
	python, missing := exec.LookPath("python3")
	if missing != nil || err != nil || testing.Short() {
		return want
	}
	in.ConversationFile = filepath.Join(t.TempDir(), "conversation.jsonl")
	var conversation bytes.Buffer
	for _, l := range in.Conversation {
		fmt.Fprintf(&conversation, "{\"event\":%q,\"data\":%s}\n", l.Event, l.Data)
	}
	if err := os.WriteFile(in.ConversationFile, conversation.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("..", "..", "internal", "stepsource", "source", name+".py"))
	cmd.Stdin = bytes.NewReader(stdin)
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("the twin of %s: %v", name, err)
	}
	var twin Output
	v, _ := jsonx.ParseMessage(raw)
	if err := json.Unmarshal(raw, &twin); err != nil {
		t.Fatalf("the twin of %s: %v", name, err)
	}
	twin.Data = v.(map[string]any)["data"].(map[string]any)
	digest := regexp.MustCompile("sha256:[0-9a-f]{64}")
	got := digest.ReplaceAllString(show(t, twin, nil), "DIGEST")
	if want := digest.ReplaceAllString(want, "DIGEST"); got != want {
		t.Errorf("the twin of %s:\ngot  %s\nwant %s", name, got, want)
	}
	return want
}

// a call and its result in a conversation
func called(id, ref, input, result string, isError bool) []string {
	return []string{
		fmt.Sprintf(`tool_call {"turn":1,"call_id":%q,"ref":%q,"input":%s}`, id, ref, input),
		fmt.Sprintf(`tool_result {"call_id":%q,"ref":%q,"is_error":%v,"content":[{"type":"text","text":%q}]}`, id, ref, isError, result),
	}
}
