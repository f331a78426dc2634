package threads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Recording is the log of a thread. A second thread gets its answers in place of a model's.
// It is for one thread.
// It has no chain, times and costs: a redacted transcript no longer has the hashes that its
// checkpoints sign.
type Recording struct {
	ID      string
	Started *Started

	lines   []transcript.Line
	results map[string]*recordedResult // of the calls of the model
	then    *Thread                    // the recorded thread up to the line at
	at      int
	taken   int // the lines before it that made a conversation shorter were taken
	keys    []string
	answers int64
}

// Replay is how a thread is answered from a recording.
type Replay struct {
	*Recording
	// Strict makes a request that differs from the recorded one an error.
	Strict bool
	// RunTools runs the calls of tools. They are answered from the recording otherwise.
	RunTools bool
	// Differs receives each request that differs from the recorded one. It may be nil.
	Differs func(Difference)
	// Clean changes the JSON form of a request before it is compared: it removes from it what
	// was removed from the recording. Nil changes nothing.
	Clean func([]byte) ([]byte, error)
}

// Difference states how a request differs from the recorded one.
type Difference struct {
	Call int64  `json:"call"`           // of the model, from 1
	Part string `json:"part"`           // the first part that differs: system, tools or messages
	Tool string `json:"tool,omitempty"` // that differs first, or whose result does
	Diff string `json:"diff"`           // in the unified format
}

// ReadRecording reads the log of a thread to replay it. It does not verify the log: what the
// log states permits nothing.
func ReadRecording(project, id string) (*Recording, error) {
	s, err := ReadStarted(project, id)
	if err != nil {
		return nil, err
	}
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	return newRecording(project, id, s, lines)
}

func newRecording(project, id string, s *Started, lines []transcript.Line) (*Recording, error) {
	r := &Recording{
		ID:      id,
		Started: s,
		lines:   lines,
		results: map[string]*recordedResult{},
	}
	r.then = newThread(id, Params{Project: project, Services: []*Service{{}}, Source: func(string) string { return "" }})
	for i := range lines {
		if lines[i].Event != evResult {
			continue
		}
		var d resultData
		data, err := dataOf(project, id, &lines[i])
		if err == nil {
			err = into(data, &d)
		}
		if err != nil {
			return nil, r.broken(&lines[i], err)
		}
		if d.By == "" {
			r.results[d.CallID] = &recordedResult{d.IsError, d.Content}
		}
	}
	return r, nil
}

// Attachments returns the images and files of the first message of the recording.
func (r *Recording) Attachments() ([]message.Block, error) {
	if r.Started.Attachments != nil {
		return r.Started.Attachments, nil
	}
	for i := range r.lines {
		if r.lines[i].Event != evPrompt {
			continue
		}
		data, err := dataOf(r.then.p.Project, r.ID, &r.lines[i])
		var p Prompt
		if err == nil {
			err = into(data, &p)
		}
		if err != nil {
			return nil, r.broken(&r.lines[i], err)
		}
		return slices.DeleteFunc(p.Message.Blocks, func(b message.Block) bool {
			return !b.IsMedia() && !strings.HasPrefix(b.Text, "<file-")
		}), nil
	}
	return nil, nil
}

// Environment returns the system text about the machine of the recording, "" without one.
func (r *Recording) Environment() string {
	for i := range r.lines {
		if r.lines[i].Event != evPrompt {
			continue
		}
		var p Prompt
		data, err := dataOf(r.then.p.Project, r.ID, &r.lines[i])
		if err != nil || into(data, &p) != nil {
			return "" // reading the requests reports it
		}
		for _, s := range p.System {
			if s.Source == message.EnvironmentSource {
				return s.Text
			}
		}
	}
	return ""
}

func (r *Recording) broken(l *transcript.Line, err error) error {
	return diag.New(diag.TranscriptBroken, "reading the recording %s: line %d: %w", r.ID, l.Seq, err)
}

// next returns the next recorded answer with the request that it answered, and nil at the
// end of the recording. Failed attempts are not in either.
func (r *Recording) next() (*message.Request, *message.Response, error) {
	for r.at < len(r.lines) {
		l := &r.lines[r.at]
		r.at++
		data, err := dataOf(r.then.p.Project, r.ID, l)
		var d responseData
		if err == nil && l.Event == evResponse {
			err = into(data, &d)
		}
		var req *message.Request
		if err == nil {
			if l.Event == evResponse && !d.Aside {
				req = r.then.request(&Service{})
			}
			err = r.then.line(l.Event, data, &r.keys)
		}
		if err != nil {
			return nil, nil, r.broken(l, err)
		}
		if req != nil {
			r.answers++
			return req, &message.Response{
				Blocks:  d.Blocks,
				Stop:    d.Stop,
				StopRaw: d.StopRaw,
				Usage:   d.Usage,
				Model:   d.Model,
			}, nil
		}
	}
	return nil, nil, nil
}

