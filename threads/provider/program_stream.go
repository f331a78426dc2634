package provider

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// ownTool is the beginning of the names of the thread's tools in the events of claude.
const ownTool = "mcp__" + ServerName + "__"

// claudeStream reads the events of claude -p --output-format stream-json.
type claudeStream struct {
	origin wire
	model  string
	did    did
	text   string            // of the newest message, which may be the answer
	counts map[string]counts // by the id of a message, until the result has the sum
	usage  counts
	stop   string
	done   bool
}

type claudeEvent struct {
	Type    string          `json:"type"`
	Subtype string          `json:"subtype"`
	Tools   []string        `json:"tools"`
	Message claudeMessage   `json:"message"`
	IsError bool            `json:"is_error"`
	Result  string          `json:"result"`
	Errors  []string        `json:"errors"`
	Stop    string          `json:"stop_reason"`
	Usage   json.RawMessage `json:"usage"`
	Servers []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
}

type claudeMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Usage   json.RawMessage `json:"usage"`
}

// claudeCounts reads a usage; none is nil.
func claudeCounts(raw []byte) *counts {
	f, err := readFields(raw)
	if err != nil {
		return nil
	}
	u := anthropicUsage{}
	u.update(object(append(fields{}, field{"input_tokens", f.get("input_tokens")}, field{"output_tokens", f.get("output_tokens")},
		field{"cache_read_input_tokens", f.get("cache_read_input_tokens")}, field{"cache_creation_input_tokens", f.get("cache_creation_input_tokens")},
		field{"cache_creation", f.get("cache_creation")})...))
	c := u.counts()
	return &c
}

func (s *claudeStream) event(e httpx.Event) ([]message.Delta, error) {
	var ev claudeEvent
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		return nil, malformed("an event of claude: %v", err)
	}
	switch {
	case s.done:
		return nil, nil
	case ev.Type == "system" && ev.Subtype == "init":
		return nil, s.start(&ev)
	case ev.Type == "assistant":
		return s.assistant(&ev)
	case ev.Type == "user":
		s.results(ev.Message.Content)
	case ev.Type == "result":
		return nil, s.result(&ev)
	}
	return nil, nil
}

// start checks what the program can use.
func (s *claudeStream) start(ev *claudeEvent) error {
	for _, name := range ev.Tools {
		if !strings.HasPrefix(name, ownTool) {
			return foreign("the tool " + short(name))
		}
	}
	for _, server := range ev.Servers {
		if server.Name != ServerName {
			return foreign("the MCP server " + short(server.Name))
		}
		if server.Status != "connected" && server.Status != "pending" {
			return &serviceError{Message: "the program did not reach the tools of the thread: their MCP server is " + short(server.Status)}
		}
	}
	return nil
}

func (s *claudeStream) assistant(ev *claudeEvent) ([]message.Delta, error) {
	msg := ev.Message
	if c := claudeCounts(msg.Usage); c != nil && msg.ID != "" {
		if s.counts == nil {
			s.counts = map[string]counts{}
		}
		s.counts[msg.ID] = *c // each event of a message has its counts
		s.sum()
	}
	s.model = cmp.Or(msg.Model, s.model)
	var out []message.Delta
	for _, raw := range elements(msg.Content) {
		block, err := readFields(raw)
		if err != nil {
			return nil, malformed("a block of claude: %v", err)
		}
		switch block.text("type") {
		case "text":
			if s.text != "" {
				s.did.add("text", s.text)
			}
			s.text = block.text("text")
			out = append(out, watch(message.DeltaText, s.text, "")...)
		case "thinking":
			out = append(out, watch(message.DeltaReasoning, block.text("thinking"), "")...)
		case "tool_use", "server_tool_use":
			name, isOwn := strings.CutPrefix(block.text("name"), ownTool)
			if !isOwn {
				return nil, foreign("a call of " + short(name))
			}
			if s.text != "" {
				s.did.add("text", s.text)
				s.text = ""
			}
			s.did.call(name, block.get("input"))
		}
	}
	return out, nil
}

func (s *claudeStream) sum() {
	s.usage = counts{input: true, output: true}
	for _, u := range s.counts {
		s.usage.Usage = s.usage.Add(u.Usage)
		s.usage.input = s.usage.input && u.input
		s.usage.output = s.usage.output && u.output
	}
}

// results keeps the results of calls for the next start.
func (s *claudeStream) results(content []byte) {
	for _, raw := range elements(content) {
		block, err := readFields(raw)
		if err != nil || block.text("type") != "tool_result" {
			continue
		}
		text := block.text("content")
		for _, part := range elements(block.get("content")) {
			if f, err := readFields(part); err == nil {
				text += f.text("text")
			}
		}
		s.did.add("result", text)
	}
}

func (s *claudeStream) result(ev *claudeEvent) error {
	if c := claudeCounts(ev.Usage); c != nil {
		s.usage = *c
	}
	if ev.IsError || ev.Subtype != "success" {
		text := cmp.Or(ev.Result, strings.Join(ev.Errors, "; "), "the program failed: "+ev.Subtype)
		return &serviceError{Type: short(ev.Subtype), Message: short(text)}
	}
	s.text = cmp.Or(ev.Result, s.text)
	s.stop = ev.Stop
	s.done = true
	return nil
}

