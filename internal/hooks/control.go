package hooks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
)

// Control is the decision of a hook about the thread.
type Control struct {
	Action   string  `json:"action"`
	Delay    float64 `json:"delay,omitempty"`    // of retry, in seconds
	Feedback string  `json:"feedback,omitempty"` // of deny: the model reads it
	Message  string  `json:"message,omitempty"`  // of fail
	To       string  `json:"to,omitempty"`       // of escalate: parent or person
	By       string  `json:"by,omitempty"`       // the hook
}

// MaxDelay bounds the delay of a retry, in seconds.
const MaxDelay = 86_400

// Controls returns the control actions.
func Controls() []string {
	return []string{"retry", "continue", "skip", "deny", "fail", "abort", "suspend", "escalate"}
}

// parameters are the keys of Control that an author writes.
func parameters() []string {
	return []string{"action", "delay", "feedback", "message", "to", "by"}
}

// Stops reports whether a control action keeps the thread, or one call, from continuing.
func Stops(action string) bool {
	return slices.Contains([]string{"deny", "fail", "abort", "suspend", "escalate"}, action)
}

// Stated returns the control action in parameters that is a known word and no template,
// or "".
func Stated(params map[string]any) string {
	word, _ := params["action"].(string)
	if !slices.Contains(Controls(), word) {
		return ""
	}
	return word
}

// Check returns an error for a decision that cannot be acted on. Escalate without a
// target is for a person.
func (c *Control) Check() error {
	bad := func(format string, args ...any) error {
		return diag.New(diag.ValidationFailed, "reading a control action: "+format, args...)
	}
	switch {
	case !slices.Contains(Controls(), c.Action):
		err := diag.New(diag.ValidationFailed, "reading a control action: action is %q, must be one of %s", c.Action, strings.Join(Controls(), ", "))
		if near := suggest.Nearest(c.Action, Controls()); near != "" {
			err.WithReason("nearest").WithDetail("nearest", near)
		}
		return err
	case c.Delay < 0 || c.Delay > MaxDelay:
		return bad("delay is %v, must be from 0 to %d seconds", c.Delay, MaxDelay)
	case c.Delay > 0 && c.Action != "retry":
		return bad("delay has no effect for %s, only for retry", c.Action)
	case c.To != "" && (c.Action != "escalate" || c.To != "parent" && c.To != "person"):
		return bad("to is %q, must be parent or person, of escalate", c.To)
	}
	if c.Action == "escalate" && c.To == "" {
		c.To = "person"
	}
	return nil
}

// checkParams checks the parameters of a control action before they are rendered. Values
// with templates are checked when the hook runs. key is the parameter with the mistake.
func checkParams(params map[string]any) (key string, err error) {
	var fixed Control
	values := map[string]any{}
	for name, v := range params {
		if !slices.Contains(parameters(), name) {
			err := diag.New(diag.ValidationFailed, "unknown parameter %q of a control action: the parameters are action, delay, feedback, message and to", name)
			if near := suggest.Nearest(name, parameters()); near != "" {
				err.WithReason("nearest").WithDetail("nearest", near)
			}
			return name, err
		}
		if constant(v) {
			values[name] = v
		}
	}
	raw, err := jsonx.Marshal(values)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		err = d.Decode(&fixed)
	}
	if err != nil {
		return "action", diag.New(diag.ValidationFailed, "reading a control action: %w", err)
	}
	if _, has := values["action"]; !has && params["action"] != nil {
		return "", nil // the action is a template
	}
	if err := fixed.Check(); err != nil {
		switch {
		case !slices.Contains(Controls(), fixed.Action):
			return "action", err
		case fixed.Delay != 0:
			return "delay", err
		}
		return "to", err
	}
	return "", nil
}

// CheckAction returns the mistake in the parameters of a control action where decides are
// the ones that a hook may use.
func CheckAction(params map[string]any, decides []string) error {
	if _, err := checkParams(params); err != nil {
		return err
	}
	word := Stated(params)
	if word == "" || word == "continue" || slices.Contains(decides, word) {
		return nil
	}
	if len(decides) == 0 {
		return diag.New(diag.ValidationFailed, "the action is %s, and at this event nothing is left to decide", word)
	}
	return diag.New(diag.ValidationFailed, "the action is %s, and hooks of this event may %s", word, strings.Join(decides, ", "))
}