// AsRecorded makes the conversation of a replay shorter where the recording did, and returns
// the last action: compact.None if none, and compact.Continue at the end of the recording.
func (t *Thread) AsRecorded(ctx context.Context, node string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	step, err := t.asRecorded(ctx, node)
	if err == nil && step == compact.None && t.p.Replay.Unused() == 0 {
		step = compact.Continue
	}
	return step, err
}

// asRecorded takes what the recording has before its next answer.
func (t *Thread) asRecorded(ctx context.Context, node string) (string, error) {
	r := t.p.Replay
	step := compact.None
	for i := r.at; i < len(r.lines) && r.lines[i].Event != evResponse; i++ {
		if r.lines[i].Event != evCompacted || i < r.taken {
			continue
		}
		var d compactedData
		data, err := dataOf(r.then.p.Project, r.ID, &r.lines[i])
		if err == nil {
			err = into(data, &d)
		}
		if err != nil {
			return "", r.broken(&r.lines[i], err)
		}
		r.taken = i + 1
		step = d.Step
		d.Key = node
		d.Threads = nil
		d.Spend = 0
		t.shorten(&d)
		if err := t.record(ctx, true, evCompacted, d); err != nil {
			return "", err
		}
	}
	return step, nil
}

// replayed is the Caller of a thread that has a recording: no service is called.
func (t *Thread) replayed(
	_ context.Context,
	req *message.Request,
	onDelta func(message.Delta),
) (*message.Response, error) {
	r := t.p.Replay
	was, resp, err := r.next()
	if err != nil {
		return nil, t.mismatched(err)
	}
	if resp == nil {
		return nil, t.mismatched(diag.New(diag.ReplayMismatch, "replaying %s: the recording answers %d calls of the model, and this thread makes one more", r.ID, r.answers).
			WithDetail("recording", r.ID).WithDetail("call", r.answers+1))
	}
	d, differs, err := r.compare(was, req)
	if err != nil {
		return nil, t.mismatched(err)
	}
	if differs {
		if r.Differs != nil {
			r.Differs(d)
		}
		if r.Strict {
			return nil, t.mismatched(diag.New(
				diag.ReplayMismatch,
				"replaying %s: call %d of the model differs from the recorded one in its %s",
				r.ID,
				d.Call,
				d.Part,
			).
				WithDetail("recording", r.ID).
				WithDetail("call", d.Call).
				WithDetail("part", d.Part))
		}
	}
	if text := resp.Text(); text != "" && onDelta != nil {
		onDelta(message.Delta{Kind: message.DeltaText, Text: text})
	}
	return resp, nil
}

// compare compares a recorded request with one of now, as Clean leaves it.
func (r *Replay) compare(was, is *message.Request) (Difference, bool, error) {
	if r.Clean != nil {
		raw, err := jsonx.Marshal(is)
		if err == nil {
			raw, err = r.Clean(raw)
		}
		cleaned := &message.Request{}
		if err == nil {
			err = json.Unmarshal(raw, cleaned)
		}
		if err != nil {
			return Difference{}, false, diag.New(diag.Internal, "comparing with the recording %s: %w", r.ID, err)
		}
		is = cleaned
	}
	d, differs := difference(r.answers, was, is)
	return d, differs, nil
}

// mismatched ends the thread: a loop that repeats a failed call would get the next answer of
// the recording for it.
func (t *Thread) mismatched(err error) error {
	t.stop(err)
	return err
}

// replayTool answers a call of a tool from the recording. The call must be permitted as if it
// were run; approvals and hooks of the user are not repeated, because nothing starts.
func (t *Thread) replayTool(_ context.Context, c *ToolCall) (*ToolResult, error) {
	if err := permittedCall(c); err != nil {
		return nil, err
	}
	was := t.p.Replay.results[c.ID]
	if was == nil {
		return nil, t.mismatched(diag.New(
			diag.ReplayMismatch,
			"replaying %s: the recording has no result of the call %q of %s",
			t.p.Replay.ID,
			c.ID,
			c.Tool.Name,
		).
			WithDetail("recording", t.p.Replay.ID).WithDetail("call_id", c.ID))
	}
	err := c.Start(
		c.Tool.Ref,
		c.Tool.Digest,
		c.Tool.Tier.String(),
		"recorded",
	)
	if err != nil {
		return nil, err
	}
	return &ToolResult{Blocks: was.content, IsError: was.isError, replayed: true}, nil
}

// permittedCall returns an error if the caller lacks the capability for a call. For one of the
// verbs it is that for the item in the arguments.
func permittedCall(c *ToolCall) error {
	if c.Tool.Ref == "" {
		return nil // directive_return and rye_artifact
	}
	verb := policy.Execute
	name := c.Tool.Ref
	kind := item.Tool
	if c.Tool.Verb != "" {
		verb = c.Tool.Verb
		name, _ = c.Input["item_id"].(string)
		if k, _ := c.Input["item_type"].(string); k != "" {
			kind = item.Kind(k)
		}
		if name == "" {
			return c.Held.AllowsAny(verb)
		}
	}
	ref, err := item.ParseRef(name, kind)
	if err != nil {
		return diag.New(diag.ValidationFailed, "reading the call of %s: %w", c.Tool.Name, err)
	}
	return c.Held.Allows(verb, ref)
}

