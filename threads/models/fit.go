package models

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/provider"
)

// The purposes of the calls of a test.
const (
	ForAnswer = "answer"
	ForTool   = "tool_call"
	ForResult = "tool_result"
)

// ToolName is the tool that a model is asked to call.
const ToolName = "report"

// Caller makes one call of the service that an item describes. odd are its deviations
// from the dialect, which are stated with an error too.
type Caller func(ctx context.Context, it *Item, purpose string, req message.Request) (r message.Response, odd []Deviation, err error)

// Deviation is something that a service does otherwise than its dialect.
type Deviation struct {
	Quirk string // of the item, "" if it is read without one
	Note  string // a sentence for a person
}

// Deviations returns the oddities of an answer, as a codec found them.
func Deviations(it *Item, odd []provider.Oddity) []Deviation {
	whole := slices.Contains(odd, provider.WholeBody)
	var out []Deviation
	for _, o := range odd {
		switch {
		case o == provider.NoDone && whole: // a document needs no mark
		case o == provider.WholeBody && slices.Contains(it.Quirks, noStream): // it was asked for
		default:
			out = append(out, Deviation{Quirk: o.Quirk(), Note: o.String()})
		}
	}
	return out
}

// noStream is the quirk of services that refuse streams.
const noStream = "no_stream"

// Report is the result of a test.
type Report struct {
	Notes  []string `json:"notes"`  // what the service does otherwise, in plain words
	Called bool     `json:"called"` // the model called the tool
}

// maxChanges bounds the changes of an item that one test makes.
const maxChanges = 8

// Fit calls the service and changes the item until its calls are answered: a text with a
// system message, a call of a tool, and the result of a tool. Each deviation becomes a
// note. The error is in plain words.
func Fit(ctx context.Context, it *Item, found *Found, call Caller) (*Report, error) {
	t := &fit{
		item:   it,
		found:  found,
		call:   call,
		report: &Report{Notes: []string{}},
	}
	if err := t.answer(ctx); err != nil {
		return t.report, err
	}
	if it.Model.NoTools {
		t.note("the model calls no tools, as the service states: it can write text")
		return t.report, nil
	}
	if err := t.tool(ctx); err != nil {
		return t.report, err
	}
	if t.report.Called && it.Dialect == provider.Chat && it.Tools == toolsNative {
		t.result(ctx)
	}
	return t.report, nil
}

// fit is a test in progress.
type fit struct {
	item    *Item
	found   *Found
	call    Caller
	report  *Report
	changes int
	refused bool // the service refuses tools
}

func (t *fit) note(text string) {
	if text != "" && !slices.Contains(t.report.Notes, text) {
		t.report.Notes = append(t.report.Notes, text)
	}
}

// answer asks for a text. While the dialect is a guess, an endpoint that does not exist
// leads to the next dialect.
func (t *fit) answer(ctx context.Context) error {
	_, err := t.ask(ctx, ForAnswer, t.textRequest())
	if err == nil ||
		t.found == nil ||
		t.found.Certain ||
		!t.wrongPlace(err) {
		return t.explained(err)
	}
	first := *t.item
	a := t.found.Address
	for _, dialect := range []string{provider.Chat, provider.Anthropic, provider.Responses, provider.Ollama, provider.Gemini} {
		for _, root := range a.roots() {
			url := a.Endpoint(dialect, root)
			if url == first.URL || url == t.item.URL {
				continue
			}
			*t.item = first
			t.item.Dialect = dialect
			t.item.URL = url
			t.item.AddUsage = dialect == provider.Chat
			t.item.AsHeader = headerOf(dialect, "", t.item.Key)
			_, next := t.ask(ctx, ForAnswer, t.textRequest())
			if next == nil {
				return nil
			}
			if !t.wrongPlace(next) {
				return t.explained(next)
			}
		}
	}
	*t.item = first
	return t.explained(err)
}

// wrongPlace reports whether a failure means that the endpoint does not exist.
func (t *fit) wrongPlace(err error) bool {
	var f *provider.Failure
	if !errors.As(err, &f) {
		return false
	}
	return missingPath(f.StatusCode) && !t.item.Rules.noModel.MatchString(f.Message) ||
		isPage([]byte(f.Message))
}

func (t *fit) explained(err error) error {
	if err == nil {
		return nil
	}
	return Explain(t.item, t.found, err)
}

// ask makes a call, and changes the item while the service refuses something that a
// provider item can leave out or write otherwise.
func (t *fit) ask(
	ctx context.Context,
	purpose string,
	req message.Request,
) (message.Response, error) {
	for {
		r, odd, err := t.call(ctx, t.item, purpose, req)
		learned := false
		for _, d := range odd {
			learned = d.Quirk != "" && t.item.addQuirk(d.Quirk) || learned
			t.note(d.Note)
		}
		if err == nil {
			if r.Usage.Assumed > 0 && t.item.addQuirk("no_usage") {
				t.note("it does not state how many tokens an answer has: they are estimated")
			}
			return r, nil
		}
		note := ""
		changed := learned
		if !learned { // a quirk that the answer showed may be what it needs
			note, changed = t.change(err, purpose)
		}
		if !changed || t.changes == maxChanges {
			return r, err
		}
		t.changes++
		t.note(note)
	}
}

