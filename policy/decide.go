package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/item"
)

// Rungs of the sandbox, from the weakest.
const (
	RungBasic    = "basic"    // limits of resources and a clean environment only
	RungLandlock = "landlock" // files and programs as well, without namespaces
	RungStrict   = "strict"
)

// Call is one call of an item, for Decide.
type Call struct {
	Ref    item.Ref
	Rating Rating // of the item
	// Dangers are the dangerous patterns that the parameters match.
	Dangers []Danger
	Signer  string      // ed25519: and the fingerprint of the key that signed the item
	Digest  item.Digest // of the item
	Params  map[string]any
	// Rung is the rung in which the call would run, "" without a sandbox.
	Rung string
	// Enforced marks calls that need no sandbox: the code of rye itself keeps them in
	// the project and off other hosts.
	Enforced bool
	Child    bool        // a thread that another thread started makes the call
	Change   *FileChange // that the call makes by code of rye, nil for others
	Now      time.Time
}

// FileChange is a call of an applet of rye that changes files: what their difference depends on.
type FileChange struct {
	Applet string         `json:"applet"`
	Params map[string]any `json:"params"`
}

// Danger is a dangerous pattern that a call matches.
type Danger struct {
	ID   string `json:"id"`   // of the pattern
	Tier Tier   `json:"tier"` // at least the tier of the call
	Text string `json:"text"` // the simple command that matches
	// whole is the text of the shell that the command is a part of.
	whole string
	// commands are all simple commands that match, nil if something else does, too, and
	// includes is the pattern.
	commands []shellCommand
	includes func(shellCommand) bool
	unread   bool // a part of the text cannot be read, and may do anything
}

// Action is what happens with a call.
type Action int

// The actions. The zero value refuses.
const (
	Refuse Action = iota
	Ask           // a person decides
	Run
)

// Decision is what the allowance states about a call, before any person is asked.
type Decision struct {
	Action Action
	Tier   Tier   // of this call
	Why    string // what decided the tier
	// Rung is the rung of the call if it is at least the minimum of the allowance, or "".
	Rung     string
	Minimum  string // of the allowance
	Limit    Tier   // the highest tier that runs without a question
	Headless string
	Timeout  time.Duration
	ref      item.Ref
	call     Call
	plain    bool // a person would be asked also without the dangerous patterns
	rated    Tier // of the item by the allowance, without the dangerous patterns
}

// Decide returns whether a call runs, needs an answer of a person, or is refused.
func (a Allowance) Decide(c Call) Decision {
	d := Decision{
		ref:      c.Ref,
		call:     c,
		Minimum:  a.Sandbox.Minimum,
		Headless: a.Approvals.Headless,
		Timeout:  a.Approvals.Timeout(true),
	}
	d.Tier = c.Rating.Tier
	d.Why = c.Rating.Why
	raised := T0 // by layers that only raise
	if c.Rating.Tier > c.Rating.Class {
		raised = c.Rating.Tier
	}
	t := a.Approvals.Tools.of(c.Ref, c.Rating.Class, raised)
	if t != d.Tier {
		d.Tier = t
		d.Why = "approvals.tools of config:" + AllowanceID
	}
	d.rated = d.Tier
	confined := c.Enforced || rungRank(c.Rung) >= rungRank(a.Sandbox.Minimum)
	if confined {
		d.Rung = c.Rung
	}
	named := a.Sandbox.Names(c.Ref, c.Signer, c.Now)
	d.Limit = a.limit(c.Child, confined)
	approved := d.Tier <= d.Limit || named
	d.plain = !approved
	for _, x := range c.Dangers {
		if x.Tier > d.Tier {
			d.Tier = x.Tier
			d.Why = "the pattern " + x.ID + " of config:" + RiskID
		}
		approved = approved && x.Tier <= d.Limit
	}
	switch {
	case a.Approvals.DenyFrom != nil && d.Tier >= *a.Approvals.DenyFrom:
		d.Action = Refuse
	case approved:
		d.Action = Run
	default:
		d.Action = Ask
	}
	return d
}

// limit returns the highest tier that runs without a question.
func (a Allowance) limit(child, confined bool) Tier {
	auto := a.Approvals.AutoApprove
	if child {
		auto = AutoApprove{min(auto.Sandboxed, a.Children.Sandboxed), min(auto.Unsandboxed, a.Children.Unsandboxed)}
	}
	if confined {
		return auto.Sandboxed
	}
	return auto.Unsandboxed
}

