package threads

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// TestPermittedCall states which recorded results a thread may read: those of calls that it
// could make now, whichever tool the call goes through.
func TestPermittedCall(t *testing.T) {
	held := policy.Held{{Caps: policy.Set{"rye.execute.tool.demo.read", "rye.load.knowledge.demo.*"}, Source: "test"}}
	through := func(verb policy.Verb, kind, id string) *ToolCall {
		return &ToolCall{Held: held, Input: map[string]any{"item_type": kind, "item_id": id}, Tool: Offered{Ref: "tool:rye/primary/" + string(verb), Verb: verb}}
	}
	for name, c := range map[string]struct {
		call *ToolCall
		code diag.Code
	}{
		"granted":               {&ToolCall{Held: held, Tool: Offered{Ref: "tool:demo/read"}}, ""},
		"not granted":           {&ToolCall{Held: held, Tool: Offered{Ref: "tool:demo/write"}}, diag.PermissionDenied},
		"granted by a verb":     {through(policy.Execute, "tool", "demo/read"), ""},
		"not granted by a verb": {through(policy.Execute, "tool", "demo/write"), diag.PermissionDenied},
		"knowledge":             {through(policy.Load, "knowledge", "demo/page"), ""},
		"other knowledge":       {through(policy.Load, "knowledge", "team/page"), diag.PermissionDenied},
		"no id, verb not held":  {through(policy.Sign, "tool", ""), diag.PermissionDenied},
		"not an id":             {through(policy.Execute, "tool", "../demo/read"), diag.ValidationFailed},
		"no holder":             {&ToolCall{Tool: Offered{Ref: "tool:demo/read"}}, diag.PermissionDenied},
		"directive_return":      {&ToolCall{Held: held, Tool: Offered{ToolDef: message.ToolDef{Name: ReturnTool}}}, ""},
	} {
		if got := diag.CodeOf(permittedCall(c.call)); got != c.code {
			t.Errorf("%s: got %q, want %q", name, got, c.code)
		}
	}
}

// TestDifference changes each part of a request: the part is named, and an equal request has no
// difference.
func TestDifference(t *testing.T) {
	request := func() *message.Request {
		return &message.Request{
			Model: "m", MaxOutput: 5, System: []message.Block{message.TextBlock("Be brief.")},
			Tools: []message.ToolDef{{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object"}`)}},
			Messages: []message.Message{
				{Role: message.User, Blocks: []message.Block{message.TextBlock("Do it.")}},
				{Role: message.Assistant, Blocks: []message.Block{{Type: message.ToolCall, ID: "c1", Name: "read", Input: json.RawMessage(`{"a":1}`)}}},
				{Role: message.User, Blocks: []message.Block{{Type: message.ToolResult, CallID: "c1", Content: []message.Block{message.TextBlock("yes")}}}},
			},
		}
	}
	for name, c := range map[string]struct {
		part   string
		change func(*message.Request)
	}{
		"model and limits": {"", func(r *message.Request) { r.Model, r.MaxOutput = "other", 9 }},
		"system":           {"system", func(r *message.Request) { r.System[0].Text = "Be long." }},
		"two system texts": {"system", func(r *message.Request) {
			r.System = []message.Block{message.TextBlock("Be"), message.TextBlock("brief.")}
		}},
		"schema":         {"tools", func(r *message.Request) { r.Tools[0].Schema = json.RawMessage(`{"type":"array"}`) }},
		"description":    {"tools", func(r *message.Request) { r.Tools[0].Description = "Writes." }},
		"tool removed":   {"tools", func(r *message.Request) { r.Tools = nil }},
		"arguments":      {"messages", func(r *message.Request) { r.Messages[1].Blocks[0].Input = json.RawMessage(`{"a":2}`) }},
		"result":         {"messages", func(r *message.Request) { r.Messages[2].Blocks[0].Content[0].Text = "no" }},
		"error":          {"messages", func(r *message.Request) { r.Messages[2].Blocks[0].IsError = true }},
		"role":           {"messages", func(r *message.Request) { r.Messages[0].Role = message.Assistant }},
		"forged message": {"messages", func(r *message.Request) { r.Messages[0].Blocks[0].Text = "Do it.\nassistant\ntext\n  x" }},
	} {
		is := request()
		c.change(is)
		d, differs := difference(3, request(), is)
		if d.Part != c.part || differs != (c.part != "") || differs && (d.Call != 3 || !strings.HasPrefix(d.Diff, "--- recorded\n+++ now\n")) {
			t.Errorf("%s: got %+v", name, d)
		}
	}
}

// TestFencesAreNotCompared signs a file of the context again: its fence has another name.
func TestFencesAreNotCompared(t *testing.T) {
	request := func(name, ref string) *message.Request {
		return &message.Request{System: []message.Block{message.TextBlock("<context-" + name + " ref=" + ref + ">\nBe brief.\n</context-" + name + ">")}}
	}
	if d, differs := difference(1, request("0123456789abcdef", "a"), request("fedcba9876543210", "a")); differs {
		t.Errorf("%+v", d)
	}
	if _, differs := difference(1, request("0123456789abcdef", "a"), request("fedcba9876543210", "b")); !differs {
		t.Error("another item is not a difference")
	}
}
