package exec

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Confinement is the sandbox that a plan selects for its program.
type Confinement struct {
	Rating  policy.Rating  // of the tool
	Profile policy.Profile // what the chain, its class, the allowance and the callers permit
	Calls   policy.Set     // of a program with the broker
	// Applet marks a body of rye that starts no program: its own code keeps it in the
	// project and to public hosts, so it needs no other process.
	Applet bool
	// Unconfined marks a tool of the class T4, which has no sandbox.
	Unconfined bool
	Notes      []string // what the profile names and the run does not get
	grants     grants
}

// confinement returns the sandbox of a chain: what every element states, tightened by
// the ceilings of the class, the allowance and the callers. A key that no element
// states is that of the class.
func (e *Executor) confinement(ctx context.Context, c *Chain, ceilings []policy.Profile) (*Confinement, error) {
	tool := c.Tool()
	risk, err := resolve.Risk(ctx, e.p.Resolver)
	if err != nil {
		return nil, err
	}
	out := &Confinement{}
	if out.Rating, err = risk.Rate(tool.Ref, tool.Declared()); err != nil {
		return nil, err
	}
	stated, own, err := c.stated()
	if err != nil {
		return nil, err
	}
	out.Calls = own.Calls
	if err := resolve.CheckClass(risk, out.Rating.Class, own.Profile); err != nil {
		return nil, diag.Doing("planning "+tool.Ref.String(), err)
	}
	class, confined := risk.Class(out.Rating.Class)
	if !confined {
		out.Unconfined = true
		return out, nil
	}
	ceiling := class.Ceiling
	for _, p := range ceilings {
		ceiling = policy.Tighten(ceiling, p)
	}
	out.Profile = merge(stated, ceiling, class.Default)
	if class.Named && out.Profile.Exec != nil && slices.Contains(*out.Profile.Exec, policy.ExecAny) {
		out.Profile.Exec = &[]string{} // no element lists programs
	}
	return out, nil
}

// merge returns what the elements of a chain state, with the default for what they
// leave out, within the ceiling. A ceiling is not a request: what no element states is
// not widened to it.
func merge(stated, ceiling, def policy.Profile) policy.Profile {
	off := false
	if def.Broker == nil {
		def.Broker = &off
	}
	def.Limits = def.Limits.WithDefaults()
	return policy.Tighten(stated.Fill(def), ceiling)
}

// stated returns what all elements of a chain permit together, and what the tool
// itself states.
func (c *Chain) stated() (all policy.Profile, own resolve.Confinement, err error) {
	var found []diag.Finding
	for i, el := range c.Elements {
		one, fs := el.Confinement()
		found = append(found, fs...)
		if i == 0 {
			own = one
		}
		all = policy.Tighten(all, one.Profile)
	}
	return all, own, diag.FromFindings("reading the sandbox of "+c.Tool().Ref.String(), found)
}

// confine selects the sandbox of a plan. It must follow everything else: the programs
// and files of the run are known only then.
func (e *Executor) confine(ctx context.Context, p *Plan) error {
	var ceilings []policy.Profile
	if e.p.Ceiling != nil {
		ceiling, err := e.p.Ceiling(ctx)
		if err != nil {
			return err
		}
		ceilings = append(ceilings, ceiling)
	}
	for _, g := range p.Held {
		if g.Profile != nil {
			ceilings = append(ceilings, *g.Profile)
		}
	}
	c, err := e.confinement(ctx, p.Chain, ceilings)
	if err != nil {
		return err
	}
	p.Sandbox = c
	if c.Applet = e.enforcesItself(p); c.Applet || c.Unconfined {
		return nil
	}
	loc := e.locations(p.Chain.Tool())
	c.grants = loc.grants(c.Profile)
	c.grants.programs(p, c.Profile, loc)
	c.Notes = c.grants.notes
	return nil
}

// enforcesItself reports whether a plan runs a body of rye that starts no program. An
// applet that is not listed here needs a sandbox.
func (e *Executor) enforcesItself(p *Plan) bool {
	if p.Program != e.p.Self || len(p.Argv) != 3 || p.Argv[1] != "applet" {
		return false
	}
	switch p.Argv[2] {
	case "read", "write", "edit_lines", "glob", "grep", "ls", "webfetch", "websearch", "system", "telemetry":
		return true
	}
	return false
}

// MarshalJSON writes what a plan shows of its sandbox.
func (c *Confinement) MarshalJSON() ([]byte, error) {
	doc := struct {
		Class   policy.Tier     `json:"class"`
		Tier    policy.Tier     `json:"tier"`
		Why     string          `json:"why"`
		Applet  bool            `json:"applet,omitempty"`
		None    bool            `json:"unconfined,omitempty"`
		Profile *policy.Profile `json:"profile,omitempty"`
		Calls   policy.Set      `json:"calls,omitempty"`
		Notes   []string        `json:"not_granted,omitempty"`
	}{c.Rating.Class, c.Rating.Tier, c.Rating.Why, c.Applet, c.Unconfined, nil, c.Calls, c.Notes}
	if !c.Applet && !c.Unconfined {
		shown := c.Shown()
		doc.Profile = &shown
	}
	return json.Marshal(doc)
}

// Shown returns a profile as results show it: a path of the project is relative.
func (c *Confinement) Shown() policy.Profile {
	p := c.Profile
	for _, paths := range []**[]string{&p.Read, &p.Write} {
		if *paths == nil {
			continue
		}
		out := make([]string, len(**paths))
		for i, path := range **paths {
			rest, inProject := strings.CutPrefix(path, "{project}")
			if out[i] = path; inProject {
				out[i] = cmp.Or(strings.TrimPrefix(rest, "/"), ".")
			}
		}
		*paths = &out
	}
	return p
}
