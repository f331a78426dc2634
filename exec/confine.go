package exec

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/item"
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
	// Unconfined marks a tool without a sandbox: one of the class T4, and one that the user's
	// allowance names where this machine cannot enforce its sandbox.
	Unconfined bool
	// Rung is the rung of the ladder that this machine reaches, "" without a sandbox.
	Rung    string
	Notes   []string // what the profile names and the run does not get
	grants  grants
	removed []string // rows of the protected paths that do not apply
}

// stating is what the elements of a run state about its sandbox.
type stating struct {
	ref      item.Ref
	declared string         // the risk class that the item states
	profile  policy.Profile // of the item
	all      policy.Profile // of all elements
	calls    policy.Set
	def      *policy.Profile // replaces the default of the class
}

// confinement returns the sandbox of a run: what every element states, tightened by
// the ceilings of the class, the allowance and the callers. A key that no element
// states has the value of the class.
func (e *Executor) confinement(ctx context.Context, s stating, held policy.Held) (*Confinement, error) {
	risk, err := resolve.Risk(ctx, e.p.Resolver)
	if err != nil {
		return nil, err
	}
	out := &Confinement{Calls: s.calls}
	if e.p.Removed != nil {
		if out.removed, err = e.p.Removed(ctx); err != nil {
			return nil, err
		}
	}
	if out.Rating, err = risk.Rate(s.ref, s.declared); err != nil {
		return nil, err
	}
	err = resolve.CheckClass(risk, out.Rating.Class, s.profile)
	if err != nil {
		return nil, diag.Doing("planning "+s.ref.String(), err)
	}
	class, confined := risk.Class(out.Rating.Class)
	if !confined {
		out.Unconfined = true
		return out, nil
	}
	ceiling, err := e.ceiling(ctx, held)
	if err != nil {
		return nil, err
	}
	if s.def != nil {
		class.Default = *s.def
	}
	out.Profile = merge(s.all, policy.Tighten(ceiling, class.Ceiling), class.Default)
	if class.Named &&
		out.Profile.Exec != nil &&
		slices.Contains(*out.Profile.Exec, policy.ExecAny) {
		out.Profile.Exec = &[]string{} // no element lists programs
	}
	return out, nil
}

// ceiling returns the profile that the allowance and every caller permit.
func (e *Executor) ceiling(ctx context.Context, held policy.Held) (ceiling policy.Profile, err error) {
	if e.p.Ceiling != nil {
		if ceiling, err = e.p.Ceiling(ctx); err != nil {
			return ceiling, err
		}
	}
	for _, g := range held {
		if g.Profile != nil {
			ceiling = policy.Tighten(ceiling, *g.Profile)
		}
	}
	return ceiling, nil
}

// merge returns the profile that the elements of a chain state, with the default for keys
// that they leave out, within the ceiling. A ceiling is not a request: a key that no element
// states is not widened to it.
func merge(stated, ceiling, def policy.Profile) policy.Profile {
	off := false
	if def.Broker == nil {
		def.Broker = &off
	}
	def.Limits = def.Limits.WithDefaults()
	return policy.Tighten(stated.Fill(def), ceiling)
}

// stating returns the profiles that the elements of a chain state.
func (c *Chain) stating() (stating, error) {
	tool := c.Tool()
	s := stating{ref: tool.Ref, declared: tool.Declared()}
	var found []diag.Finding
	for i, el := range c.Elements {
		one, fs := el.Confinement()
		found = append(found, fs...)
		if i == 0 {
			s.profile = one.Profile
			s.calls = one.Calls
		}
		s.all = policy.Tighten(s.all, one.Profile)
	}
	return s, diag.FromFindings("reading the sandbox of "+tool.Ref.String(), found)
}

