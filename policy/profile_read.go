package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
)

const execNone = "none"

// ReadProfile decodes a profile, for example r.Map("sandbox") of an item. It adds
// findings to r and returns the keys that were correct.
func ReadProfile(r *tree.Reader) Profile {
	r.Only("fs", "net", "hosts", "exec", "sockets", "git", "broker", "limits")
	fs := r.Map("fs")
	fs.Only("read", "write")
	p := Profile{
		Read:  list(fs, "read", CheckProfilePath),
		Write: list(fs, "write", CheckProfilePath),
		Net:   r.Enum("net", "", NetNone, NetLoopback, NetHosts, NetAny),
		Hosts: r.Texts("hosts", CheckHostPattern),
		Exec:  readExec(r),

		Sockets: list(r, "sockets", CheckProfilePath),
		Git:     r.Enum("git", "", GitNone, GitCommit),
	}
	if r.Has("broker") {
		b := r.Bool("broker", false)
		p.Broker = &b
	}
	limits := r.Map("limits")
	var names []string
	for _, limit := range p.Limits.All() {
		names = append(names, limit.Name)
		*limit.Value = limits.Int(limit.Name, 0, limit.Low, limit.High)
	}
	limits.Only(names...)
	if p.Net == NetHosts && p.Hosts == nil && !r.Has("hosts") {
		r.Reject("hosts", "is missing: net: hosts needs the list of hosts")
	}
	if len(p.Hosts) > 0 &&
		p.Net != "" &&
		p.Net != NetHosts &&
		p.Net != NetAny {
		r.Reject("hosts", "is not used with net: %s", p.Net)
	}
	return p.Normal()
}

// ParseProfile reads the JSON form of a profile.
func ParseProfile(b []byte) (Profile, error) {
	const doing = "reading a sandbox profile"
	doc, findings := jsonx.Parse(b)
	if diag.Failed(findings) {
		return Profile{}, diag.FromFindings(doing, findings)
	}
	r := tree.NewReader(doc, diag.ValidationFailed)
	p := ReadProfile(r)
	return p, diag.FromFindings(doing, r.Findings())
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Profile) UnmarshalJSON(b []byte) error {
	read, err := ParseProfile(b)
	if err != nil {
		return err
	}
	*p = read
	return nil
}

func list(r *tree.Reader, key string, check func(string) error) *[]string {
	if texts := r.Texts(key, check); texts != nil {
		return &texts
	}
	return nil
}

func readExec(r *tree.Reader) *[]string {
	switch v := r.Value("exec").(type) {
	case nil:
		r.Text("exec") // reports null
		return nil
	case string:
		switch v {
		case ExecAny:
			return &[]string{ExecAny}
		case execNone:
			return &[]string{}
		}
		r.Reject("exec", "must be any, none or a list of program names, not %q", v)
		return nil
	case []any:
		return list(r, "exec", checkProgram)
	default:
		r.Reject("exec", "must be any, none or a list of program names, not %s", tree.TypeName(v))
		return nil
	}
}

// checkProgram accepts the file name of a program. The search path of the process
// finds it, so that the same item works on systems with other directories.
func checkProgram(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is not the name of a program", name)
	case name == ExecAny || name == execNone:
		return fmt.Errorf("%q is written without a list: exec: %s", name, name)
	case strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' ||
			c == 0x7f ||
			strings.ContainsRune(`/\*?[]{}`, c)
	}):
		return fmt.Errorf("%q is not the name of a program: it has a space, a separator or a wildcard", name)
	}
	return nil
}

// placeholders begin the paths of a profile that are not absolute.
var placeholders = [...]string{"{project}", "{tmp}", "{cache}", "~"}

// CheckProfilePath returns why a path cannot be in a profile, or nil. A path is
// absolute or begins with {project}, {tmp}, {cache} or ~ as its first name. It names
// one file or directory: it has no wildcard, no ".." and no other placeholder.
func CheckProfilePath(p string) error {
	i := strings.IndexFunc(p, func(c rune) bool {
		return c < ' ' || c == 0x7f
	})
	if i >= 0 {
		return fmt.Errorf("%q has a control character", p)
	}
	if strings.ContainsAny(p, "*?[") {
		return fmt.Errorf("%q has a wildcard: name the directory, everything below it is included", p)
	}
	slashed := slashes(p)
	if slices.Contains(strings.Split(slashed, "/"), "..") {
		return fmt.Errorf("%q has \"..\"", p)
	}
	first, rest, deeper := strings.Cut(slashed, "/")
	if slices.Contains(placeholders[:], first) {
		first = ""
	} else if first != "" && !(isDrive(first) && deeper) || p == "" {
		return fmt.Errorf("%q is not absolute and does not begin with {project}, {tmp}, {cache} or ~/", p)
	}
	if strings.ContainsAny(first+rest, "{}") {
		return fmt.Errorf("%q has braces that are not {project}, {tmp} or {cache} at its beginning", p)
	}
	return nil
}

// slashes returns the path of a drive with "/" as the separator, other paths as they
// are: elsewhere a backslash is part of a name.
func slashes(p string) string {
	if len(p) > 2 && isDrive(p[:2]) && p[2] == '\\' {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

// isDrive reports whether a first name is the drive of a path on Windows.
func isDrive(s string) bool {
	return len(s) == 2 &&
		s[1] == ':' &&
		(s[0]|0x20) >= 'a' &&
		(s[0]|0x20) <= 'z'
}

// CheckHostPattern returns why a text is not a host pattern, or nil: a name, "*."
// with a name, "*", or an address, each with ":port" or ":*" after it.
func CheckHostPattern(s string) error {
	_, err := parseHost(s)
	return err
}

var errHostForm = errors.New(`a host is a name, "*." with a name, "*" or an address (an IPv6 address with a port in brackets), and then ":port" or nothing`)
