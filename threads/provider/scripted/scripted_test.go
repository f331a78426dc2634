package scripted

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func serve(t *testing.T, text string) (*Server, string) {
	t.Helper()
	s, err := Parse("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server := &Server{Scenario: s}
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return server, h.URL
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("anthropic-version", "2023-06-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// A request that is not the expected one, or one too many, is recorded: this is how
// tests show that nothing is repeated.
func TestRequestsThatAreNotExpected(t *testing.T) {
	const ok = `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"go"}]}`
	const steps = "dialect: anthropic_messages\nsteps:\n  - expect: {text: {contains: go}}\n    send: {text: hi}\n"
	for body, want := range map[string]string{
		ok:                                   "",
		strings.Replace(ok, "go", "stay", 1): "none with",
		strings.Replace(ok, `"max_tokens":5,`, "", 1):                                              "max_tokens is missing",
		strings.Replace(ok, `"stream":true,`, "", 1):                                               "stream is not true",
		strings.Replace(ok, `"role":"user"`, `"role":"x"`, 1):                                      "first message",
		strings.Replace(ok, `"go"`, `[{"type":"tool_result","tool_use_id":"a","content":"x"}]`, 1): "answers the calls",
		`{`: "not valid",
	} {
		server, url := serve(t, steps)
		status, got := post(t, url+"/v1/messages", body)
		if (status == 200) != (want == "") || !strings.Contains(got, want) || (len(server.Problems()) == 0) != (want == "") {
			t.Errorf("%s: %d %s, %q", body, status, got, server.Problems())
		}
	}
	server, url := serve(t, steps)
	log := &bytes.Buffer{}
	server.Log = log
	post(t, url+"/v1/messages", ok)
	if status, got := post(t, url+"/v1/messages", ok); status != 422 || !strings.Contains(got, "1 steps only") || server.Calls() != 2 || server.Unused() != 0 {
		t.Errorf("a second request: %d %s", status, got)
	}
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), `"step":1,"path":"/v1/messages"`) {
		t.Errorf("the log has %d lines: %s", n, log)
	}
}

func TestScenarioErrors(t *testing.T) {
	for text, want := range map[string]string{
		"dialect: gemeni\nsteps: []":                                        "dialect must be",
		"dialect: openai_chat\nsteps: [{sent: {}}]":                         `unknown field "steps[0].sent"`,
		"dialect: openai_chat\nsteps: [{fault: {cut: 0}}]":                  "steps[0].fault.cut must be",
		"dialect: openai_chat\nsteps: [{send: {usage: {mode: shrinking}}}]": "usage.mode must be",
		"dialect: openai_chat\nsteps: [{repeat: true}, {send: {text: a}}]":  "steps[0].repeat is for the last step only",
		"steps: [": "s.yaml",
	} {
		if _, err := Parse("s.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The last step answers every further request if it repeats, the counts of the file are
// those of its steps, and late counts come at the end.
func TestRepeatedAndLate(t *testing.T) {
	const ask = `{"model":"m","max_tokens":5,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"go"}]}`
	server, url := serve(t, "dialect: openai_chat\nusage: {input: 70, output: 9}\nsteps:\n  - send: {text: one, usage: {mode: late}}\n  - send: {text: two}\n    repeat: true\n")
	var got []string
	for range 3 {
		_, text := post(t, url+"/v1/chat/completions", ask)
		if !strings.Contains(text, `"completion_tokens":9,`) || !strings.Contains(text, `"prompt_tokens":70,`) || !strings.Contains(text, `"model":"m"`) {
			t.Error(text)
		}
		for _, word := range []string{"one", "two", ": still counting"} {
			if strings.Contains(text, word) {
				got = append(got, word)
			}
		}
	}
	if want := []string{"one", ": still counting", "two", "two"}; !slices.Equal(got, want) || len(server.Problems()) > 0 || server.Calls() != 3 {
		t.Errorf("%q %q", got, server.Problems())
	}
}
