package packages

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// RuleFile is one file with rules that no signature overrides: rye.yaml, or a
// policy file of the user or of the machine.
type RuleFile struct {
	Path string // as messages name it
	*lock.ProjectFile
}

// Rules are such files, the most binding first. Each applies on its own, so no
// file weakens another: allow lists intersect, denials add up, and the greatest
// age and threshold decide.
type Rules []RuleFile

// Rule is one rule and its position.
type Rule struct {
	Key   string `json:"rule"` // policy.min-age; trust and a pattern; publisher, its name and version
	Value string `json:"value"`
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`

	// Threshold distinct keys of Signers ("ed25519:…") must have signed a release.
	// Both are empty in a rule that is not about signers.
	Signers   []string `json:"-"`
	Threshold int      `json:"-"`
}

// String renders the rule and its position: policy.min-age of rye.yaml:3.
func (r Rule) String() string {
	return r.Key + " of " + r.Where()
}

// Where renders the position of the rule: rye.yaml:3.
func (r Rule) Where() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// detail adds the rule to a refusal.
func (r Rule) detail(e *diag.Error) *diag.Error {
	return e.WithDetail("rule", r.String())
}

// rule returns a rule of the section policy.
func (f RuleFile) rule(key, value string) Rule {
	return Rule{
		Key:   "policy." + key,
		Value: value,
		File:  f.Path,
		Line:  f.Position("policy", key).Line,
	}
}

// List returns every rule, file by file.
func (rs Rules) List() []Rule {
	out := []Rule{}
	for _, f := range rs {
		p := f.Policy
		add := func(key, value string) {
			if value != "" {
				out = append(out, f.rule(key, value))
			}
		}
		add("sources", strings.Join(p.Sources, ", "))
		if p.MinAge != 0 {
			add("min-age", p.MinAge.String())
		}
		add("caps-deny", strings.Join(p.CapsDeny, ", "))
		add("hosts", strings.Join(p.Hosts, ", "))
		if p.RequireSigned {
			add("require-signed", "true")
		}
		if p.Offline {
			add("offline", "true")
		}
		for _, pattern := range slices.Sorted(maps.Keys(f.Trust)) {
			out = append(out, f.signerRule(pattern))
		}
	}
	return out
}

// About returns the rules that apply to a bundle.
func (rs Rules) About(id string) []Rule {
	out := []Rule{}
	for _, f := range rs {
		matching := f.TrustPatterns(id)
		for _, r := range (Rules{f}).List() {
			pattern, ok := strings.CutPrefix(r.Key, "trust ")
			if !ok || slices.Contains(matching, pattern) {
				out = append(out, r)
			}
		}
	}
	return out
}

// Source refuses a bundle whose source policy.sources does not list.
func (rs Rules) Source(m lock.Module) error {
	for _, f := range rs {
		if f.Policy.AllowsSource(m.ID) {
			continue
		}
		r := f.rule("sources", strings.Join(f.Policy.Sources, ", "))
		return r.detail(diag.New(diag.PolicyDenied, "resolving %s: %s does not allow it", m, r)).
			WithReason("sources").
			WithDetail("allowed", f.Policy.Sources).
			WithDetail("bundle", m.ID.String())
	}
	return nil
}

// Folder refuses a directory outside the project where a rule has require-signed, or
// demands signers for every id: no manifest covers its files.
func (rs Rules) Folder(m lock.Module, dir string) error {
	for _, f := range rs {
		all := f.TrustPatterns(dir) // only * and ** match a directory
		if !f.Policy.RequireSigned && len(all) == 0 ||
			dir == "." ||
			strings.HasPrefix(dir, "./") {
			continue
		}
		r := f.rule("require-signed", "true")
		if !f.Policy.RequireSigned {
			r = f.signerRule(all[0])
		}
		return r.detail(diag.New(diag.PolicyDenied, "resolving %s: %s refuses the folder %s, which has no signed release", m, r, dir)).
			WithReason("require_signed").WithDetail("bundle", m.ID.String())
	}
	return nil
}

// Caps refuses capabilities that policy.caps-deny denies, and network hosts that
// policy.hosts does not list.
func (rs Rules) Caps(m lock.Module, caps []string) error {
	for _, f := range rs {
		for _, c := range caps {
			for _, deny := range f.Policy.CapsDeny {
				if overlap(deny, c) {
					r := f.rule("caps-deny", deny)
					return r.detail(diag.New(diag.PolicyDenied, "verifying %s: its items ask for %s, which %s refuses (%s)", m, c, r, deny)).
						WithDetail("capability", c).WithDetail("policy", deny)
				}
			}
			host, net := strings.CutPrefix(c, "net:")
			if net && !f.Policy.AllowsHost(host) {
				r := f.rule("hosts", strings.Join(f.Policy.Hosts, ", "))
				return r.detail(diag.New(diag.PolicyDenied, "verifying %s: its items ask for the host %s, which %s does not allow", m, host, r)).
					WithDetail("host", host).WithDetail("allowed", f.Policy.Hosts)
			}
		}
	}
	return nil
}

// LimitCaps reports whether a rule is about the capabilities or hosts of bundles.
func (rs Rules) LimitCaps() bool {
	return slices.ContainsFunc(rs, func(f RuleFile) bool {
		return len(f.Policy.CapsDeny)+len(f.Policy.Hosts) > 0
	})
}

// Refuse checks a lock entry against every rule except those about age and
// signers.
func (rs Rules) Refuse(b lock.Bundle) error {
	if err := rs.Source(b.Module()); err != nil {
		return err
	}
	folder := b.Replace.Path
	if b.Replace.IsZero() && b.ID.Kind == lock.PathID {
		folder = b.ID.Repo
	}
	if folder != "" {
		if err := rs.Folder(b.Module(), folder); err != nil {
			return err
		}
	}
	return rs.Caps(b.Module(), b.Caps)
}

// MinAge returns the rule with the greatest min-age, and that age; 0 without one.
func (rs Rules) MinAge() (Rule, time.Duration) {
	var rule Rule
	var age time.Duration
	for _, f := range rs {
		if f.Policy.MinAge > age {
			age = f.Policy.MinAge
			rule = f.rule("min-age", age.String())
		}
	}
	return rule, age
}

// Offline returns the rule that forbids the network for bundles.
func (rs Rules) Offline() (Rule, bool) {
	for _, f := range rs {
		if f.Policy.Offline {
			return f.rule("offline", "true"), true
		}
	}
	return Rule{}, false
}

// rules returns the rules of the user and the machine, then the rules of rye.yaml.
func (e *Engine) rules(project *lock.ProjectFile) Rules {
	return append(slices.Clone(e.p.Rules), RuleFile{lock.ProjectFileName, project})
}

// rules reads the rules of rye.yaml from the disk: positions in it must be right, and
// edits never change rules.
func (s *solver) rules() Rules {
	return s.e.rules(s.st.project)
}
