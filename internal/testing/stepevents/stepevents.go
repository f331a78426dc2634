// Package stepevents reads config:agent/events and compares recorded events with their
// schemas. It is the description of transcripts that tests hold rye to.
//
// It records nothing: packages threads and exec/graph do.
package stepevents

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
)

// The sources of events.
const (
	SourceKernel = "kernel"
	SourceGraph  = "graph"
	SourceStep   = "step"
)

// config is the item with the events.
const config = "agent/events"

// Events is config:agent/events: which events transcripts have.
type Events struct {
	kinds map[string]*EventKind
	order []string
}

// EventKind describes one event.
type EventKind struct {
	ID, Description string
	Debug           bool // printed by --events=all only
	Source          string
	Buffered        bool // not flushed to the disk by itself
	Schema          map[string]any

	compiled *schema.Schema
}

// ReadEvents reads config:agent/events.
func ReadEvents(root map[string]any) (*Events, error) {
	r := tree.NewReader(&tree.Doc{Root: root}, diag.ConfigError)
	out := &Events{kinds: map[string]*EventKind{}}
	for _, m := range r.Maps("events") {
		m.Only("id", "description", "level", "source", "buffered", "schema")
		m.Require("id", "source", "schema")
		k := &EventKind{
			ID:          m.Text("id"),
			Description: m.Text("description"),
			Debug:       m.Enum("level", "info", "info", "debug") == "debug",
			Source:      m.Enum("source", SourceStep, SourceKernel, SourceGraph, SourceStep),
			Buffered:    m.Bool("buffered", false),
		}
		k.Schema, _ = m.Value("schema").(map[string]any)
		compiled, fs := schema.Compile(k.Schema)
		if compiled == nil || diag.Failed(fs) {
			m.Reject("schema", "is not a JSON Schema: %v", fs)
		}
		k.compiled = compiled
		out.kinds[k.ID] = k
		out.order = append(out.order, k.ID)
	}
	return out, diag.FromFindings("reading config:"+config, r.Findings())
}

// Kinds returns the events in the order of the configuration.
func (e *Events) Kinds() []*EventKind {
	var out []*EventKind
	for _, id := range e.order {
		out = append(out, e.kinds[id])
	}
	return out
}

// Kind returns an event, or nil.
func (e *Events) Kind(id string) *EventKind {
	return e.kinds[id]
}

// Check returns an error if the source does not record the event, or if the data do
// not fit its schema. A step records events of the source step only.
func (e *Events) Check(source, id string, data any) error {
	k := e.kinds[id]
	if k == nil {
		err := diag.New(diag.ValidationFailed, "recording the event %q: config:%s does not list it", id, config)
		if near := suggest.Nearest(id, e.order); near != "" {
			err.WithReason("nearest").WithDetail("nearest", near)
		}
		return err
	}
	if source == SourceStep && k.Source != SourceStep {
		return diag.New(diag.ValidationFailed, "recording the event %q: a step cannot record it, only rye itself", id)
	}
	plain, err := jsonx.Plain(data)
	if err != nil {
		return diag.New(diag.Internal, "writing the data of an event: %w", err)
	}
	var bad []string
	for _, v := range k.compiled.Validate(plain) {
		bad = append(bad, fmt.Sprintf("%s %s", v.Path, v.Message))
	}
	if len(bad) > 0 {
		return diag.New(diag.ValidationFailed, "recording the event %q: %s", id, strings.Join(bad, "; "))
	}
	return nil
}
