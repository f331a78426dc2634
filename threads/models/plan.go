package models

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/provider"
)

// Params are what Plan needs of its caller.
type Params struct {
	Rules  *Rules
	Key    string // the value of the variable of the wish
	NoTest bool   // the service must not be asked anything
	Now    time.Time
	// Choose asks a person for one of several models; nil if there is none to ask.
	Choose func(names []string) (string, error)
}

// Plan asks the service and returns the item that describes it. found is nil if the
// service was not asked. notes are what a person has to know.
func Plan(
	ctx context.Context,
	w Wish,
	p Params,
) (it *Item, found *Found, notes []string, err error) {
	if err := w.Check(); err != nil {
		return nil, nil, nil, err
	}
	if p.NoTest {
		found, err = unasked(p.Rules, w)
	} else {
		found, err = Ask(ctx, p.Rules, w, p.Key)
	}
	if err != nil {
		return nil, found, nil, err
	}
	model, err := choose(w, found, p.Choose)
	if err != nil {
		return nil, found, nil, err
	}
	if !p.NoTest {
		found.Describe(ctx, &model, p.Key)
	}
	if notes, err = complete(w, found, &model); err != nil {
		return nil, found, nil, err
	}
	it = &Item{
		ID:       w.ID,
		URL:      found.Address.Endpoint(found.Dialect, found.Root),
		Dialect:  found.Dialect,
		Private:  found.Address.Private,
		Model:    model,
		Key:      w.Key,
		AsHeader: found.AsHeader,
		Software: found.Software,
		AddUsage: found.Dialect == provider.Chat,
		Day:      p.Now,
		Rules:    p.Rules,
	}
	if w.InputPrice == "" && model.Input != "" && model.Input != "0" {
		it.Checked = "the list of models of the service"
	}
	if p.NoTest {
		return it, nil, notes, nil
	}
	return it, found, notes, nil
}

// unasked describes a service that must not be asked, by the wish alone.
func unasked(rules *Rules, w Wish) (*Found, error) {
	a, err := ParseAddress(w.URL)
	if err != nil {
		return nil, err
	}
	f := &Found{
		Address: a,
		Dialect: w.Dialect,
		Root:    a.roots()[0],
		rules:   rules,
	}
	if f.Dialect == "" {
		f.Dialect = a.Dialect
	}
	if f.Dialect == "" {
		f.Dialect = provider.Chat
	}
	f.AsHeader = headerOf(f.Dialect, "", w.Key)
	return f, nil
}

// choose returns the model that the person wants, or the only one of the service.
func choose(
	w Wish,
	found *Found,
	ask func([]string) (string, error),
) (Model, error) {
	if w.Model != "" {
		m, _ := found.Named(w.Model)
		return m, nil
	}
	names := found.Names()
	switch {
	case len(names) == 1:
		m, _ := found.Named(names[0])
		return m, nil
	case len(names) == 0:
		return Model{}, diag.New(diag.Usage, "adding the provider %s: the service lists no models: name one with --model%s", w.ID, askedAt(found)).
			WithReason("service_no_list")
	case ask == nil:
		return Model{}, diag.New(diag.Usage, "adding the provider %s: choose a model with --model%s", w.ID, listNames(found)).
			WithDetail("models", names)
	}
	name, err := ask(names)
	if err != nil {
		return Model{}, err
	}
	m, _ := found.Named(name)
	return m, nil
}

// complete adds what the person states and what the service leaves out.
func complete(w Wish, found *Found, m *Model) (notes []string, err error) {
	stated := m.Window
	switch {
	case w.Window > 0:
		m.Window = w.Window
	case found.Dialect == provider.Ollama && stated > found.rules.ollamaWindow:
		m.Window = found.rules.ollamaWindow
		notes = append(notes, fmt.Sprintf("the window of %s is set to %d tokens, of the %d that it can have: --window sets another", m.ID, m.Window, stated))
	case stated == 0:
		m.Window = found.rules.window
		if found.Dialect == provider.Anthropic && found.Address.Private == "" {
			m.Window = 200_000
		}
		notes = append(notes, fmt.Sprintf("the window of %s is not known: %d tokens are written, and --window sets another", m.ID, m.Window))
	}
	if w.MaxOutput > 0 {
		m.MaxOutput = w.MaxOutput
	} else if m.MaxOutput == 0 {
		m.MaxOutput = found.rules.maxOutput
	}
	m.MaxOutput = min(m.MaxOutput, m.Window)
	if w.MaxOutput == 0 && m.MaxOutput == m.Window {
		m.MaxOutput = max(1, m.Window/2) // a request needs a part of the window
	}
	if w.InputPrice != "" {
		m.Input = w.InputPrice
		m.CacheRead = ""
		m.Output = w.OutputPrice
	}
	if m.Input == "" && found.Address.Private != "" {
		m.Input = "0"
		m.Output = "0"
	}
	if m.Input == "" {
		return notes, diag.New(diag.Usage, "adding the provider %s: without prices its spend cannot be limited: give --input-price and --output-price in USD for a million tokens", strings.TrimSpace(w.ID))
	}
	return notes, nil
}
