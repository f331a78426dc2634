package scripted

import (
	"math"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

// The dialects.
const (
	Anthropic = "anthropic_messages"
	Chat      = "openai_chat"
	Responses = "openai_responses"
	Gemini    = "gemini"
	Ollama    = "ollama_chat"
)

// Scenario is a parsed scenario file.
type Scenario struct {
	Dialect string
	Steps   []Step
}

// Step is one request and its answer.
type Step struct {
	For    string // a text of the requests that it is for, "" for every request: several threads call one server
	Expect Expect
	Send   Send
	Fault  Fault
	Meet   int  // the answer waits until so many requests of such steps are there at the same time
	Repeat bool // the last step only: it answers every further request too
}

// Expect is what a request must have. An empty field is not checked.
type Expect struct {
	Tools      []string // exact names, in order
	Model      string
	LastRole   string
	Text       []string // each occurs in a text of the last message
	ToolResult []string // each occurs in a result of the last message
	Anywhere   []string // each occurs in the body
	Nowhere    []string // none occurs in the body
}

// Send is a complete answer.
type Send struct {
	Reasoning  Reasoning
	Text       string
	Refusal    string
	Calls      []Call
	Unknown    map[string]any // a block, or a member of a message, that no client knows
	Usage      Usage
	Stop       string // the dialect's word; "" follows from the rest
	Model      string
	ChunkBytes int // bytes of one write
	// Events are the data of each event as the service writes it, and Document is one body
	// in place of a stream: answers that no description has. They replace all other fields.
	Events   []string
	Document string
}

// Reasoning is what a model thought.
type Reasoning struct{ Text, Signature, Redacted string }

// Call is a call of a tool.
type Call struct {
	ID, Name  string
	Input     map[string]any
	Arguments string // as written, in place of Input
}

// Usage are the counts of an answer.
type Usage struct {
	Input, CacheRead, CacheWrite5m, CacheWrite1h, Output, Reasoning int64
	Mode                                                            string // "", missing, growing or late
}

// Fault is a deviation from a complete answer.
type Fault struct {
	Status        int
	Type, Message string // of the error that a status has
	Body          string // in place of the dialect's error
	Headers       map[string]string
	Error         *StreamError // within the stream
	After         int          // events before Error or Malformed; 0 is half of them
	Cut           int          // bytes of the stream that are sent
	Reset         bool         // Cut ends the connection without the end of the body
	Silence       string       // before or within the stream, until the client leaves
	DelayMS       int64        // pause before the answer
	SlowMS        int64        // pause after each 64 bytes
	Malformed     bool
	Duplicate     bool // the final events are sent twice
	Endless       bool // the event before After is sent until the client leaves
}

// StreamError is an error within a stream whose status is 200.
type StreamError struct{ Type, Message string }

// Parse reads a scenario.
func Parse(path string, b []byte) (*Scenario, error) {
	doc, fs := yamlx.Parse(b)
	if doc == nil {
		return nil, diag.FromFindings("reading the scenario", diag.WithPath(fs, path))
	}
	r := tree.NewReader(doc, diag.ConfigError)
	r.Only("dialect", "usage", "steps")
	r.Require("dialect", "steps")
	s := &Scenario{Dialect: r.Enum("dialect", "", Anthropic, Chat, Responses, Gemini, Ollama)}
	usage := readUsage(r.Map("usage"), Usage{Input: 10, Output: 5})
	steps := r.Maps("steps")
	for i, m := range steps {
		m.Only("for", "expect", "send", "fault", "meet", "repeat")
		step := Step{
			For:    m.Text("for"),
			Expect: readExpect(m.Map("expect")),
			Send:   readSend(m.Map("send"), usage),
			Fault:  readFault(m.Map("fault")),
			Meet:   int(m.Int("meet", 0, 2, 1000)),
			Repeat: m.Bool("repeat", false),
		}
		if step.Repeat && i < len(steps)-1 {
			m.Reject("repeat", "is for the last step only: it answers every further request")
		}
		s.Steps = append(s.Steps, step)
	}
	return s, diag.FromFindings("reading the scenario", diag.WithPath(r.Findings(), path))
}

func readExpect(r *tree.Reader) Expect {
	r.Only("tools", "model", "last_role", "text", "tool_result", "anywhere", "nowhere")
	contains := func(key string) []string {
		m := r.Map(key)
		m.Only("contains")
		if s, ok := m.Value("contains").(string); ok {
			return []string{s}
		}
		return m.Texts("contains", nil)
	}
	return Expect{
		Tools:      r.Texts("tools", nil),
		Model:      r.Text("model"),
		LastRole:   r.Text("last_role"),
		Text:       contains("text"),
		ToolResult: contains("tool_result"),
		Anywhere:   r.Texts("anywhere", nil),
		Nowhere:    r.Texts("nowhere", nil),
	}
}

func readSend(r *tree.Reader, usage Usage) Send {
	r.Only("reasoning", "text", "refusal", "calls", "unknown", "usage", "stop", "model", "chunk_bytes", "events", "document")
	s := Send{
		Text:     r.Text("text"),
		Refusal:  r.Text("refusal"),
		Stop:     r.Text("stop"),
		Model:    r.Text("model"),
		Events:   r.Texts("events", nil),
		Document: r.Text("document"),
	}
	s.ChunkBytes = int(r.Int("chunk_bytes", 0, 1, math.MaxInt32))
	s.Unknown, _ = r.Value("unknown").(map[string]any)
	thought := r.Map("reasoning")
	thought.Only("text", "signature", "redacted")
	s.Reasoning = Reasoning{thought.Text("text"), thought.Text("signature"), thought.Text("redacted")}
	for _, c := range r.Maps("calls") {
		c.Only("id", "name", "input", "arguments")
		call := Call{ID: c.Text("id"), Name: c.Text("name"), Arguments: c.Text("arguments")}
		call.Input, _ = c.Value("input").(map[string]any)
		s.Calls = append(s.Calls, call)
	}
	s.Usage = readUsage(r.Map("usage"), usage)
	return s
}

// readUsage reads counts; def has those that are left out.
func readUsage(u *tree.Reader, def Usage) Usage {
	u.Only("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning", "mode")
	count := func(key string, def int64) int64 {
		return u.Int(key, def, 0, math.MaxInt32)
	}
	return Usage{
		Input:        count("input", def.Input),
		CacheRead:    count("cache_read", def.CacheRead),
		CacheWrite5m: count("cache_write_5m", def.CacheWrite5m),
		CacheWrite1h: count("cache_write_1h", def.CacheWrite1h),
		Output:       count("output", def.Output),
		Reasoning:    count("reasoning", def.Reasoning),
		Mode:         u.Enum("mode", def.Mode, "missing", "growing", "late"),
	}
}

func readFault(r *tree.Reader) Fault {
	r.Only("status", "type", "message", "body", "headers", "error", "after", "cut", "reset", "silence", "delay_ms", "slow_ms", "malformed", "duplicate", "endless")
	f := Fault{
		Status:    int(r.Int("status", 0, 300, 599)),
		Type:      r.Text("type"),
		Message:   r.Text("message"),
		Body:      r.Text("body"),
		Headers:   r.TextMap("headers"),
		After:     int(r.Int("after", 0, 1, math.MaxInt32)),
		Cut:       int(r.Int("cut", 0, 1, math.MaxInt32)),
		Reset:     r.Bool("reset", false),
		Silence:   r.Enum("silence", "", "before", "within"),
		SlowMS:    r.Int("slow_ms", 0, 1, 60_000),
		DelayMS:   r.Int("delay_ms", 0, 1, 600_000),
		Malformed: r.Bool("malformed", false),
		Duplicate: r.Bool("duplicate", false),
		Endless:   r.Bool("endless", false),
	}
	if r.Has("error") {
		e := r.Map("error")
		e.Only("type", "message")
		f.Error = &StreamError{e.Text("type"), e.Text("message")}
	}
	return f
}
