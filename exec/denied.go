package exec

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/policy"
)

// denial is an access that a failed program seems to lack: the key of the sandbox that
// would grant it, and what it would be set to.
type denial struct {
	Key   string // net, fs.read, fs.write, exec; protected or fs.create for what no key grants
	Value string // a host, a path in the form of a profile, a program; "" if unknown
}

// denialTexts are the texts by which programs report that the network, a file or a
// program is not there.
type denialTexts struct {
	net, readOnly, refused, absent, path, relative *regexp.Regexp

	hosts []*regexp.Regexp
}

var texts = sync.OnceValue(func() denialTexts {
	return denialTexts{
		net:      regexp.MustCompile(`(?i)could ?n[o't]+ resolve|failed to resolve|name resolution|name or service not known|nodename nor servname|no such host|network is unreachable|(?-i:ENOTFOUND|EAI_AGAIN|ENETUNREACH)|getaddrinfo|connect: operation not permitted|socket: operation not permitted|failed to connect|connection refused|CONNECT tunnel failed`),
		readOnly: regexp.MustCompile(`(?i)read-only file ?system|EROFS`),
		refused:  regexp.MustCompile(`(?i)permission denied|EACCES|operation not permitted|EPERM`),
		absent:   regexp.MustCompile(`(?i)no such file or directory|ENOENT|cannot find|not found`),
		path:     regexp.MustCompile(`(?:^|[\s'"=(:])(/[^\s'":,;)]+)`),
		relative: regexp.MustCompile(`(?i)(?:^|[\s'"])([^/\s:'"][^\s:'"]*)['"]?: (?:read-only file ?system|permission denied)|(?:read-only file ?system|permission denied)(?:, \w+|:)? '([^/'][^']*)'`),
		hosts: []*regexp.Regexp{
			regexp.MustCompile(`(?i)resolve host:? '?([a-z0-9.-]+\.[a-z]{2,})`),
			regexp.MustCompile(`(?:ENOTFOUND|EAI_AGAIN) ([a-zA-Z0-9.-]+)`),
			regexp.MustCompile(`lookup ([a-zA-Z0-9.-]+\.[a-z]{2,})`),
			regexp.MustCompile(`(?i)host='?([a-z0-9.-]+)'?`),
			regexp.MustCompile(`https?://([a-zA-Z0-9.-]+)`),
			regexp.MustCompile(`(?i)connect to ([a-z0-9.-]+)`),
		},
	}
})

// maxDenialText is how much of the end of stderr is searched for refused accesses.
const maxDenialText = 64 << 10

// denials returns the accesses that the stderr of a program names and its sandbox did
// not permit. It is a guess for a hint: nothing else depends on it.
func (c *Confinement) denials(stderr []byte, report *Sandbox) []denial {
	if c == nil || c.Applet || c.Unconfined {
		return nil
	}
	var out []denial
	add := func(d denial) {
		if !slices.Contains(out, d) && len(out) < 8 {
			out = append(out, d)
		}
	}
	if report != nil {
		for _, conn := range report.Connections {
			if !conn.Allowed {
				add(denial{"hosts", conn.Host})
			}
		}
	}
	for line := range strings.Lines(string(stderr[max(0, len(stderr)-maxDenialText):])) {
		if len(out) == 0 &&
			c.Profile.Net != policy.NetAny &&
			c.Profile.Net != policy.NetHosts &&
			texts().net.MatchString(line) {
			add(denial{"net", hostIn(line)})
		}
		found := texts().path.FindAllStringSubmatch(line, 4)
		for _, m := range found {
			d, ok := c.denied(strings.TrimRight(m[1], "."), line, report)
			if ok {
				add(d)
			}
		}
		// A relative path is below the directory where the program started.
		m := texts().relative.FindStringSubmatch(line)
		if m != nil && c.grants.project != "" {
			d, ok := c.denied(
				filepath.Join(c.grants.project, m[1]+m[2]),
				line,
				report,
			)
			if ok {
				add(d)
			}
		}
	}
	return out
}

// hostIn returns the host that a message names, or "".
func hostIn(line string) string {
	for _, re := range texts().hosts {
		m := re.FindStringSubmatch(line)
		if m != nil && policy.CheckHostPattern(m[1]) == nil {
			return m[1]
		}
	}
	return ""
}