// confine selects the sandbox of a plan. It must follow everything else: the programs
// and files of the run are known only then.
func (e *Executor) confine(ctx context.Context, p *Plan) error {
	tool := p.Chain.Tool()
	stated, err := p.Chain.stating()
	if err != nil {
		return err
	}
	c, err := e.confinement(ctx, stated, p.Held)
	if err != nil {
		return err
	}
	p.Sandbox = c
	if c.Applet = e.enforcesItself(p); c.Applet || c.Unconfined {
		return e.checkReadOnly(c, tool.Ref)
	}
	err = e.unenforced(ctx, c, tool, stated.all.Net, p.Held)
	if err != nil {
		return err
	}
	err = e.checkReadOnly(c, tool.Ref)
	if err != nil || c.Unconfined {
		return err
	}
	c.Rung = string(e.ladder().Best)
	programs := []string{p.Program}
	for _, in := range p.Interpreters {
		programs = append(programs, in.Path)
	}
	if p.inline != nil {
		programs = append(programs, p.inline.python)
	}
	fixed := append(slices.Clip(p.fixed), e.unlinked()...)
	if p.Packages != "" {
		fixed = append(slices.Clip(fixed), p.Packages)
	}
	programs = append(programs, e.admitServers(c, p)...)
	e.locate(c, tool.Ref, tool.Verdict.Signer.String(), programs, p.Env)
	c.grants.fixed = append(append(c.grants.fixed, fixed...), p.Readable...)
	return nil
}

// checkReadOnly returns an error if a program could write a project that tools only read.
func (e *Executor) checkReadOnly(c *Confinement, ref item.Ref) error {
	switch {
	case !e.p.Boundary.ReadOnly || c.Applet:
		return nil
	case c.Unconfined:
		return diag.New(diag.PolicyDenied, "running %s: the tools of this thread change no file, and this one has no sandbox", ref).WithReason("read_only")
	case e.ladder().Best == sandbox.Basic:
		return diag.New(diag.SandboxUnavailable, "running %s: the tools of this thread change no file, and this system cannot keep a program from it", ref).WithReason("read_only")
	}
	return nil
}

// unlinked returns the directories of Params.Fixed without links on their paths: a tool could
// have put one there, to a directory that no tool gets.
func (e *Executor) unlinked() []string {
	return slices.DeleteFunc(slices.Clone(e.p.Fixed), func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		return err != nil || real != dir
	})
}

// unenforced removes the sandbox of a tool that this machine cannot enforce, if the user's
// allowance names the tool. Without that its run is refused.
func (e *Executor) unenforced(
	ctx context.Context,
	c *Confinement,
	tool *resolve.Item,
	stated string,
	held policy.Held,
) error {
	refused := e.ladder().Enforces(c.Profile.Net)
	if refused == nil || e.p.Unconfined == nil {
		return nil
	}
	// A policy or a caller that narrows must not remove the sandbox.
	if stated != c.Profile.Net ||
		slices.ContainsFunc(held, func(g policy.Grant) bool { return g.Profile != nil }) {
		return nil
	}
	named, err := e.p.Unconfined(
		ctx,
		tool.Ref,
		"ed25519:"+tool.Verdict.Signer.String(),
	)
	if err == nil && named {
		c.Unconfined = true
		c.Notes = []string{"the sandbox: net " + c.Profile.Net + " needs a network namespace, which this machine does not have"}
	}
	return err
}

// locate adds the paths and programs of this machine that the profile permits.
// With exec: none the interpreter of the tool still starts, with what its links and its first
// line name.
func (e *Executor) locate(c *Confinement, ref item.Ref, signer string, programs, env []string) {
	loc := e.locations(ref, signer)
	c.grants = loc.grants(c.Profile)
	c.grants.programs(programs, env, c.Profile, loc)
	c.Notes = c.grants.notes
}

// enforcesItself reports whether a plan runs a body of rye that starts no program. An
// applet that is not listed here needs a sandbox.
func (e *Executor) enforcesItself(p *Plan) bool {
	if p.Program != e.p.Self ||
		len(p.Argv) != 3 ||
		p.Argv[1] != "applet" {
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
	for _, paths := range []**[]string{&p.Read, &p.Write, &p.Sockets} {
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
