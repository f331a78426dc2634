// Package hooks has the form and the rules of hooks: how a configuration or a directive
// writes them, what a control action is, which events exist and what a hook may decide at
// each (Rules, from config:agent/events), and the check of a hook against them.
//
// It runs no hook, and finds no items: that a tool of a hook exists is not checked here.
package hooks

import (
	"encoding/json"

	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Hook is an action at an event of a thread.
type Hook struct {
	ID        string     `json:"id,omitempty"`
	Event     string     `json:"event"`
	Layer     int64      `json:"layer,omitempty"`    // 0: the layer of the source
	Position  string     `json:"position,omitempty"` // of the text that a thread_started hook adds: system, before or after
	Condition *cond.Cond `json:"-"`                  // nil is always true
	Action    Action     `json:"action"`
	OnFailure string     `json:"on_failure,omitempty"` // continue, deny or fail; "" is what the event has
	At        string     `json:"-"`                    // the path of the hook in its document
	Name      string     `json:"-"`                    // the same path as messages show it
}

// MarshalJSON writes the condition as a text.
func (h Hook) MarshalJSON() ([]byte, error) {
	type plain Hook
	out := struct {
		plain
		Condition string `json:"condition,omitempty"`
	}{plain: plain(h)}
	if h.Condition != nil {
		out.Condition = h.Condition.String()
	}
	return json.Marshal(out)
}

// Action is one call of a verb.
type Action struct {
	Primary policy.Verb    `json:"primary"`
	Kind    item.Kind      `json:"item_type"`
	ID      string         `json:"item_id"` // may have templates
	Params  map[string]any `json:"params,omitempty"`
}

// ControlID is the item that a control action such as retry calls.
const ControlID = "rye/agent/threads/internal/control"

// control returns the control action that an action states without a template, or "".
func (a Action) control() string {
	if a.ID != ControlID || a.Kind != item.Tool {
		return ""
	}
	return Stated(a.Params)
}