// recordedReturn returns the recorded refusal of directive_return, nil if it was accepted: the
// checks of the outputs are tools, which a replay does not start.
func (t *Thread) recordedReturn(callID string) *ToolResult {
	if !t.answersTools() {
		return nil
	}
	was := t.p.Replay.results[callID]
	if was != nil && was.isError {
		return &ToolResult{Blocks: was.content, IsError: true, replayed: true}
	}
	return nil
}

// answersTools reports whether the calls of tools are answered from a recording.
func (t *Thread) answersTools() bool {
	return t.p.Replay != nil && !t.p.Replay.RunTools
}

// difference compares two requests by what the model reads: system text, tools and messages.
func difference(call int64, was, is *message.Request) (Difference, bool) {
	old := parts(was)
	now := parts(is)
	for i := range old {
		old[i], now[i] = unfenced(old[i]), unfenced(now[i])
	}
	var before, after bytes.Buffer
	first := ""
	for i, name := range []string{"system", "tools", "messages"} {
		if first == "" && old[i] != now[i] {
			first = name
		}
		fmt.Fprintf(&before, "# %s\n%s", name, old[i])
		fmt.Fprintf(&after, "# %s\n%s", name, now[i])
	}
	if first == "" {
		return Difference{}, false
	}
	return Difference{
		Call: call,
		Part: first,
		Tool: changedTool(first, was, is),
		Diff: linediff.Unified("recorded", "now", before.Bytes(), after.Bytes()),
	}, true
}

// fenceName is the name of an element around a text in the prompt. It begins with the digest of a
// file with its signature, which changes when the file is signed again.
var fenceName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(</?context-)[0-9a-f]{16}\b`)
})

func unfenced(text string) string {
	if !strings.Contains(text, "context-") {
		return text
	}
	return fenceName().ReplaceAllString(text, "${1}…")
}

// changedTool returns the first tool whose definition differs, or whose result does.
func changedTool(part string, was, is *message.Request) string {
	switch part {
	case "tools":
		for i := range max(len(was.Tools), len(is.Tools)) {
			switch {
			case i >= len(was.Tools):
				return is.Tools[i].Name
			case i >= len(is.Tools) || definition(&was.Tools[i]) != definition(&is.Tools[i]):
				return was.Tools[i].Name
			}
		}
	case "messages":
		then := resultsOf(was)
		now := resultsOf(is)
		for i := range min(len(then), len(now)) {
			if then[i] != now[i] {
				return then[i].name
			}
		}
	}
	return ""
}

// namedResult is the rendered result of a call of a tool.
type namedResult struct{ name, text string }

func resultsOf(req *message.Request) (out []namedResult) {
	names := map[string]string{}
	for _, m := range req.Messages {
		for i := range m.Blocks {
			switch b := &m.Blocks[i]; b.Type {
			case message.ToolCall:
				names[b.ID] = b.Name
			case message.ToolResult:
				var w strings.Builder
				writeBlock(&w, b)
				out = append(out, namedResult{names[b.CallID], w.String()})
			}
		}
	}
	return out
}

func definition(d *message.ToolDef) string {
	return fmt.Sprintf(
		"tool %s\n%s%s",
		d.Name,
		indented(d.Description),
		indented(pretty(d.Schema)),
	)
}

// parts renders system text, tools and messages of a request as lines, so that a difference
// of one line is one line. Each text begins with its kind and is indented: a text cannot look
// like the beginning of the next.
func parts(req *message.Request) (out [3]string) {
	var system, tools, messages strings.Builder
	for i := range req.System {
		writeBlock(&system, &req.System[i])
	}
	for i := range req.Tools {
		tools.WriteString(definition(&req.Tools[i]))
	}
	for _, m := range req.Messages {
		fmt.Fprintf(&messages, "%s\n", m.Role)
		for i := range m.Blocks {
			writeBlock(&messages, &m.Blocks[i])
		}
	}
	return [3]string{system.String(), tools.String(), messages.String()}
}

func writeBlock(w *strings.Builder, b *message.Block) {
	switch {
	case b.Type == message.Text && b.Raw == nil:
		w.WriteString("text\n" + indented(b.Text))
	case b.Type == message.ToolResult:
		fmt.Fprintf(w, "result of %s, error: %t\n", b.CallID, b.IsError)
		for i := range b.Content {
			writeBlock(w, &b.Content[i])
		}
	default:
		raw, err := jsonx.Marshal(b)
		if err != nil {
			raw = []byte(err.Error()) // a block without a JSON form differs from every other
		}
		w.WriteString(string(b.Type) + "\n" + indented(pretty(raw)))
	}
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}

// pretty returns JSON with one value on each line and sorted keys, or text that is not JSON
// as it is.
func pretty(raw json.RawMessage) string {
	v, fs := jsonx.ParseMessage(raw)
	if len(fs) > 0 {
		return string(raw)
	}
	b, err := jsonx.MarshalIndent(v)
	if err != nil {
		return string(raw)
	}
	return strings.TrimSuffix(string(b), "\n")
}
