package provider

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/message"
)

// shippedDoc returns the file of a provider of the system bundle.
func shippedDoc(t *testing.T, name string) *tree.Doc {
	t.Helper()
	b, err := fs.ReadFile(stdlib.FS(), ".ai/tools/rye/agent/providers/"+name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, findings := yamlx.ParseItem(b)
	if doc == nil {
		t.Fatal(findings)
	}
	return doc
}

// shipped returns a provider of the system bundle.
func shipped(t *testing.T, name string) *Config {
	t.Helper()
	c, findings := Parse("rye/agent/providers/"+name, shippedDoc(t, name))
	if c == nil || len(findings) > 0 {
		t.Fatalf("%s: %v", name, findings)
	}
	return c
}

func TestShippedItems(t *testing.T) {
	files, err := fs.ReadDir(stdlib.FS(), ".ai/tools/rye/agent/providers")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		c := shipped(t, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
		paid := false
		for _, m := range c.Models {
			if m.Prices.Output > 0 {
				paid = true
				if m.PricesAs == "" || m.PricesURL == "" {
					t.Errorf("%s: the prices of %s need a date and a source", f.Name(), m.ID)
				}
			}
			if m.MaxOutput > m.Window {
				t.Errorf("%s: the answers of %s are longer than its window", f.Name(), m.ID)
			}
			req := message.Request{Model: m.ID, MaxOutput: 100, Messages: ask(m.ID).Messages, Tools: ask(m.ID).Tools}
			if _, err := c.Encode(req); err != nil {
				t.Errorf("%s: %v", f.Name(), err)
			}
		}
		if paid != (len(c.Keys) > 0) {
			t.Errorf("%s: a service that is paid has a key, and no other", f.Name())
		}
		if c.Tiers["general"] == "" || c.Tiers["fast"] == "" {
			t.Errorf("%s: no model for the tiers fast and general", f.Name())
		}
	}
	// A thousand tokens of each kind, by the published prices.
	sonnet := shipped(t, "anthropic")
	if got, _ := sonnet.Cost("claude-sonnet-5-5", message.Usage{Input: 1000, CacheRead: 1000, CacheWrite5m: 1000, CacheWrite1h: 1000, Output: 1000}); got != 18_600_000 {
		t.Errorf("anthropic: %d", got)
	}
	if got, _ := shipped(t, "openai_chat").Cost("gpt-5-mini-2025-08-07", message.Usage{Input: 1000, CacheRead: 1000, Output: 1000}); got != 2_275_000 {
		t.Errorf("openai_chat: %d", got)
	}
}
