// Package scripted serves scripted answers of models over HTTP, in the dialects of
// package provider, from the published descriptions of the services. It shares no code
// with the codecs. A scenario file lists what each request must contain and what is
// answered, with the faults that services and networks have.
//
// It decides nothing by the content of a request except whether the request is the
// expected one and, for a step with the key for, whether it is of that thread. Choose
// leaves that decision to the caller. It reaches no service.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server answers requests with the steps of a scenario, one after the other.
type Server struct {
	Scenario *Scenario
	Log      io.Writer // receives a line of JSON for each request; nil ignores them
	// Seen receives each request before it is answered. Log has no headers: they contain
	// the key. Nil ignores them.
	Seen func(*http.Request)
	// Choose returns the answer to the body of a request, in place of the steps of the
	// scenario. Nil uses the steps; a nil step refuses the request.
	Choose func(body []byte) *Step
	// Lenient accepts requests that the checks of this package do not cover, such as tools of
	// other types than function.
	Lenient bool

	mu       sync.Mutex
	next     int
	used     map[int]bool
	problems []string
	met      int           // requests that wait at gate
	gate     chan struct{} // of the steps with Meet
}

// entry is one line of the log.
type entry struct {
	Step    int             `json:"step"` // from 1; 0 if the scenario has no more
	Path    string          `json:"path"`
	Problem string          `json:"problem,omitempty"`
	Results []string        `json:"results,omitempty"` // of tools, as the model reads them, in the last messages
	Request json.RawMessage `json:"request"`
}

// Calls returns how many calls of a model the server received.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// Problems returns why requests were refused so far.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.problems...)
}

// Unused returns the number of steps that are left.
func (s *Server) Unused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.Scenario.Steps) - len(s.used)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	if s.Seen != nil {
		s.Seen(r)
	}
	switch {
	case r.Method == http.MethodHead: // programs ask whether the service is there
		return
	case r.Header.Get("Upgrade") != "": // and for a connection in another protocol
		w.WriteHeader(http.StatusUpgradeRequired)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/count_tokens") && s.Scenario.Dialect == Anthropic {
		fmt.Fprintf(w, `{"input_tokens":%d}`, len(body)/4)
		return
	}
	s.mu.Lock()
	e := entry{Path: r.URL.Path, Request: body}
	var step *Step
	if s.Choose != nil {
		step = s.Choose(body)
	} else if i := s.pick(string(body)); i >= 0 {
		step = &s.Scenario.Steps[i]
		e.Step = i + 1
	}
	s.next++
	n := s.next
	if !s.Lenient || step == nil {
		e.Problem, e.Results = s.check(r, body, step)
	}
	if e.Problem != "" {
		s.problems = append(s.problems, fmt.Sprintf("request %d: %s", s.next, e.Problem))
	}
	s.log(e)
	s.mu.Unlock()
	if e.Problem != "" {
		// No policy repeats this status, so a test ends here.
		s.fail(w, http.StatusUnprocessableEntity, "invalid_request_error", "scripted: "+e.Problem)
		return
	}
	if step.Meet > 0 && !s.meet(r.Context(), step.Meet) {
		return // the client left
	}
	s.answer(w, r, step, body, n)
}

// meet waits until n requests wait here, and reports whether they did before the client left.
// A client that sends its requests one after the other never passes.
func (s *Server) meet(ctx context.Context, n int) bool {
	s.mu.Lock()
	if s.gate == nil {
		s.gate = make(chan struct{})
	}
	gate := s.gate
	if s.met++; s.met == n {
		close(gate)
		s.met = 0
		s.gate = nil
	}
	s.mu.Unlock()
	select {
	case <-gate:
		return true
	case <-ctx.Done():
		return false
	}
}

// pick returns the first step that is left for a request, -1 if there is none.
func (s *Server) pick(body string) int {
	for i, step := range s.Scenario.Steps {
		if (step.Repeat || !s.used[i]) && strings.Contains(body, step.For) {
			if s.used == nil {
				s.used = map[int]bool{}
			}
			s.used[i] = true
			return i
		}
	}
	return -1
}

func (s *Server) log(e entry) {
	if s.Log == nil {
		return
	}
	if !json.Valid(e.Request) {
		e.Request, _ = json.Marshal(string(e.Request))
	}
	enc := json.NewEncoder(s.Log)
	enc.SetEscapeHTML(false) // the request as it was sent
	_ = enc.Encode(e)
}

// check returns why a request is refused, or "", and the results of tools in it.
func (s *Server) check(
	r *http.Request,
	body []byte,
	step *Step,
) (problem string, results []string) {
	if step == nil {
		return fmt.Sprintf("the scenario has %d steps only, and none that is left is for this request", len(s.Scenario.Steps)), nil
	}
	req, problem := readRequest(s.Scenario.Dialect, r, body)
	if problem != "" {
		return problem, nil
	}
	return step.Expect.check(req), req.results
}

// fail answers with an error of the dialect.
func (s *Server) fail(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(s.errorBody(kind, text))
}

func (s *Server) errorBody(kind, text string) []byte {
	if s.Scenario.Dialect == Anthropic {
		return raw(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}})
	}
	if s.Scenario.Dialect == Gemini {
		return raw(object{"error": object{"code": 500, "message": text, "status": kind}})
	}
	if s.Scenario.Dialect == Ollama {
		return raw(object{"error": text})
	}
	return raw(map[string]any{"error": map[string]any{
		"message": text,
		"type":    kind,
		"param":   nil,
		"code":    nil,
	}})
}