// denied reports whether a path in a message is one that the sandbox refuses: a message
// that a file does not exist is one if the file does exist outside of the sandbox.
func (c *Confinement) denied(path, line string, report *Sandbox) (denial, bool) {
	path = filepath.Clean(path)
	in := func(dirs ...string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			return within(path, dir)
		})
	}
	g := c.grants
	readable := in(slices.Concat(g.read, g.write, g.fixed, systemDirs())...) ||
		g.cache != "" && in(g.cache)
	refused := texts().readOnly.MatchString(line) || texts().refused.MatchString(line)
	switch {
	case refused && in(g.write...) && c.protects(path):
		return denial{"protected", g.spelled(path)}, true
	case refused && in(g.write...) && report != nil && slices.Contains(report.Missing, sandbox.MissingEntries) && !exists(path) && exists(filepath.Dir(path)):
		return denial{"fs.create", g.spelled(filepath.Dir(path))}, true
	case texts().readOnly.MatchString(line):
		return denial{"fs.write", g.spelled(filepath.Dir(path))}, !in(g.write...)
	case texts().refused.MatchString(line) && !g.execAny && isProgram(path):
		return denial{"exec", filepath.Base(path)}, !slices.Contains(g.exec, path)
	case texts().refused.MatchString(line) && readable:
		return denial{"fs.write", g.spelled(filepath.Dir(path))}, !in(g.write...) &&
			!in("/dev", "/proc")
	case texts().refused.MatchString(line) || texts().absent.MatchString(line):
		return denial{"fs.read", g.spelled(path)}, !readable &&
			!in("/dev", "/proc", "/sys") &&
			exists(path)
	}
	return denial{}, false
}

// protects reports whether a path of the project is one that no program may write.
func (c *Confinement) protects(path string) bool {
	if c.grants.project == "" || !within(path, c.grants.project) {
		return false
	}
	rel, err := filepath.Rel(c.grants.project, path)
	if err != nil {
		return false
	}
	_, _, ok := policy.ProtectedExcept(c.removed)(filepath.ToSlash(rel))
	return ok
}

// systemDirs are the directories that every program reads.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/opt", "/nix", "/etc"}
}

func isProgram(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

// spelled returns a path as a profile names it.
func (g grants) spelled(path string) string {
	type base struct{ dir, name string }
	bases := []base{{g.project, "{project}"}, {g.home, "~"}}
	if g.project != "" && within(g.home, g.project) {
		slices.Reverse(bases)
	}
	for _, base := range bases {
		if base.dir == "" || !within(path, base.dir) {
			continue
		}
		rel, _ := filepath.Rel(base.dir, path)
		if rel == "." {
			return base.name
		}
		return base.name + "/" + filepath.ToSlash(rel)
	}
	return path
}

// nameDenials adds what the sandbox refused to the error of a failed program. The hint
// is about the first.
func nameDenials(err *diag.Error, found []denial) {
	if len(found) == 0 {
		return
	}
	err.WithDetail("denied", keysOf(found))
	if err.Reason == "" || err.Reason == "no_stderr" {
		err.
			WithReason(reasonOf(found[0])).
			WithDetail("value", found[0].Value)
	}
}

// keysOf returns the keys that would grant what was refused.
func keysOf(found []denial) []string {
	var keys []string
	for _, d := range found {
		key := d.Key
		if d.Value != "" {
			key += ": " + d.Value
		}
		keys = append(keys, key)
	}
	return slices.Compact(keys)
}

// reasonOf returns the reason whose hint is about a denial.
// It is "protected" for a protected path, and "fs.create" for a new entry that the rung landlock
// cannot permit.
func reasonOf(d denial) string {
	switch d.Key {
	case "net":
		if d.Value == "" {
			return "denied_net_any"
		}
		return "denied_net"
	case "hosts":
		return "denied_hosts"
	case "exec":
		return "denied_exec"
	case "protected":
		return "denied_protected"
	case "fs.create":
		return "denied_fs_create"
	case "fs.write":
		return "denied_fs_write"
	}
	return "denied_fs_read"
}