func (s *claudeStream) end() (message.Response, error) {
	if !s.done {
		return message.Response{}, incomplete("the event result")
	}
	r := programResponse(s.origin, &s.did, s.text, s.model, s.usage.Usage)
	switch stops()[s.stop] { // newer versions state it; the calls are made
	case message.StopMaxOutput:
		r.Stop = message.StopMaxOutput
		r.StopRaw = s.stop
	case message.StopRefusal:
		r.Stop = message.StopRefusal
		r.StopRaw = s.stop
	}
	return r, nil
}

func (s *claudeStream) seen() counts {
	return s.usage
}

// programResponse returns the answer of a program.
func programResponse(origin wire, steps *did, text, model string, u message.Usage) message.Response {
	r := message.Response{
		Stop:    message.StopEnd,
		StopRaw: "end",
		Model:   model,
		Usage:   u,
	}
	if b, any := steps.block(origin); any {
		r.Blocks = append(r.Blocks, b)
	}
	if text != "" {
		r.Blocks = append(r.Blocks, message.TextBlock(text))
	}
	return r
}

// codexStream reads the events of codex exec --json.
type codexStream struct {
	origin wire
	did    did
	text   string
	usage  counts
	done   bool
}

type codexEvent struct {
	Type string `json:"type"`
	Item struct {
		Type      string                   `json:"type"`
		Text      string                   `json:"text"`
		Message   string                   `json:"message"`
		Server    string                   `json:"server"`
		Tool      string                   `json:"tool"`
		Arguments json.RawMessage          `json:"arguments"`
		Result    json.RawMessage          `json:"result"`
		Error     struct{ Message string } `json:"error"`
	} `json:"item"`
	Usage   json.RawMessage          `json:"usage"`
	Error   struct{ Message string } `json:"error"`
	Message string                   `json:"message"`
}

func (s *codexStream) event(e httpx.Event) ([]message.Delta, error) {
	var ev codexEvent
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		return nil, malformed("an event of codex: %v", err)
	}
	switch ev.Type {
	case "item.started", "item.updated", "item.completed":
		return s.item(&ev)
	case "turn.completed":
		if f, err := readFields(ev.Usage); err == nil {
			var c counted
			t := totals{
				input:     c.read(f, "input_tokens"),
				cached:    c.read(f, "cached_input_tokens"),
				written:   c.read(f, "cache_write_input_tokens"),
				output:    c.read(f, "output_tokens"),
				reasoning: c.read(f, "reasoning_output_tokens"),
			}
			t.doubtful = c.doubtful
			s.usage = t.counts()
		}
		s.done = true
	case "turn.failed":
		return nil, &serviceError{Message: short(cmp.Or(ev.Error.Message, "the turn failed"))}
	}
	return nil, nil // "error" is followed by turn.failed, or by another attempt
}

func (s *codexStream) item(ev *codexEvent) ([]message.Delta, error) {
	it := &ev.Item
	switch it.Type {
	case "agent_message":
		if ev.Type != "item.completed" {
			return nil, nil
		}
		if s.text != "" {
			s.did.add("text", s.text)
		}
		s.text = it.Text
		return watch(message.DeltaText, it.Text, ""), nil
	case "reasoning":
		if ev.Type != "item.completed" {
			return nil, nil
		}
		return watch(message.DeltaReasoning, it.Text, ""), nil
	case "mcp_tool_call":
		if isListing(it.Server, it.Tool, it.Arguments) {
			return nil, nil
		}
		if it.Server != ServerName {
			return nil, foreign("a call of the MCP server " + short(it.Server))
		}
		if ev.Type == "item.completed" {
			if s.text != "" {
				s.did.add("text", s.text)
				s.text = ""
			}
			s.did.call(it.Tool, it.Arguments)
			s.did.add("result", cmp.Or(
				s.resultText(it.Result),
				it.Error.Message,
			))
		}
	case "todo_list", "error", "":
	default: // command_execution, file_change, web_search and what later versions add
		return nil, foreign("the tool " + short(it.Type))
	}
	return nil, nil
}

// isListing returns whether a call is one of those that codex makes itself, that cannot be
// switched off, and that reach the server of the thread only: it has no resources.
func isListing(server, tool string, arguments []byte) bool {
	var args struct{ Server string }
	ok := len(arguments) == 0 || json.Unmarshal(arguments, &args) == nil
	return ok && server == "codex" && (args.Server == "" || args.Server == ServerName) &&
		slices.Contains([]string{"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}, tool)
}

func (s *codexStream) resultText(raw []byte) string {
	text := ""
	if f, err := readFields(raw); err == nil {
		for _, part := range elements(f.get("content")) {
			if p, err := readFields(part); err == nil {
				text += p.text("text")
			}
		}
	}
	return text
}

func (s *codexStream) end() (message.Response, error) {
	if !s.done {
		return message.Response{}, incomplete("the event turn.completed")
	}
	return programResponse(
		s.origin,
		&s.did,
		s.text,
		s.origin.model,
		s.usage.Usage,
	), nil
}

func (s *codexStream) seen() counts {
	return s.usage
}
