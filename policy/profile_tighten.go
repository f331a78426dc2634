package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Tighten returns the profile of everything that both permit. A key that is absent in one has the value
// of the other. Order, grouping and repetition of profiles do not change the result.
func Tighten(a, b Profile) Profile {
	p := Profile{
		Read:  meet(a.Read, b.Read, commonPaths),
		Write: meet(a.Write, b.Write, commonPaths),
		Net:   commonNet(a.Net, b.Net),
		Exec:  meet(a.Exec, b.Exec, commonPrograms),

		Sockets: meet(a.Sockets, b.Sockets, commonPaths),
		Git:     commonGit(a.Git, b.Git),

		Broker: meet(
			a.Broker,
			b.Broker,
			func(x, y bool) bool { return x && y },
		),
	}
	switch {
	case a.Hosts == nil:
		p.Hosts = b.Hosts
	case b.Hosts == nil:
		p.Hosts = a.Hosts
	default:
		p.Hosts = commonHosts(a.Hosts, b.Hosts)
	}
	theirs := b.Limits.All()
	p.Limits = a.Limits
	for i, limit := range p.Limits.All() {
		other := *theirs[i].Value
		if *limit.Value == 0 || other != 0 && other < *limit.Value {
			*limit.Value = other
		}
	}
	if p.Read != nil && p.Write != nil { // a path that one profile does not permit to read is not written
		*p.Write = commonPaths(*p.Write, *p.Read)
	}
	return p.clean()
}

// commonGit orders none < commit.
func commonGit(a, b string) string {
	switch {
	case a == b || b == "":
		return a
	case a == "":
		return b
	}
	return GitNone
}

// meet returns the common part of two values, of which nil permits everything.
func meet[T any](a, b *T, common func(T, T) T) *T {
	var both T
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		both = *b
	case b == nil:
		both = *a
	default:
		both = common(*a, *b)
	}
	return &both
}

// Normal returns p with sorted lists without repetitions, and with what is written in
// the list of what is read, if there is one.
func (p Profile) Normal() Profile {
	if p.Read != nil && p.Write != nil {
		both := slices.Concat(*p.Read, *p.Write)
		p.Read = &both
	}
	return p.clean()
}

func (p Profile) clean() Profile {
	for _, paths := range []**[]string{&p.Read, &p.Write, &p.Sockets} {
		if *paths != nil {
			clean := outermost(**paths)
			*paths = &clean
		}
	}
	if p.Exec != nil {
		names := slices.Clone(*p.Exec)
		slices.Sort(names)
		names = slices.Compact(names)
		if slices.Contains(names, ExecAny) {
			names = []string{ExecAny}
		}
		p.Exec = &names
	}
	if p.Hosts != nil {
		p.Hosts = widestHosts(p.Hosts)
	}
	if p.Net == NetHosts && p.Hosts != nil && len(p.Hosts) == 0 {
		p.Net = NetNone
	}
	if p.Net == NetNone || p.Net == NetLoopback {
		p.Hosts = nil
	}
	return p
}

// commonNet orders none < loopback < any and none < hosts < any.
func commonNet(a, b string) string {
	switch {
	case a == b || b == "":
		return a
	case a == "" || a == NetAny:
		return b
	case b == NetAny:
		return a
	}
	return NetNone
}

func commonPrograms(a, b []string) []string {
	switch {
	case slices.Contains(a, ExecAny):
		return b
	case slices.Contains(b, ExecAny):
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool {
		return !slices.Contains(b, name)
	})
}

// commonPaths returns the paths of each list that are in or below a path of the other.
func commonPaths(a, b []string) []string {
	out := []string{}
	for _, p := range a {
		if pathIn(b, p) {
			out = append(out, p)
		}
	}
	for _, p := range b {
		if pathIn(a, p) {
			out = append(out, p)
		}
	}
	return outermost(out)
}

// outermost returns the paths in their shortest spelling, sorted, without paths that
// are below others.
func outermost(paths []string) []string {
	clean := make([]string, len(paths))
	for i, p := range paths {
		clean[i] = path.Clean(slashes(p))
	}
	clean = slices.Compact(slices.Sorted(slices.Values(clean)))
	out := []string{} // an empty list is not an absent one
	for _, p := range clean {
		if !slices.ContainsFunc(clean, func(q string) bool {
			return q != p &&
				pathBelow(q, p)
		}) {
			out = append(out, p)
		}
	}
	return out
}

