// Package compact decides how the conversation of a thread becomes shorter when the window
// of its model is nearly full: which results become references, and which turns a summary
// replaces. It also divides a conversation into parts that a model can summarize.
//
// It changes nothing, reads no log and calls no model. Tokens are estimates of its caller.
package compact

import "slices"

// The actions of a plan.
const (
	None       = "none"       // nothing is to be done
	References = "references" // results become references
	Summary    = "summary"    // a summary replaces the older turns, too
	Continue   = "continue"   // the conversation cannot become shorter: another thread has to continue
)

// Settings are the bounds of config:agent/coordination.
type Settings struct {
	Trigger   float64 // of the window: more than this is too full
	Target    float64 // of the window that may be full afterwards
	Tail      int64   // tokens of the newest turns, which stay
	TailShare float64 // of the window that the newest turns may fill
	Least     int64   // tokens of the shortest result that becomes a reference
	Summary   int64   // tokens of a summary
}

// View is a conversation in tokens.
type View struct {
	Window  int64  `json:"window"`  // of the model, 0 unknown
	Tokens  int64  `json:"tokens"`  // of the next request, as far as the service counted it
	Head    int64  `json:"head"`    // of system text, tools and first message
	Summary int64  `json:"summary"` // of what replaces turns before, or was taken over from another thread
	Turns   []Turn `json:"turns"`   // the oldest first
}

// Turn is an answer with the results of its calls and the messages after them. Number 0 is
// what is before the first answer.
type Turn struct {
	Number  int64    `json:"turn"`
	Tokens  int64    `json:"tokens"`
	Results []Result `json:"results"`
}

// Result is the result of a call.
type Result struct {
	CallID string `json:"call_id"`
	Tokens int64  `json:"tokens"`
	Short  bool   `json:"short"` // a reference already
}

// Plan is what becomes of a conversation.
type Plan struct {
	Action  string
	Results []string // calls whose results become references
	Keep    int64    // the first turn that stays, of a summary
}

// reference is the size of a reference in tokens.
const reference = 80

// Decide returns the plan for a conversation whose next request is too long, or is longer
// than the service accepts if refused is set.
func Decide(v View, s Settings, refused bool) Plan {
	v = v.withoutShort(s.Least)
	if refused {
		v.Tokens = max(v.Tokens, v.Window) // the estimate is too low
	}
	if v = v.scaled(); v.Window <= 0 {
		v.Window = v.Tokens // the service has refused it
	}
	if len(v.Turns) == 0 ||
		v.Turns[len(v.Turns)-1].Number == 0 {
		return Plan{Action: Continue} // no model has answered
	}
	share := int64(s.TailShare * float64(v.Window))
	tail := v.tail(min(s.Tail, share))
	// Of what the service refuses, not all turns can stay.
	for most := min(s.Tail, share, v.Tokens); refused && tail == 0 && len(v.Turns) > 1 && most > 0; {
		most /= 2
		tail = v.tail(most)
	}
	goal := int64(s.Target * float64(v.Window))
	most := int64(s.Trigger * float64(v.Window))
	older, freed := references(v.Turns[:tail])
	if freed > 0 && v.Tokens-freed <= goal {
		return Plan{Action: References, Results: older}
	}
	// A summary that frees little would be made again after each turn.
	gain := v.gain(v.Turns[:tail], s.Summary)
	if gain > v.Window/20 || refused && gain > 0 {
		return Plan{Action: Summary, Keep: v.Turns[tail].Number, Results: largest(v.Turns[tail:], v.Tokens-gain-most)}
	}
	// Only the newest turns are left: their results are the last that can become shorter.
	need := max(v.Tokens-goal, 1)
	p := Plan{Action: References, Results: largest(v.Turns, need)}
	if len(p.Results) == 0 ||
		!refused && v.Tokens-v.sum(p.Results) > most {
		return Plan{Action: Continue}
	}
	return p
}

// withoutShort marks the results that are not longer than a reference, or than a bound.
func (v View) withoutShort(least int64) View {
	v.Turns = slices.Clone(v.Turns)
	for i := range v.Turns {
		t := &v.Turns[i]
		t.Results = slices.Clone(t.Results)
		for j := range t.Results {
			r := &t.Results[j]
			r.Short = r.Short || r.Tokens < max(least, reference+1)
		}
	}
	return v
}

// scaled returns the view with parts that have the tokens which the service counts: an
// estimate by bytes is too low for some languages and for numbers.
func (v View) scaled() View {
	total := v.Head + v.Summary
	for _, t := range v.Turns {
		total += t.Tokens
	}
	if total <= 0 || v.Tokens <= total {
		v.Tokens = max(v.Tokens, total)
		return v
	}
	scale := func(n int64) int64 {
		return int64(float64(n) * float64(v.Tokens) / float64(total))
	}
	v.Head, v.Summary = scale(v.Head), scale(v.Summary)
	for i := range v.Turns { // they are of this view: see withoutShort
		t := &v.Turns[i]
		t.Tokens = scale(t.Tokens)
		for j := range t.Results {
			t.Results[j].Tokens = scale(t.Results[j].Tokens)
		}
	}
	return v
}

// tail returns the index of the oldest turn that stays: the newest turns within a bound, and
// always the newest one.
func (v View) tail(most int64) int {
	at := len(v.Turns) - 1
	left := most - v.Turns[at].Tokens
	for at > 0 && v.Turns[at-1].Number > 0 && v.Turns[at-1].Tokens <= left {
		at--
		left -= v.Turns[at].Tokens
	}
	return at
}

// gain returns the tokens that a summary of the turns, and of what replaced turns before, frees.
func (v View) gain(older []Turn, summary int64) int64 {
	summary = min(summary, v.Window/8)
	if len(older) == 0 && v.Summary <= 2*summary {
		return 0 // a summary alone is not summarized again; long turns of another thread are
	}
	replaced := v.Summary
	for _, t := range older {
		replaced += t.Tokens
	}
	return replaced - min(summary, replaced/2)
}

// references returns the results of turns that can become references, and what that frees.
func references(turns []Turn) (calls []string, freed int64) {
	for _, t := range turns {
		for _, r := range t.Results {
			if !r.Short {
				calls = append(calls, r.CallID)
				freed += r.Tokens - reference
			}
		}
	}
	return calls, freed
}

// largest returns the largest results of turns that together free what is needed, or all of
// them; none if nothing is.
func largest(turns []Turn, needed int64) (calls []string) {
	var all []Result
	for _, t := range turns {
		for _, r := range t.Results {
			if !r.Short {
				all = append(all, r)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Result) int {
		return int(b.Tokens - a.Tokens)
	})
	for _, r := range all {
		if needed <= 0 {
			break
		}
		calls = append(calls, r.CallID)
		needed -= r.Tokens - reference
	}
	return calls
}

// sum returns the tokens that references in place of results free.
func (v View) sum(calls []string) (freed int64) {
	for _, t := range v.Turns {
		for _, r := range t.Results {
			if slices.Contains(calls, r.CallID) {
				freed += r.Tokens - reference
			}
		}
	}
	return freed
}
