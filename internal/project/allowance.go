package project

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/writediff"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/verify"
)

// readAllowance is the allowance of an opened project. One run needs it several times.
type readAllowance struct {
	mu      sync.Mutex
	known   bool
	value   policy.Allowance
	origins []policy.Origin
}

// Allowance returns the most that agents and items may do without a person, and the
// file of each value, as they were when it was called first.
func (p *Project) Allowance(ctx context.Context) (policy.Allowance, []policy.Origin, error) {
	p.allowance.mu.Lock()
	defer p.allowance.mu.Unlock()
	if !p.allowance.known {
		layers, err := p.policyLayers()
		if err != nil {
			return policy.Allowance{}, nil, err
		}
		a, origins, err := resolve.Allowance(ctx, p.Resolver, layers)
		if err != nil {
			return policy.Allowance{}, nil, err
		}
		p.allowance.known, p.allowance.value, p.allowance.origins = true, a, origins
	}
	return p.allowance.value, slices.Clone(p.allowance.origins), nil
}

// forgetAllowance makes the next call of Allowance read the files again.
func (p *Project) forgetAllowance() {
	p.allowance.mu.Lock()
	defer p.allowance.mu.Unlock()
	p.allowance.known = false
}

// ceiling returns what the allowance permits the sandbox of every program.
func (p *Project) ceiling(ctx context.Context) (policy.Profile, error) {
	a, _, err := p.Allowance(ctx)
	return a.Sandbox.Ceiling(), err
}

// removed returns the rows of the protected paths that do not apply.
func (p *Project) removed(ctx context.Context) ([]string, error) {
	a, _, err := p.Allowance(ctx)
	return a.Sandbox.ProtectRemove, err
}

// unconfined reports whether the allowance names an item that signer signed.
func (p *Project) unconfined(ctx context.Context, ref item.Ref, signer string) (bool, error) {
	a, _, err := p.Allowance(ctx)
	return err == nil && a.Sandbox.Names(ref, signer, p.Env.Now()), err
}

// approve decides about a call by the allowance, and asks the user where it wants that.
func (p *Project) approve(ctx context.Context, call policy.Call, ask exec.Ask) error {
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return err
	}
	if r := spawner(ctx); r != nil {
		call.Child = r.o.isChild()
	}
	d := a.Decide(call)
	d.Timeout = a.Approvals.Timeout(atTerminal(ctx))
	start := starting(ctx)
	if start == nil {
		start = func(string, item.Digest, string, string) error { return nil }
	}
	person := approver(ctx)
	if d.Action == policy.Ask && ask == nil {
		suspends(ctx, call, d, time.Duration(a.Approvals.SuspendedTimeoutSeconds)*time.Second)
	}
	if d.Action != policy.Ask || ask == nil && person == nil {
		if err := d.Err(); err != nil {
			return err
		}
		return start(call.Ref.String(), call.Digest, d.Tier.String(), "run")
	}
	within := d.Timeout
	if person != nil { // a suspended thread waits longer
		within = 0
	}
	ctx = context.WithValue(ctx, askedKey{}, &Asked{Tier: d.Tier.String(), Rule: d.Rule(), Prefixes: d.Prefixes(), Details: append(writediff.Lines(toolsDir(p), call.Ref.String(), call.Params), d.Details()...)})
	q := &threads.Question{Tier: d.Tier.String(), Text: d.Question(), Capability: d.Capability(), Digest: d.Digest(), Rule: d.Rule(), Prefixes: d.Prefixes(), Within: d.Within, Timeout: d.Timeout}
	switch r, err := confirm(ctx, q, d.Headless == "suspend", ask); {
	case err != nil:
		return err
	case r == nil:
		return d.Err()
	case r.Late():
		return d.Late(within)
	case r.Unasked():
		return d.Err()
	case r.Decision == threads.Deny:
		return d.Denied(r.Feedback)
	}
	return start(call.Ref.String(), call.Digest, d.Tier.String(), "approved")
}

// atTerminal reports whether a question of ctx reaches a person at a terminal: of this process,
// or of one that waits for its thread. Otherwise it goes to the user of a client.
func atTerminal(ctx context.Context) bool {
	if r := spawner(ctx); r != nil && (r.o.ToClient || r.o.Relayed && !r.o.Attended) {
		return false
	}
	return agent.AskingOf(ctx) == nil
}

// AgentSettings returns the configuration agent/mcp within the policy files, which
// narrow it, and the grants of a server. allowed is as in agent.ReadSettings.
func (p *Project) AgentSettings(ctx context.Context, allowed policy.Set) (*agent.Settings, policy.Held, error) {
	s, held, err := agent.ReadSettings(ctx, p.Resolver, allowed)
	if err != nil {
		return nil, nil, err
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, nil, err
	}
	if a.Sign != "" {
		s.Within(&agent.Settings{Sign: agent.SignMode(a.Sign)})
	}
	for _, list := range a.Capabilities {
		caps := policy.Set{} // an empty list permits nothing
		for _, c := range list {
			caps = append(caps, policy.Cap(c))
		}
		held = held.With(policy.Grant{Caps: caps, Source: "agents.capabilities of the policy files"})
	}
	return s, held, nil
}

// policyLayers returns the sections about agents of rye.yaml and of the policy files.
func (p *Project) policyLayers() ([]policy.Layer, error) {
	var m *lock.ProjectFile
	if p.files != nil {
		var err error
		if m, _, err = lock.ReadProjectFile(p.files, ""); err != nil {
			return nil, err
		}
	}
	var out []policy.Layer
	if m != nil {
		out = agentLayers(packages.Rules{{Path: lock.ProjectFileName, ProjectFile: m}})
	}
	return append(out, agentLayers(p.Rules)...), nil
}

func agentLayers(rules packages.Rules) []policy.Layer {
	var out []policy.Layer
	for _, f := range rules {
		if f.Agents != nil {
			out = append(out, policy.Layer{Name: f.Path, Doc: f.Agents.Doc, At: f.Agents.At})
		}
	}
	return out
}

// verifyAgents adds the errors, and the settings without effect, of the section about agents of
// rye.yaml. Files that cannot be read are reported by the other checks.
func (p *Project) verifyAgents(ctx context.Context, report *verify.Report) {
	layers, err := p.policyLayers()
	if err != nil {
		return
	}
	found, err := resolve.AllowanceFindings(ctx, p.Resolver, layers)
	if err != nil {
		return
	}
	for _, f := range found {
		if f.Path == lock.ProjectFileName || f.Severity == diag.SeverityError {
			report.Findings = append(report.Findings, f)
		}
	}
}

// toolsDir returns the directory in which tools write, "" if they see an empty one.
func toolsDir(p *Project) string {
	switch {
	case p.copied != nil:
		return p.copied.Dir()
	case p.seenDir != nil && p.seenDir.Empty:
		return ""
	}
	return p.worksAt()
}
