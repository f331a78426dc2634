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

// RuleFile is one file that says what is refused, whoever signed it: rye.yaml,
// or a policy file of the user or of the machine.
type RuleFile struct {
	Path string // as people are told of it
	*lock.Manifest
}

// Rules are such files, the most binding first. Each holds by itself, so none
// can loosen another: lists of what is allowed intersect, denials add up, and of
// ages and thresholds the greatest counts.
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

// String renders the rule's name and place: policy.min-age of rye.yaml:3.
func (r Rule) String() string { return r.Key + " of " + r.Where() }

// Where renders the place of the rule: rye.yaml:3.
func (r Rule) Where() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// detail adds the rule to a refusal.
func (r Rule) detail(e *diag.Error) *diag.Error { return e.WithDetail("rule", r.String()) }

// rule returns a rule of the section policy.
func (f RuleFile) rule(key, value string) Rule {
	return Rule{Key: "policy." + key, Value: value, File: f.Path, Line: f.Place("policy", key).Line}
}

// List returns every rule, file by file.
func (rs Rules) List() []Rule {
	out := []Rule{}
	for _, f := range rs {
		p := f.Policy
		for _, x := range []struct {
			key, value string
		}{{"sources", strings.Join(p.Sources, ", ")}, {"min-age", age(p.MinAge)}, {"caps-deny", strings.Join(p.CapsDeny, ", ")},
			{"hosts", strings.Join(p.Hosts, ", ")}, {"require-signed", yes(p.RequireSigned)}, {"offline", yes(p.Offline)}} {
			if x.value != "" {
				out = append(out, f.rule(x.key, x.value))
			}
		}
		for _, pattern := range slices.Sorted(maps.Keys(f.Trust)) {
			out = append(out, f.signerRule(pattern))
		}
	}
	return out
}

func age(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func yes(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// About returns the rules that have something to say of a bundle.
func (rs Rules) About(id string) []Rule {
	out := []Rule{}
	for _, f := range rs {
		matching := f.TrustPatterns(id)
		for _, r := range (Rules{f}).List() {
			if pattern, ok := strings.CutPrefix(r.Key, "trust "); !ok || slices.Contains(matching, pattern) {
				out = append(out, r)
			}
		}
	}
	return out
}

// Source refuses a bundle that may not come from where it comes.
func (rs Rules) Source(m lock.Module, id lock.ID) error {
	for _, f := range rs {
		if f.Policy.AllowsSource(id) {
			continue
		}
		r := f.rule("sources", strings.Join(f.Policy.Sources, ", "))
		return r.detail(diag.New(diag.PolicyDenied, "resolving %s: %s does not allow it", m, r)).
			WithDetail("allowed", f.Policy.Sources).WithDetail("bundle", m.ID).
			WithHint("rye why %s shows who requires it; a person may widen policy.sources in %s", m.ID, f.Path)
	}
	return nil
}

// Folder refuses what is used from a folder of this machine that is no part of
// the project, where only what was signed as a whole may be used.
func (rs Rules) Folder(m lock.Module, dir string) error {
	for _, f := range rs {
		if !f.Policy.RequireSigned || dir == "." || strings.HasPrefix(dir, "./") {
			continue
		}
		r := f.rule("require-signed", "true")
		return r.detail(diag.New(diag.PolicyDenied, "resolving %s: %s refuses the folder %s, which nobody signed as a whole", m, r, dir)).
			WithDetail("bundle", m.ID).
			WithHint("require a release of it, or move the folder into the project")
	}
	return nil
}

// Caps refuses capabilities that no bundle may ask for, and hosts that none may
// name.
func (rs Rules) Caps(m lock.Module, caps []string) error {
	for _, f := range rs {
		for _, c := range caps {
			for _, deny := range f.Policy.CapsDeny {
				if overlap(deny, c) {
					r := f.rule("caps-deny", deny)
					return r.detail(diag.New(diag.PolicyDenied, "verifying %s: its items ask for %s, which %s refuses (%s)", m, c, r, deny)).
						WithDetail("capability", c).WithDetail("policy", deny).
						WithHint("require a version without it, or let a person change policy.caps-deny in %s", f.Path)
				}
			}
			if host, net := strings.CutPrefix(c, "net:"); net && !f.Policy.AllowsHost(host) {
				r := f.rule("hosts", strings.Join(f.Policy.Hosts, ", "))
				return r.detail(diag.New(diag.PolicyDenied, "verifying %s: its items ask for the host %s, which %s does not allow", m, host, r)).
					WithDetail("host", host).WithDetail("allowed", f.Policy.Hosts).
					WithHint("require a version without it, or let a person add the host to policy.hosts in %s", f.Path)
			}
		}
	}
	return nil
}

// Refuse holds what a lock says of a bundle against every rule but those of age
// and of signers.
func (rs Rules) Refuse(b lock.Bundle) error {
	id, err := lock.ParseID(b.ID)
	if err != nil {
		return err
	}
	if err := rs.Source(b.Module(), id); err != nil {
		return err
	}
	folder := ""
	if r, err := lock.ParseReplacement(b.Replace); b.Replace != "" && err == nil {
		folder = r.Path
	} else if id.Kind == lock.PathID {
		folder = id.Repo
	}
	if folder != "" {
		if err := rs.Folder(b.Module(), folder); err != nil {
			return err
		}
	}
	return rs.Caps(b.Module(), b.Caps)
}

// MinAge returns the rule that wants versions to be known for the longest, and
// how long.
func (rs Rules) MinAge() (Rule, time.Duration) {
	var rule Rule
	var least time.Duration
	for _, f := range rs {
		if f.Policy.MinAge > least {
			least = f.Policy.MinAge
			rule = f.rule("min-age", least.String())
		}
	}
	return rule, least
}

// Offline returns the rule that keeps bundles from the network.
func (rs Rules) Offline() (Rule, bool) {
	for _, f := range rs {
		if f.Policy.Offline {
			return f.rule("offline", "true"), true
		}
	}
	return Rule{}, false
}

// rules returns the rules for a manifest: those above it and its own.
func (e *Engine) rules(m *lock.Manifest) Rules {
	return append(slices.Clone(e.p.Rules), RuleFile{lock.ManifestFile, m})
}

// rules are those that a solution must follow, where they stand in the files.
func (s *solver) rules() Rules { return s.e.rules(s.st.manifest) }