// rungRank orders the rungs; an unknown one is as strong as none. An unknown minimum
// is above every rung.
func rungRank(rung string) int {
	return slices.Index([]string{RungBasic, RungLandlock, RungStrict}, rung)
}

// Err returns why the call does not run if rye cannot ask a person, nil if it runs.
func (d Decision) Err() error {
	switch {
	case d.Action == Run:
		return nil
	case d.Action == Refuse:
		return d.facts(diag.New(
			diag.PolicyDenied,
			"running %s: its risk is %s (%s), and approvals.deny_from of config:%s refuses it",
			d.ref,
			d.Tier,
			d.Why,
			AllowanceID,
		).
			WithReason("deny_from"))
	case len(d.dangers()) > 0:
		return d.facts(diag.New(diag.ApprovalRequired, "%s", d.unasked()).WithReason("approval_danger"))
	case d.leaves():
		return d.facts(diag.New(diag.ApprovalRequired, "%s", d.unasked()).WithReason("approval_sandbox"))
	}
	return d.facts(diag.New(diag.ApprovalRequired, "%s", d.unasked()).WithReason("approval_tier"))
}

func (d Decision) unasked() string {
	return "running " + d.ref.String() + ": " + d.because() + ", and rye cannot ask a person here"
}

// Late returns the error for a call about which no answer came within a time, 0 if it is not
// known.
func (d Decision) Late(within time.Duration) error {
	when := "in time"
	if within > 0 {
		when = fmt.Sprintf("within %d s", int(within.Seconds()))
	}
	return d.facts(diag.New(diag.ApprovalDenied, "running %s: no answer came %s, which is a refusal", d.ref, when).WithReason("approval_timeout"))
}

// Denied returns the error for a call that a person refused, with what the person wrote.
func (d Decision) Denied(feedback string) error {
	if feedback != "" {
		return d.facts(diag.New(diag.ApprovalDenied, "running %s: the user refused it: %s", d.ref, feedback))
	}
	return d.facts(diag.New(diag.ApprovalDenied, "running %s: the user refused it", d.ref))
}

func (d Decision) facts(err *diag.Error) error {
	err.
		WithDetail("item", d.ref.String()).
		WithDetail("tier", d.Tier.String()).
		WithDetail("why", d.Why).
		WithDetail("limit", d.Limit.String())
	if d.call.Rung != "" {
		err.WithDetail("rung", d.call.Rung)
	}
	if d.Rung == "" && !d.call.Enforced {
		err.WithDetail("minimum", d.Minimum)
	}
	if len(d.call.Dangers) > 0 {
		err.WithDetail("dangers", d.call.Dangers)
	}
	return err
}

// leaves reports whether the call would run with less than the minimum rung.
func (d Decision) leaves() bool {
	return d.Rung == "" && !d.call.Enforced
}

// dangers returns the patterns that need a question.
func (d Decision) dangers() []Danger {
	return slices.DeleteFunc(
		slices.Clone(d.call.Dangers),
		func(x Danger) bool { return x.Tier <= d.Limit },
	)
}

// because returns why a person must decide.
func (d Decision) because() string {
	if found := d.dangers(); len(found) > 0 {
		return describe(found)
	}
	switch {
	case d.call.Rating.Class == T4 && d.call.Rung == "":
		return "it runs without a sandbox (risk " + T4.String() + ")"
	case d.leaves() && d.call.Rung == "":
		return "its risk is " + d.Tier.String() + ", and it would run without a sandbox"
	case d.leaves():
		return "its risk is " + d.Tier.String() + ", and this system has only the sandbox " + d.call.Rung + ", where " + d.Minimum + " is the minimum"
	}
	return "its risk is " + d.Tier.String() + " (" + d.Why + "), and a person approves what is above " + d.Limit.String()
}