// change changes the item by the text of a refusal.
func (t *fit) change(err error, purpose string) (note string, changed bool) {
	var f *provider.Failure
	if !errors.As(err, &f) {
		return "", false
	}
	// 401, 402, 403, 404 and 429 are not about a part of the request.
	refusal := f.StatusCode == http.StatusBadRequest ||
		f.StatusCode == http.StatusUnprocessableEntity ||
		f.StatusCode >= 500 ||
		f.StatusCode == 0
	if !refusal {
		return "", false
	}
	for _, r := range t.item.Rules.remedies {
		if r.dialect != "" && r.dialect != t.item.Dialect ||
			r.purpose != "" && r.purpose != purpose ||
			!r.text.MatchString(f.Message) {
			continue
		}
		if t.apply(r, f.Message) {
			return r.note, true
		}
	}
	return "", false
}

// apply makes the change of a remedy, and reports whether it changed something.
func (t *fit) apply(r remedy, text string) bool {
	if name, isQuirk := strings.CutPrefix(r.effect, "quirk "); isQuirk {
		return t.item.addQuirk(name)
	}
	switch r.effect {
	case noStream:
		t.item.AddUsage = false // it is for streams only
		return t.item.addQuirk(noStream)
	case "no_counts":
		had := t.item.AddUsage
		t.item.AddUsage = false
		return had
	case "other_tools":
		return t.otherTools()
	}
	return t.drop(r.fields, text)
}

// otherTools describes tools in another way than the one that was refused: a forced
// schema, which Chat Completions has, then text, which needs nothing of the service.
func (t *fit) otherTools() bool {
	switch {
	case t.item.Tools == toolsNative && t.item.Dialect == provider.Chat:
		t.refused = true
		t.item.Tools = toolsSchema
	case t.item.Tools != toolsText:
		t.refused = true
		t.item.Tools = toolsText
	default:
		return false
	}
	return true
}

// drop leaves out the first of some fields that a text names.
func (t *fit) drop(fields []string, text string) bool {
	for _, field := range fields {
		if strings.Contains(text, field) && !slices.Contains(t.item.Drop, field) {
			t.item.Drop = append(t.item.Drop, field)
			return true
		}
	}
	return false
}

// addQuirk adds a quirk and reports whether it was missing.
func (it *Item) addQuirk(name string) bool {
	if slices.Contains(it.Quirks, name) {
		return false
	}
	it.Quirks = append(it.Quirks, name)
	slices.Sort(it.Quirks)
	return true
}

// tool asks for a call of a tool.
func (t *fit) tool(ctx context.Context) error {
	r, err := t.ask(ctx, ForTool, t.toolRequest())
	if err != nil && t.item.Tools == toolsSchema {
		// The refusal of a schema is often not stated: a stream that is not the forced
		// JSON is an error of the mode.
		t.item.Tools = toolsText
		r, err = t.ask(ctx, ForTool, t.toolRequest())
	}
	if err != nil && t.refused {
		t.item.Tools = toolsNative
		t.item.Model.NoTools = true
		t.note("it refuses tools, and the model does not write its calls as text: it can write text only")
		return nil
	}
	if err != nil {
		return t.explained(err)
	}
	t.report.Called = slices.ContainsFunc(r.Blocks, func(b message.Block) bool {
		return b.Type == message.ToolCall && b.Name == ToolName
	})
	return nil
}

// result sends the result of a tool, with an id as rye gives it to calls of another
// service. A refusal that is not understood is a note: it may be the model's.
func (t *fit) result(ctx context.Context) {
	_, err := t.ask(ctx, ForResult, t.resultRequest())
	if err != nil {
		t.note("the result of a tool was refused: " + diagText(t.explained(err)))
	}
}

func diagText(err error) string {
	var typed *diag.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}

func (t *fit) request(most int64, texts ...message.Message) message.Request {
	return message.Request{
		Model:     t.item.Model.ID,
		System:    []message.Block{message.TextBlock(t.item.Rules.system)},
		Messages:  texts,
		MaxOutput: min(most, t.item.Model.MaxOutput),
		Effort:    "none",
	}
}

func user(blocks ...message.Block) message.Message {
	return message.Message{Role: message.User, Blocks: blocks}
}

func (t *fit) textRequest() message.Request {
	return t.request(t.item.Rules.answerTokens, user(message.TextBlock(t.item.Rules.answer)))
}

func (t *fit) toolRequest() message.Request {
	req := t.request(t.item.Rules.callTokens, user(message.TextBlock(t.item.Rules.call)))
	req.Tools = []message.ToolDef{Tool()}
	return req
}

// Tool is the tool that a model is asked to call.
func Tool() message.ToolDef {
	return message.ToolDef{
		Name:        ToolName,
		Description: "Reports one word.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
	}
}

func (t *fit) resultRequest() message.Request {
	const id = "call_1_1"
	asked := user(message.TextBlock(t.item.Rules.result))
	called := message.Message{Role: message.Assistant, Blocks: []message.Block{{
		Type:  message.ToolCall,
		ID:    id,
		Name:  ToolName,
		Input: json.RawMessage(`{"word":"ok"}`),
	}}}
	result := user(message.Block{Type: message.ToolResult, CallID: id, Content: []message.Block{message.TextBlock("reported")}})
	req := t.request(t.item.Rules.answerTokens, asked, called, result)
	req.Tools = []message.ToolDef{Tool()}
	return req
}