// answer writes the answer to request n.
func (s *Server) answer(
	w http.ResponseWriter,
	r *http.Request,
	step *Step,
	body []byte,
	n int,
) {
	f := step.Fault
	select {
	case <-r.Context().Done():
		return
	case <-time.After(time.Duration(f.DelayMS) * time.Millisecond):
	}
	for name, v := range f.Headers {
		w.Header().Set(name, v)
	}
	if f.Status != 0 {
		if f.Body != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(f.Status)
			io.WriteString(w, f.Body)
			return
		}
		s.fail(w, f.Status, f.Type, f.Message)
		return
	}
	if f.Silence == "before" {
		<-r.Context().Done()
		return
	}
	events := s.events(step, r.URL.Path, body, n)
	kind := "text/event-stream"
	if s.Scenario.Dialect == Ollama {
		kind = "application/x-ndjson"
	}
	if step.Send.Document != "" {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Request-Id", fmt.Sprintf("req_%d", n))
	w.WriteHeader(http.StatusOK)
	if step.Send.Document != "" {
		s.stream(w, r, step, []byte(step.Send.Document))
		return
	}
	s.stream(w, r, step, s.faulty(events, f))
	if f.Endless {
		at := min(max(f.After, 1), len(events))
		s.repeat(w, r, s.written(events[at-1:at]))
	}
}

// repeat writes bytes until the client leaves.
func (s *Server) repeat(w http.ResponseWriter, r *http.Request, b []byte) {
	for r.Context().Err() == nil {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

// events returns the answer to request n in the dialect.
func (s *Server) events(step *Step, path string, body []byte, n int) []event {
	if step.Send.Events != nil {
		var out []event
		for _, data := range step.Send.Events {
			out = append(out, event{data: []byte(data)})
		}
		return out
	}
	model := modelOf(step, path, body)
	switch s.Scenario.Dialect {
	case Anthropic:
		return anthropicEvents(step, n, model)
	case Responses:
		return responsesEvents(step, n, model)
	case Gemini:
		return geminiEvents(step, n, model)
	case Ollama:
		return ollamaEvents(step, n, model)
	}
	return chatEvents(step, n, model, wantsUsage(body))
}

// faulty applies the faults that change the events.
func (s *Server) faulty(events []event, f Fault) []byte {
	at := len(events)
	if f.After > 0 {
		at = min(f.After, at)
	} else {
		at = at / 2
	}
	switch {
	case f.Endless:
		events = events[:at:at]
	case f.Error != nil:
		events = append(events[:at:at], event{name: s.errorName(), data: s.errorEvent(f.Error)})
	case f.Malformed:
		events = append(events[:at:at], event{data: []byte(`{"type": "content_block_delta", "choices": [`)})
	case f.Duplicate:
		var out []event
		for _, e := range events {
			out = append(out, e)
			if e.final {
				out = append(out, e)
			}
		}
		events = out
	}
	return s.written(events)
}

// written returns the bytes of events in the stream of the dialect.
func (s *Server) written(events []event) []byte {
	var b strings.Builder
	for _, e := range events {
		switch {
		case s.Scenario.Dialect == Ollama: // lines of JSON
			b.WriteString(string(e.data) + "\n")
			continue
		case e.comment != "":
			b.WriteString(": " + e.comment + "\n\n")
			continue
		case e.name != "":
			b.WriteString("event: " + e.name + "\n")
		}
		b.WriteString("data: " + string(e.data) + "\n\n")
	}
	return []byte(b.String())
}

// stream writes the bytes in the pieces and with the pauses of the step.
func (s *Server) stream(
	w http.ResponseWriter,
	r *http.Request,
	step *Step,
	b []byte,
) {
	flush := func() {}
	if f, ok := w.(http.Flusher); ok {
		flush = f.Flush
	}
	f := step.Fault
	end := len(b)
	if f.Cut > 0 {
		end = min(f.Cut, end)
	}
	if f.Silence == "within" {
		end = end / 2
	}
	size := len(b)
	pause := time.Duration(0)
	if step.Send.ChunkBytes > 0 {
		size = step.Send.ChunkBytes
	}
	if f.SlowMS > 0 {
		size = 64
		pause = time.Duration(f.SlowMS) * time.Millisecond
	}
	for i := 0; i < end; i += size {
		if r.Context().Err() != nil {
			return
		}
		w.Write(b[i:min(i+size, end)])
		flush()
		time.Sleep(pause)
	}
	switch {
	case f.Silence == "within":
		<-r.Context().Done()
	case f.Cut > 0 && f.Reset:
		panic(http.ErrAbortHandler) // the connection closes without the end of the body
	}
}

// event is one event of a stream.
type event struct {
	name  string
	data  []byte
	final bool // it belongs to the end of the response

	comment string // a line that is not an event, in place of the rest
}

// errorEvent returns the data of an event that is an error.
func (s *Server) errorEvent(e *StreamError) []byte {
	if s.Scenario.Dialect == Responses {
		return raw(object{
			"type":            "error",
			"code":            e.Type,
			"message":         e.Message,
			"param":           nil,
			"sequence_number": 9,
		})
	}
	return s.errorBody(e.Type, e.Message)
}

// errorName returns the name of an event that is an error.
func (s *Server) errorName() string {
	if s.Scenario.Dialect == Anthropic || s.Scenario.Dialect == Responses {
		return "error"
	}
	return ""
}

func raw(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}
