package activity

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/threads/transcript"
)

// short returns the name of a tool as people read it: the last part of the id of a tool that
// rye brings, the id of any other.
func short(name string) string {
	name = strings.ReplaceAll(name, "__", "/")
	if strings.HasPrefix(name, "rye/") {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	return name
}

// arguments renders the arguments of a call: one as its value, several with their names.
func arguments(input json.RawMessage) string {
	parsed, _ := jsonx.ParseMessage(input)
	args, ok := parsed.(map[string]any)
	if !ok {
		return string(input)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(args)) {
		text, isText := args[k].(string)
		if !isText {
			raw, _ := jsonx.Marshal(args[k])
			text = string(raw)
		}
		if len(args) > 1 {
			text = k + "=" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func (t *Tree) call(l *transcript.Line) []Change {
	var d struct {
		CallID string          `json:"call_id"`
		Name   string          `json:"name"`
		Ref    string          `json:"ref"`
		Input  json.RawMessage `json:"input"`

		Decision string `json:"decision"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	b := t.calls[d.CallID]
	if b != nil && b.State == Denied && d.Decision == "refused" { // the line that is recorded for its result
		return nil
	}
	if b == nil {
		b = &Block{
			Kind:  Call,
			ID:    d.CallID,
			Log:   t.ID,
			Depth: t.Depth,
		}
		t.calls[d.CallID] = b
	}
	if b.Title == "" { // else without the defaults of the tool
		b.Title, b.Args = short(d.Name), arguments(d.Input)
	}
	switch {
	case b.Number == 0:
		t.number++
		b.Number = t.number
		t.begins(b)
	case b.State != Open: // the call of a process that was stopped is made again
		t.live = append(t.live, b)
	}
	b.State, b.Began, b.Ended, b.Text, b.refused = Open, l.At(), time.Time{}, "", d.Decision == "refused"
	if d.Ref == childTool {
		b.AtOnce = 1 // its first line is the id of a thread
	}
	return []Change{{Block: b}}
}

func (t *Tree) output(l *transcript.Line) []Change {
	var d struct {
		CallID string `json:"call_id"`
		Text   string `json:"text"`
	}
	b := (*Block)(nil)
	if l.Decode(&d) == nil {
		b = t.calls[d.CallID]
	}
	if b == nil {
		return nil
	}
	id, isThread := strings.CutPrefix(d.Text, "thread ")
	if isThread && b.AtOnce == 1 {
		b.AtOnce = 0
		c := t.block(Child, l)
		c.ID = id
		c.Title = b.Title
		c.Args = b.Args
		t.asked[b.ID] = c
		t.open(id)
		return []Change{{Block: c}}
	}
	if strings.HasPrefix(d.Text, `{"success":`) { // the result of a tool that rye brings
		return nil
	}
	b.print(d.Text, t.kept)
	return []Change{{Block: b}}
}

func (t *Tree) deny(l *transcript.Line) []Change {
	var d struct {
		CallID  string `json:"call_id"`
		Ref     string `json:"ref"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	b := t.calls[d.CallID]
	if b != nil && !b.Ended.IsZero() { // a hook of the project denied it: its result is recorded first
		return nil
	}
	if b == nil {
		b = &Block{
			Kind:  Call,
			ID:    d.CallID,
			Log:   t.ID,
			Depth: t.Depth,
		}
		t.calls[d.CallID] = b
	}
	if b.Title == "" {
		b.Title = short(cmp.Or(
			strings.TrimPrefix(d.Ref, "tool:"),
			"call "+d.CallID,
		))
	}
	if b.Number == 0 {
		t.number++
		b.Number = t.number
		t.begins(b)
	}
	if b.Began.IsZero() {
		b.Began = l.At()
	}
	b.Text = d.Code + ": " + d.Message
	return []Change{t.ended(b, Denied, l)}
}

func (t *Tree) result(l *transcript.Line) []Change {
	var d struct {
		CallID   string `json:"call_id"`
		Ref      string `json:"ref"`
		IsError  bool   `json:"is_error"`
		Duration int64  `json:"duration_ms"`
		Content  []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	b := t.calls[d.CallID]
	if b == nil { // another process had begun it
		b = &Block{
			Kind:  Call,
			ID:    d.CallID,
			Log:   t.ID,
			Depth: t.Depth,
			Title: short(strings.TrimPrefix(d.Ref, "tool:")),
			Began: l.At().Add(-time.Duration(d.Duration) * time.Millisecond),
		}
		t.calls[d.CallID] = b
		t.begins(b)
	}
	if b.State == Denied {
		return nil
	}
	state := Done
	text := ""
	if len(d.Content) > 0 {
		text = d.Content[0].Text
	}
	if d.IsError {
		state = Failed
		b.Text = reason(d.Ref, text)
		if b.refused && strings.HasPrefix(b.Text, string(diag.PolicyDenied)+": ") {
			state = Denied
		}
	}
	if text = output(text, d.IsError); b.Title != returnTool && strings.TrimSpace(text) != "" {
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		b.Printed, b.Output = len(lines), slices.Clone(
			lines[max(0, len(lines)-min(t.kept, len(lines))):],
		)
	}
	out := []Change{t.ended(b, state, l)}
	b.Began = l.At().Add(-time.Duration(d.Duration) * time.Millisecond)
	c := t.asked[d.CallID]
	if c != nil && c.Kind == Child {
		delete(t.asked, d.CallID)
		if sub := t.below[c.ID]; sub != nil {
			c.Text = sub.State
			c.Spent = sub.Spent
		}
		out = append([]Change{t.ended(c, state, l)}, out...)
	}
	return out
}

// returnTool takes the outputs of a directive. Its result is the end of the thread.
const returnTool = "directive_return"

// output returns the output of a tool from the result that the model reads: the member of an
// object with it, and without the first line of a failed call, which is why it failed.
func output(text string, failed bool) string {
	if strings.HasPrefix(text, "{") {
		parsed, _ := jsonx.ParseMessage([]byte(text))
		data, _ := parsed.(map[string]any)
		for _, key := range []string{"output", "stdout", "text"} {
			if s, ok := data[key].(string); ok {
				return s
			}
		}
		if failed {
			return ""
		}
		return text
	}
	if failed {
		_, text, _ = strings.Cut(text, "\n")
		return strings.TrimLeft(text, "\n")
	}
	if text == "[exit status 0, no output]" {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(text, "\n"), "\n[exit status 0]")
}

// reason returns why a call failed, from what the model reads.
func reason(ref, text string) string {
	code, why := resulttext.Code(text)
	if rest, ok := strings.CutPrefix(why, "running "+ref+": "); ok {
		why = rest // the line has it
	}
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	if why == "" {
		return ""
	}
	status, ok := strings.CutPrefix(strings.TrimPrefix(why, "the command failed: "), "exit status ")
	if ok && strings.Trim(status, "0123456789") == "" {
		return "exit " + status
	}
	if code != "" && code != string(diag.ExecutionFailed) {
		why = code + ": " + why
	}
	return why
}