func pathIn(list []string, p string) bool {
	return slices.ContainsFunc(list, func(q string) bool {
		return pathBelow(q, p)
	})
}

// pathBelow reports whether p is dir or below it. The root contains everything.
func pathBelow(dir, p string) bool {
	dir = path.Clean(slashes(dir))
	p = path.Clean(slashes(p))
	return dir == "/" || p == dir || strings.HasPrefix(p, dir+"/")
}

// commonHosts returns the hosts that both lists include.
func commonHosts(a, b []string) []string {
	out := []string{}
	for _, x := range a {
		for _, y := range b {
			left, errLeft := parseHost(x)
			right, errRight := parseHost(y)
			both, ok := left.common(right)
			if ok && errLeft == nil && errRight == nil {
				out = append(out, both.String())
			}
		}
	}
	return out
}

// widestHosts returns the patterns in their shortest spelling, sorted, without patterns
// that others include. Texts that are not patterns include nothing and are left
// out.
func widestHosts(list []string) []string {
	var parsed []hostPattern
	for _, s := range list {
		h, err := parseHost(s)
		if err == nil && !slices.Contains(parsed, h) {
			parsed = append(parsed, h)
		}
	}
	out := []string{}
	for _, h := range parsed {
		if !slices.ContainsFunc(parsed, func(other hostPattern) bool {
			return other != h &&
				other.includes(h)
		}) {
			out = append(out, h.String())
		}
	}
	slices.Sort(out)
	return out
}

// Excess is a key of a profile that permits more than a ceiling.
type Excess struct {
	Key    string `json:"key"`   // fs.write, limits.memory_mb
	Wants  any    `json:"wants"` // what exceeds: a text, a list or a number
	Allows any    `json:"allows"`
}

// Exceeds returns the keys with which p permits more than a ceiling. Keys that are
// absent in p exceed nothing.
func (p Profile) Exceeds(ceiling Profile) []Excess {
	var out []Excess
	add := func(key string, wants, allows any) {
		out = append(out, Excess{key, wants, allows})
	}
	compare := func(key string, wants, allows *[]string, within func(list []string, s string) bool) {
		if wants == nil || allows == nil {
			return
		}
		more := slices.DeleteFunc(slices.Clone(*wants), func(s string) bool {
			return within(*allows, s)
		})
		if len(more) > 0 {
			add(key, more, *allows)
		}
	}
	compare("fs.read", p.Read, ceiling.Read, pathIn)
	compare("fs.write", p.Write, ceiling.Write, pathIn)
	if p.Net != "" && commonNet(p.Net, ceiling.Net) != p.Net {
		add("net", p.Net, ceiling.Net)
	}
	if ceiling.Hosts != nil && p.Hosts != nil && p.Net != NetAny {
		compare("hosts", &p.Hosts, &ceiling.Hosts, hostIn)
	}
	compare("exec", p.Exec, ceiling.Exec, func(list []string, s string) bool {
		return slices.Contains(list, ExecAny) || slices.Contains(list, s)
	})
	compare("sockets", p.Sockets, ceiling.Sockets, pathIn)
	if p.Git == GitCommit && ceiling.Git == GitNone {
		add("git", p.Git, ceiling.Git)
	}
	if p.Broker != nil && *p.Broker && ceiling.Broker != nil && !*ceiling.Broker {
		add("broker", true, false)
	}
	most := ceiling.Limits.All()
	for i, limit := range p.Limits.All() {
		m := *most[i].Value
		if m != 0 && *limit.Value > m {
			add("limits."+limit.Name, *limit.Value, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Excess) int {
		return cmp.Compare(a.Key, b.Key)
	})
	return out
}

func hostIn(list []string, s string) bool {
	want, err := parseHost(s)
	return err == nil && slices.ContainsFunc(list, func(q string) bool {
		h, err := parseHost(q)
		return err == nil && h.includes(want)
	})
}
