package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// AllowanceID is the id of the configuration of what agents may do at most.
const AllowanceID = "agent/allowance"

// Allowance is the upper bound of what agents and items may do without a person: the
// result of every source that permits or restricts something. The zero value permits
// nothing.
type Allowance struct {
	Limits      ThreadLimits // the largest that a directive may ask for
	Spend       Periods
	Concurrency Concurrency
	Approvals   Approvals
	Children    AutoApprove // of calls of child threads
	Providers   Patterns    // ids of provider items
	Models      Patterns    // names of models
	Sandbox     SandboxBounds
	Drafts      Patterns // rye.draft capabilities that a directive may ask for
	Registry    string   // run, ask or deny: execute of a registry item that is in no lock

	// Of policy files only; they restrict the configuration agent/mcp.
	Sign         string // agent, ask or deny
	Capabilities Patterns
}

// ThreadLimits are the limits of a thread, all of them finite.
type ThreadLimits struct {
	Turns           int64 `json:"turns"`
	Tokens          int64 `json:"tokens"`
	Spend           USD   `json:"spend"`
	Spawns          int64 `json:"spawns"`
	Depth           int64 `json:"depth"`
	DurationSeconds int64 `json:"duration_seconds"`
}

// Within returns the smaller of each limit.
func (l ThreadLimits) Within(m ThreadLimits) ThreadLimits {
	return ThreadLimits{
		Turns:           min(l.Turns, m.Turns),
		Tokens:          min(l.Tokens, m.Tokens),
		Spend:           min(l.Spend, m.Spend),
		Spawns:          min(l.Spawns, m.Spawns),
		Depth:           min(l.Depth, m.Depth),
		DurationSeconds: min(l.DurationSeconds, m.DurationSeconds),
	}
}

// Periods bound what one user account spends.
type Periods struct {
	PerDay, PerMonth USD
	WarnAt           float64 // part of a maximum at which a warning follows
}

// Concurrency bounds what runs at a time.
type Concurrency struct{ Threads, Children, ToolCalls int64 }

// AutoApprove is the highest tiers of calls that run without a question.
type AutoApprove struct {
	Sandboxed   Tier // of calls that run in at least the minimum rung
	Unsandboxed Tier // of all other calls
}

// Approvals decides about questions.
type Approvals struct {
	AutoApprove
	DenyFrom                *Tier  // calls of this tier and above are refused; nil refuses none
	TimeoutSeconds          *int64 // a question without an answer is a denial after it; nil is without a bound at a terminal
	Headless                string
	SuspendedTimeoutSeconds int64
	Tools                   ToolTiers
}

// unattendedTimeout bounds a question of an allowance without a time, if rye cannot see that a
// person is at a terminal.
const unattendedTimeout = 60 * time.Second

// Timeout returns how long a question waits for its answer, 0 without a bound. atTerminal
// states that a person is asked at a terminal of this process, or of one that waits for it.
func (a Approvals) Timeout(atTerminal bool) time.Duration {
	switch {
	case a.TimeoutSeconds != nil:
		return time.Duration(*a.TimeoutSeconds) * time.Second
	case atTerminal:
		return 0
	}
	return unattendedTimeout
}

// SandboxBounds bound the sandbox of every item.
type SandboxBounds struct {
	Minimum       string // the lowest rung in which T2 and T3 run without a question
	Net           string
	Hosts         []string
	Limits        Limits
	Unconfined    []Unconfined
	ProtectRemove []string // rows of the protected paths that do not apply
}

// Ceiling returns the bounds as a profile, for Tighten. "*" permits every host: as a
// pattern it would exclude addresses that are not public. A source that lists hosts, and
// leaves net as it is, bounds what has the whole network too: only the mode hosts does.
func (s SandboxBounds) Ceiling() Profile {
	p := Profile{Net: s.Net, Hosts: s.Hosts, Limits: s.Limits}
	switch {
	case p.Net != NetAny || p.Hosts == nil:
	case slices.Equal(p.Hosts, []string{"*"}):
		p.Hosts = nil
	default:
		p.Net = NetHosts
	}
	return p.clean()
}

// Origin is where the value of one key of an Allowance comes from.
type Origin struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
}

// Where renders the file and the line.
func (o Origin) Where() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// ReadAllowance reads the sources of the allowance, the farthest first: layers that
// may widen, then those that only restrict. Warnings name the settings of the latter
// that would permit more and have no effect.
func ReadAllowance(layers []Layer) (a Allowance, origins []Origin, warnings []diag.Finding, err error) {
	keys := allowanceKeys()
	from := make([]Origin, len(keys))
	var found []diag.Finding
	for _, wide := range []bool{true, false} {
		for _, l := range layers {
			if l.Wide != wide {
				continue
			}
			r := l.reader()
			checkNames(r, keys, l.policyFile())
			for i, k := range keys {
				warnings = append(warnings, k.read(&a, r, l, &from[i])...)
			}
			found = append(found, diag.WithPath(r.Findings(), l.Name)...)
		}
	}
	for i, k := range keys {
		if from[i].File != "" {
			from[i].Key, from[i].Value = k.name(), k.value(&a)
			origins = append(origins, from[i])
		}
	}
	diag.Sort(warnings)
	return a, origins, warnings, diag.FromFindings("reading config:"+AllowanceID, found)
}

// read applies the value that a layer has for the key, if it has one.
func (k allowanceKey) read(
	a *Allowance,
	root *tree.Reader,
	l Layer,
	from *Origin,
) []diag.Finding {
	r := root
	for _, section := range k.path[:len(k.path)-1] {
		r = r.Map(section)
	}
	last := k.path[len(k.path)-1]
	if !slices.Contains(r.Keys(), last) || k.policyOnly && !l.policyFile() {
		return nil
	}
	above := from.whereOr("the allowance")
	changed, wider := k.apply(a, r, last, l.Wide)
	pos := l.Doc.At(r.Path(last))
	if changed {
		from.File = l.Name
		from.Line = pos.Line
	}
	if l.Wide || !wider {
		return nil
	}
	f := diag.Warnf(diag.ValidationFailed, max(pos.Line, 1), pos.Column, "%s exceeds what %s permits, and this file only restricts: the excess has no effect",
		r.Name(last), above)
	f = f.WithReason("allowance_wider")
	f.Path = l.Name
	return []diag.Finding{f}
}

func (o Origin) whereOr(def string) string {
	if o.File == "" {
		return def
	}
	return o.File
}

// checkNames reports unknown keys at every level.
func checkNames(root *tree.Reader, keys []allowanceKey, policyFile bool) {
	sections := map[string][]string{}
	var order []string
	for _, k := range keys {
		if k.policyOnly && !policyFile {
			continue
		}
		for i, name := range k.path {
			at := strings.Join(k.path[:i], ".")
			if sections[at] == nil {
				order = append(order, at)
			}
			if !slices.Contains(sections[at], name) {
				sections[at] = append(sections[at], name)
			}
		}
	}
	for _, at := range order {
		r := root
		known := sections[at]
		if at == "" && !policyFile {
			known = append(slices.Clone(known), itemKeys()...)
		}
		for section := range strings.SplitSeq(at, ".") {
			if section != "" {
				r = r.Map(section)
			}
		}
		r.Only(known...)
	}
}

// policyFile reports whether the layer is a section of a policy file, not an item.
func (l Layer) policyFile() bool {
	return len(l.At) > 0
}
