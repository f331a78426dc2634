package provider

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

// TestBeginnings encodes ten turns of a conversation, each longer than the one before and
// with a smaller maximum of the answer. Services cache by the beginning of a request, so at
// least 98 % of the bytes of each must begin the next one.
func TestBeginnings(t *testing.T) {
	for _, name := range []string{"anthropic", "openai", "openai_chat", "gemini", "ollama_chat", "vllm"} {
		t.Run(name, func(t *testing.T) {
			c := shipped(t, name)
			req := message.Request{
				Model:     firstModel(c),
				System:    []message.Block{message.TextBlock(strings.Repeat("You work in a project. ", 60))},
				Messages:  []message.Message{{Role: message.User, Blocks: []message.Block{message.TextBlock("Read the files.")}}},
				MaxOutput: 4000,
				CacheKey:  "work-01",
			}
			for i := range 10 {
				req.Tools = append(req.Tools, message.ToolDef{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("It reads. ", 20), Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
			}
			var last []byte
			for turn := range 10 {
				body, err := c.Encode(req)
				if err != nil {
					t.Fatal(err)
				}
				same := 0
				for same < min(len(last), len(body)) && last[same] == body[same] {
					same++
				}
				if share := float64(same) / float64(max(len(last), 1)); turn > 0 && share < 0.98 {
					t.Errorf("turn %d: %.3f of the request before are its beginning: %s", turn, share, body[same:min(same+200, len(body))])
				}
				last = body
				id := fmt.Sprintf("call_%d", turn)
				req.Messages = append(req.Messages,
					message.Message{Role: message.Assistant, Blocks: []message.Block{{Type: message.ToolCall, ID: id, Name: "tool_1", Input: json.RawMessage(`{"path":"a.md"}`)}}},
					message.Message{Role: message.User, Blocks: []message.Block{{Type: message.ToolResult, CallID: id, Content: []message.Block{message.TextBlock("The file is empty.")}}}})
				req.MaxOutput -= 100
			}
		})
	}
}

// firstModel returns the first model of an item, by its name.
func firstModel(c *Config) string {
	for _, id := range sortedKeys(c.Models) {
		return id
	}
	return ""
}

// TestCacheKey sends the key of a conversation in the field that the item names, and none
// where it names no field.
func TestCacheKey(t *testing.T) {
	for name, want := range map[string]bool{"openai": true, "openai_chat": true, "vllm": false, "anthropic": false} {
		c := shipped(t, name)
		req := message.Request{Model: firstModel(c), Messages: []message.Message{{Role: message.User, Blocks: []message.Block{message.TextBlock("Hi.")}}}, MaxOutput: 2000, CacheKey: "work-01"}
		body, err := c.Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(body), `"prompt_cache_key":"work-01"`); got != want {
			t.Errorf("%s: the key is in the request: %t, want %t: %s", name, got, want, body)
		}
	}
}
