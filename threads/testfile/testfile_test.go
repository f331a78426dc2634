package testfile

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads"
)

// shipped is a cleaner with the patterns that rye ships.
func shipped(t testing.TB, values func([]byte) []byte) *Cleaner {
	t.Helper()
	b, err := os.ReadFile("../../stdlib/.ai/config/agent/tests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, fs := yamlx.ParseItem(b)
	if diag.Failed(fs) {
		t.Fatal(fs)
	}
	c, err := NewCleaner(doc.Root, values)
	if err != nil || len(c.patterns) < 10 {
		t.Fatalf("%d patterns, %v", len(c.patterns), err)
	}
	return c
}

// planted are texts with a secret each, for every pattern that rye ships.
var planted = []struct{ id, text, secret string }{
	{"private-key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXktdjE"},
	{"private-key", "cut -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ", "MIIEvQIBADANBgkqhkiG9w0BAQ"},
	{"url-password", "postgres://ada:c0rrecthorse@db/x", "c0rrecthorse"},
	{"authorization", "Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"},
	{"jwt", "x eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4", "SflKxwRJSMeKKF2QT4"},
	{"sk", "key sk" + "-test-0123456789abcdefgh end", "0123456789abcdefgh"},
	{"github", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz"},
	{"github", "github_pat_11ABCDEFG0abcdefghijklmn", "github_pat_11ABCDEFG0"},
	{"gitlab", "glpat-abcdefghij0123456789", "glpat-abcdefghij"},
	{"aws", "AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"},
	{"google", "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234", "AIzaSyA-abcdefghijkl"},
	{"slack", "xoxb-123456789012-abcdef", "xoxb-123456789012"},
	{"package-token", "npm_abcdefghijklmnopqrstuvwxyz", "npm_abcdefghijklmnop"},
	{"assigned", `DB_PASSWORD="hunter2hunter2"`, "hunter2hunter2"},
	{"assigned", `{"api_key": "0123456789abcdef"}`, "0123456789abcdef"},
}

// TestPlantedSecrets puts each secret into a text, a line of a text, JSON in a text, and JSON
// in JSON in a text.
func TestPlantedSecrets(t *testing.T) {
	c := shipped(t, nil)
	for _, p := range planted {
		inner, err := jsonx.Marshal(map[string]any{"stdout": "log\n" + p.text + "\n", "n": 1})
		if err != nil {
			t.Fatal(err)
		}
		outer, err := jsonx.Marshal([]any{string(inner)})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{p.text, "a line\n" + p.text + "\nanother", string(inner), string(outer), "not JSON: " + string(inner)} {
			in, err := jsonx.Marshal(map[string]any{"content": []any{map[string]any{"text": text}}})
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.JSON(in)
			if err != nil || strings.Contains(string(out), p.secret) || !strings.Contains(string(out), "[redacted:") {
				t.Errorf("%s in %q: %s, %v", p.id, text, out, err)
			}
			again, err := c.JSON(out)
			if err != nil || string(again) != string(out) {
				t.Errorf("%s: a second pass changes it: %s, %v", p.id, again, err)
			}
		}
	}
	harmless := `{"text":"The token expires. See https://example.com/a?b=c and task-123; secrets are kept."}`
	if out, err := c.JSON([]byte(harmless)); err != nil || string(out) != harmless {
		t.Errorf("%s, %v", out, err)
	}
}

// TestKnownValues removes values wherever they are, also in the text of the result.
func TestKnownValues(t *testing.T) {
	c := shipped(t, func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "plantedvalue", "[redacted:X]")) })
	r := &threads.Recorded{
		Inputs: map[string]any{"a": []any{"xplantedvaluex"}}, Result: &threads.Result{Text: "plantedvalue", Outputs: map[string]any{"o": "plantedvalue"}},
		Events: []threads.Event{{Event: "tool_result", Data: map[string]any{"content": []any{map[string]any{"text": "plantedvalue"}}}}},
	}
	if err := c.Recorded(r); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal([]any{r.Inputs, r.Result, r.Events})
	if err != nil || strings.Contains(string(b), "plantedvalue") || strings.Count(string(b), "[redacted:X]") != 4 {
		t.Errorf("%s, %v", b, err)
	}
}

func TestPatternsAreChecked(t *testing.T) {
	for _, entry := range []any{map[string]any{"id": "a", "pattern": "("}, map[string]any{"id": "a", "pattern": "x*"}, map[string]any{"pattern": "x"}, "x"} {
		if _, err := NewCleaner(map[string]any{"redact": []any{entry}}, nil); diag.CodeOf(err) != diag.ConfigError {
			t.Errorf("%v: %v", entry, err)
		}
	}
}

func example() *File {
	return &File{ID: "team/triage", Version: "1.0.0", Description: "Recorded.", Facts: Facts{"2026-11-24", "linux", "rye", "here"}, Recorded: &threads.Recorded{
		Directive: "team/triage", Provider: "demo/model", Model: "m-1", Inputs: map[string]any{"n": int64(3), "x": 1.5},
		Result: &threads.Result{Status: "completed", Outputs: map[string]any{"label": "bug"}},
		Events: []threads.Event{
			{Event: "model_response", Data: map[string]any{"turn": int64(1), "blocks": []any{map[string]any{"type": "text", "text": " yes\n\n\ttab \u202e # no: comment\r\n"}}}},
			{Event: "tool_result", Data: map[string]any{"call_id": "c1", "is_error": false, "content": []any{}}},
		},
	}}
}

// TestRoundTrip reads what was written, whatever is in the texts.
func TestRoundTrip(t *testing.T) {
	f := example()
	text, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(f.ID, text)
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %v\n%s", got, err, text)
	}
}

// TestRead refuses files from which nothing could be compared.
func TestRead(t *testing.T) {
	text, err := example().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for old, with := range map[string]string{"format: 1": "format: 2", "event: tool_result": "event: \"\"", "expect:": "expect: []\nother:", "events:": "other:"} {
		changed := strings.Replace(string(text), old, with, 1)
		if changed == string(text) {
			t.Fatalf("%q is not in the file", old)
		}
		if _, err := Read("team/triage", []byte(changed)); diag.CodeOf(err) != diag.ValidationFailed {
			t.Errorf("%s: %v", with, err)
		}
	}
}

// FuzzRead reads any bytes: what is accepted is written and read again as the same.
func FuzzRead(f *testing.F) {
	text, err := example().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("format: 1\nexpect: {status: completed}\nevents: [{event: a, data: {b: 1}}]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Read("a", b)
		if err != nil {
			return
		}
		again, err := got.Marshal()
		if err != nil {
			return // a value that only a person writes, such as a date
		}
		same, err := Read("a", again)
		if err != nil || canonical(same.Recorded.Events) != canonical(got.Recorded.Events) || canonical(same.Recorded.Inputs) != canonical(got.Recorded.Inputs) {
			t.Errorf("%v\n%s\n%s", err, b, again)
		}
	})
}
