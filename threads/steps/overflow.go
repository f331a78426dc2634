package steps

import (
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// How sure it is that a request was longer than the window of the model.
const (
	overflowStated   = "stated"   // the service states it
	overflowPossible = "possible" // a long request failed with an error that no pattern knows
)

// The bounds of a window that a service states: other numbers are of something else.
const (
	leastWindow = 256
	mostWindow  = 100_000_000
)

// length completes a classification with what the error states about the length of the
// request: whether it was too long, and the window that the service has. Without a stated
// window, one that is as long as the refused request is used for the rest of the thread.
func (c *Classification) length(p *Pattern, in Input, longFrom int64) error {
	tokens := in.Usage.ContextTokens
	switch {
	case c.Code == string(diag.ContextFull):
		c.Overflow = overflowStated
		c.Window = p.windowIn(c.Message)
	case p.MayBeLength && c.Action == "fail" && tokens >= longFrom:
		tried, err := triedAsLength(in)
		if err != nil || tried {
			return err
		}
		c.Overflow = overflowPossible
	default:
		return nil
	}
	smaller := in.Usage.Window == 0 || tokens < in.Usage.Window
	if c.Window == 0 && tokens > 0 && smaller {
		c.Window = tokens
	}
	return nil
}

// windowIn returns the window that a message states, 0 if it states none.
func (p *Pattern) windowIn(message string) int64 {
	for _, re := range p.StatesWindow {
		m := re.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		if err == nil && n >= leastWindow && n <= mostWindow {
			return n
		}
	}
	return 0
}

// triedAsLength reports whether an error since the last answer was taken for one of the
// length: the conversation is made shorter for it once.
func triedAsLength(in Input) (bool, error) {
	for i := len(in.Conversation) - 1; i >= 0; i-- {
		switch l := &in.Conversation[i]; l.Event {
		case "model_response":
			return false, nil
		case "model_error":
			var d struct {
				Overflow string `json:"overflow"`
			}
			if err := decode(l, &d); err != nil {
				return false, err
			}
			if d.Overflow == overflowPossible {
				return true, nil
			}
		}
	}
	return false, nil
}
