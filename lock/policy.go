package lock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
)

// PolicyFile is the name of the file in which a user or the administrator of a
// machine refuses bundles for every project. It has the sections trust and
// policy of rye.yaml, and the section agents, which rye.yaml has below policy.
const PolicyFile = "policy.yaml"

// ParsePolicy reads policy.yaml into a Manifest that has its rules only. The
// Manifest is nil exactly when a finding is an error. Findings have no path.
func ParsePolicy(b []byte) (*ProjectFile, []diag.Finding) {
	return parseManifest(b, "policy", []string{"rye", "trust", "policy", agentsKey})
}

// agentsKey is the key of what agents may do at most: of a policy file, and of the
// section policy of rye.yaml.
const agentsKey = "agents"

// agents keeps the section for package policy, which knows its keys.
func (p *manifestParser) agents(at ...string) {
	r := p.r
	for _, key := range at[:len(at)-1] {
		r = r.Map(key)
	}
	if r.Has(agentsKey) {
		r.Map(agentsKey) // reports a value that is not a mapping
		p.m.Agents = &Section{Doc: p.doc, At: at}
	}
}

// policyKeys are the keys of the section policy, in the order of the docs.
func policyKeys() []string {
	return []string{"sources", "min-age", "caps-deny", "hosts", "require-signed", "offline", "max-checkpoint-age", "adopted"}
}

func (p *manifestParser) policy(known []string) {
	r := p.r.Map("policy")
	if slices.Contains(known, agentsKey) { // at the top of the file
		p.agents(agentsKey)
		r.Only(policyKeys()...)
	} else {
		p.agents("policy", agentsKey)
		r.Only(append(policyKeys(), agentsKey)...)
	}
	for _, key := range r.Keys() {
		p.m.at["policy "+key] = p.doc.At(r.Path(key))
	}
	to := &p.m.Policy
	to.Sources = allowed(r, "sources", checkIDPattern)
	to.CapsDeny = r.Texts("caps-deny", distinct(checkGlob))
	to.Hosts = allowed(r, "hosts", checkHost)
	to.RequireSigned = r.Bool("require-signed", false)
	to.Offline = r.Bool("offline", false)
	to.AdoptedDeny = r.Enum("adopted", "review", "review", "deny") == "deny"
	age(r, "min-age", &to.MinAge)
	age(r, "max-checkpoint-age", &to.MaxCheckpointAge)
}

// age reads a duration.
func age(r *tree.Reader, key string, to *time.Duration) {
	r.TextFunc(key, func(s string) error {
		d, ok := parseAge(s)
		if !ok {
			return fmt.Errorf("%q is not a duration, such as 72h or 3d", s)
		}
		*to = d
		return nil
	})
}

// allowed reads a list that permits only its entries. An empty one is refused:
// a nil list permits everything.
func allowed(r *tree.Reader, key string, check func(string) error) []string {
	l, ok := r.Value(key).([]any)
	if ok && len(l) == 0 {
		r.Reject(key, "allows nothing: remove it to allow everything")
	}
	return r.Texts(key, distinct(check))
}

func checkGlob(s string) error {
	if fs := glob.Check(s); diag.Failed(fs) {
		return fmt.Errorf("%q is not a pattern: %s", s, fs[0].Message)
	}
	return nil
}

func checkHost(s string) error {
	if s != strings.ToLower(s) ||
		strings.ContainsAny(s, "/:?[") ||
		checkGlob(s) != nil {
		return fmt.Errorf("%q is not a host, such as api.acme.io, or a pattern of hosts, such as *.acme.io", s)
	}
	return nil
}

// AllowsHost reports whether a bundle may name a host, or a pattern of hosts
// which must all be allowed.
func (p Policy) AllowsHost(host string) bool {
	return p.Hosts == nil ||
		slices.ContainsFunc(p.Hosts, func(allowed string) bool {
			return glob.Match(allowed, strings.ToLower(host))
		})
}

// parseAge reads a duration, or whole days.
func parseAge(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}
