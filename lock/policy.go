package lock

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
)

// PolicyFile is the name of the file in which a person, or whoever looks after
// a machine, says what is refused in every project: the sections trust and
// policy of rye.yaml, and nothing else.
const PolicyFile = "policy.yaml"

// ParsePolicy reads policy.yaml into a manifest that holds its rules only. The
// Manifest is nil exactly when a finding is an error. Findings have no path.
func ParsePolicy(b []byte) (*Manifest, []diag.Finding) {
	return parseManifest(b, "policy", []string{"rye", "trust", "policy"})
}

// policyKeys are the keys of the section policy, in the order of the docs.
func policyKeys() []string {
	return []string{"sources", "min-age", "caps-deny", "hosts", "require-signed", "offline"}
}

func (p *manifestParser) policy() {
	m := p.mapping("policy")
	p.onlyKeys(m, "policy", policyKeys())
	for key := range m {
		p.m.at["policy "+key] = p.doc.At(tree.Join("policy", key))
	}
	to := &p.m.Policy
	to.Sources = p.allowed(m, "sources", checkSource)
	to.CapsDeny = p.checked(m, "caps-deny", checkGlob)
	to.Hosts = p.allowed(m, "hosts", checkHost)
	to.RequireSigned, to.Offline = p.flag(m, "require-signed"), p.flag(m, "offline")
	if v, present := m["min-age"]; present {
		s, _ := v.(string)
		d, ok := parseAge(s)
		if !ok {
			p.bad("policy.min-age", "min-age must be a duration, as 72h or 3d")
		}
		to.MinAge = d
	}
}

// checked reads a list of the policy whose texts all pass a check: what is not
// understood would refuse nothing.
func (p *manifestParser) checked(m map[string]any, key string, check func(string) string) []string {
	v, present := m[key]
	if !present {
		return nil
	}
	at := tree.Join("policy", key)
	list, _ := p.texts(at, v, key)
	for i, s := range list {
		if why := check(s); why != "" {
			p.bad(tree.Index(at, i), "%q in %s %s", s, key, why)
		}
	}
	return list
}

// allowed reads a list of what alone is allowed.
func (p *manifestParser) allowed(m map[string]any, key string, check func(string) string) []string {
	list := p.checked(m, key, check)
	if l, ok := m[key].([]any); ok && len(l) == 0 {
		p.bad(tree.Join("policy", key), "%s allows nothing: remove it to allow everything", key)
	}
	return list
}

func (p *manifestParser) flag(m map[string]any, key string) bool {
	v, present := m[key]
	on, ok := v.(bool)
	if present && !ok {
		p.bad(tree.Join("policy", key), "%s must be true or false", key)
	}
	return on
}

func checkSource(s string) string {
	if glob.IsPattern(s) || strings.HasPrefix(s, "https://") {
		return "is no beginning of bundle ids, as github.com/acme"
	}
	return ""
}

func checkGlob(s string) string {
	if fs := glob.Check(s); diag.Failed(fs) {
		return "is no pattern: " + fs[0].Message
	}
	return ""
}

func checkHost(s string) string {
	if s != strings.ToLower(s) || strings.ContainsAny(s, "/:?[") || checkGlob(s) != "" {
		return "is no host, as api.acme.io, nor a pattern of hosts, as *.acme.io"
	}
	return ""
}

// AllowsHost reports whether a bundle may name a host, or a pattern of hosts,
// of which all must be allowed.
func (p Policy) AllowsHost(host string) bool {
	return p.Hosts == nil || slices.ContainsFunc(p.Hosts, func(allowed string) bool { return glob.Match(allowed, strings.ToLower(host)) })
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