// describe states every text of the shell with what matches in it: a person who permits one
// command permits all that are in the text.
func describe(found []Danger) string {
	var texts []string
	ids := map[string][]string{}
	parts := map[string][]string{}
	for _, x := range found {
		whole := cmp.Or(strings.TrimSpace(x.whole), x.Text)
		if !slices.Contains(texts, whole) {
			texts = append(texts, whole)
		}
		if !slices.Contains(ids[whole], x.ID) {
			ids[whole] = append(ids[whole], x.ID)
		}
		for _, c := range x.commands {
			parts[whole] = append(parts[whole], quoted(c.shown))
		}
		if len(x.commands) == 0 {
			parts[whole] = append(parts[whole], quoted(x.Text))
		}
	}
	var out []string
	for _, whole := range texts {
		s := "the command " + quoted(whole) + " matches the dangerous pattern"
		if len(ids[whole]) > 1 {
			s += "s"
		}
		s += " " + strings.Join(ids[whole], ", ")
		if len([]rune(whole)) > maxQuoted {
			s += " with " + strings.Join(slices.Compact(parts[whole]), ", ") + " (" + item.DigestOf([]byte(whole)).String() + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// Rule returns all reasons for which a person is asked, without what differs between two
// calls of the item: an answer for the thread permits calls with the same reasons. It is ""
// if they do not state what a call does, so that such an answer is not offered.
//
// It has all reasons for the question without the arguments: ids of patterns, tier, and a rung
// below the minimum. A program of the thread and its model have separate answers.
func (d Decision) Rule() string {
	var out []string
	for _, x := range d.dangers() {
		if x.unread {
			return ""
		}
		out = append(out, dangerRule+x.ID)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if d.plain {
		switch {
		case d.leaves():
			out = append(
				out,
				"risk "+d.rated.String()+" in the sandbox "+cmp.Or(d.call.Rung, "none"),
			)
		default:
			out = append(out, "risk "+d.rated.String())
		}
	}
	return strings.Join(out, ", ")
}

// NeedsWord reports whether a yes to a question of a class and rule is the word yes and not a
// key: the item is of the highest class itself, or it cannot be read what the call does.
func NeedsWord(tier, rule string) bool {
	if tier != T4.String() {
		return false
	}
	for _, r := range strings.Split(rule, ", ") {
		if !strings.HasPrefix(r, dangerRule) {
			return true
		}
	}
	return false
}

const dangerRule = "the dangerous pattern "

// Ref returns the item of the call.
func (d Decision) Ref() item.Ref {
	return d.ref
}

// Capability returns the capability that the call needs.
func (d Decision) Capability() string {
	return string(Needed(Execute, d.ref))
}

// Question returns the question for a person.
func (d Decision) Question() string {
	q := "Run " + d.ref.String() + "? " + capital(d.because()) + "."
	if params := d.params(); params != "" {
		q += " Parameters: " + params + "."
	}
	return q
}

// params shows the parameters of the call but for the texts of the shell that the reason
// shows, on one line. It is "" if nothing is left.
func (d Decision) params() string {
	left := map[string]any{}
	for name, v := range d.call.Params {
		if !slices.ContainsFunc(d.dangers(), func(x Danger) bool { return x.whole == v }) {
			left[name] = v
		}
	}
	b, err := json.Marshal(left)
	if err != nil || len(left) == 0 {
		return ""
	}
	if len(b) > maxQuoted {
		return cuttext.Start(string(b), maxQuoted) + fmt.Sprintf(
			" and %d more bytes (%s)",
			len(b)-maxQuoted,
			item.DigestOf(b),
		)
	}
	return string(b)
}

// Details returns lines about what the call may use, with all its parameters.
func (d Decision) Details() []string {
	sandbox := cmp.Or(d.call.Rung, "none")
	if d.call.Enforced {
		sandbox = "none is needed: a call in this process keeps to its permissions"
	}
	out := []string{
		"item        " + d.ref.String() + " " + d.call.Digest.String(), "signer      " + d.call.Signer,
		"risk        " + d.Tier.String() + " (" + d.Why + ")", "sandbox     " + sandbox, "capability  " + d.Capability(),
	}
	b, err := json.MarshalIndent(d.call.Params, "", "  ")
	if err == nil && len(d.call.Params) > 0 {
		out = append(out, "parameters")
		out = append(out, strings.Split(string(b), "\n")...)
	}
	return out
}

// Digest returns the digest of the item.
func (d Decision) Digest() item.Digest {
	return d.call.Digest
}

func capital(s string) string {
	return string(s[0]&^0x20) + s[1:]
}

// maxQuoted is how much of a command or of parameters a question shows.
const maxQuoted = 1000

// quoted shows a command on one line.
func quoted(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		return strconv.Quote(string(r[:maxQuoted])) + fmt.Sprintf(" and %d more characters", len(r)-maxQuoted)
	}
	return strconv.Quote(s)
}
