package wire

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/winname"
)

// Limits of ids.
const (
	maxHost = 253
	maxName = 64
)

// ID names a bundle in a registry.
type ID struct {
	NS    string
	Name  string
	Major string // v2 and up; "" for v0 and v1
}

// String returns NS/NAME, with the major from v2 on. Index lines, log entries and
// statements have this form.
func (id ID) String() string {
	s := id.NS + "/" + id.Name
	if id.Major != "" {
		s += "/" + id.Major
	}
	return s
}

// Full returns the id of the bundle for a project: registry:HOST/NS/NAME.
func (id ID) Full(host string) string {
	return "registry:" + host + "/" + id.String()
}

// IndexPath returns the path of the versions of a bundle, relative to the registry's
// index.
func (id ID) IndexPath() string {
	return "/" + id.String() + ".jsonl"
}

// NamespaceIndexPath returns the path of the names of a namespace, relative to the index.
func NamespaceIndexPath(ns string) string {
	return "/" + ns + "/index.json"
}

// NamespacePath returns the path of the keys of a namespace.
func NamespacePath(ns string) string {
	return NamespacesPath + "/" + ns + ".json"
}

// ParseID reads NS/NAME or NS/NAME/vN.
func ParseID(s string) (ID, error) {
	f := strings.Split(s, "/")
	if len(f) < 2 || len(f) > 3 {
		return ID{}, wrongID(s, "it is not NAMESPACE/NAME")
	}
	id := ID{NS: f[0], Name: f[1]}
	if err := CheckNamespace(id.NS); err != nil {
		return ID{}, err
	}
	if !CheckName(id.Name) {
		return ID{}, wrongID(s, "a name is 1 to 64 lower-case letters, digits, ., _ and -, begins with a letter or digit, does not end in ., .json, .jsonl or .etag, and is not the name of a device of Windows, such as con or nul.x")
	}
	if len(f) == 3 {
		id.Major = f[2]
		n, err := strconv.Atoi(strings.TrimPrefix(id.Major, "v"))
		if err != nil || n < 2 || id.Major != "v"+strconv.Itoa(n) {
			return ID{}, wrongID(s, "the third part is a major version from v2 on")
		}
	}
	return id, nil
}

// ParseFull reads registry:HOST/NS/NAME[/vN].
func ParseFull(s string) (host string, id ID, err error) {
	rest, ok := strings.CutPrefix(s, "registry:")
	host, name, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 {
		return "", ID{}, wrongID(s, "it is not registry:HOST/NAMESPACE/NAME")
	}
	if err := CheckHost(host); err != nil {
		return "", ID{}, err
	}
	id, err = ParseID(name)
	return host, id, err
}

func wrongID(s, why string) error {
	return diag.New(diag.Usage, "reading the id %q of a registry: %s", s, why)
}

// CheckName reports whether s can be the name of a bundle in its namespace. The folder of
// NAME/v2 must not have the name of a file that the index, or the copy of a client, has, and
// Windows must be able to create it: there a dot at the end of a name is lost.
func CheckName(s string) bool {
	taken := func(suffix string) bool {
		return strings.HasSuffix(s, suffix)
	}
	return len(s) <= maxName &&
		nameForm().MatchString(s) &&
		!winname.Device(s) &&
		!slices.ContainsFunc([]string{".json", ".jsonl", ".etag"}, taken)
}

// form returns a function that compiles an expression once, when it is needed.
func form(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(expr)
	})
}

var (
	nameForm  = form(`^[a-z0-9]([a-z0-9._-]*[a-z0-9_-])?$`)
	plainForm = form(`^[a-z0-9][a-z0-9-]{0,37}[a-z0-9]$`)
	aliasForm = form(`^[a-z0-9][a-z0-9-]{0,31}$`)
	ownerForm = form(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9_-])?$`)
	labelForm = form(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// The forms of a namespace, which decide how a key is bound to it.
const (
	FormDNS   = "dns"   // acme.io
	FormOIDC  = "oidc"  // github~acme
	FormPlain = "plain" // acme
)

// NamespaceForm returns the form of a namespace, "" for a text that is not a namespace. A
// namespace is a folder of the index, so the name of a device of Windows is not one.
func NamespaceForm(s string) string {
	if winname.Device(s) {
		return ""
	}
	alias, owner, tilde := strings.Cut(s, "~")
	switch {
	case tilde && aliasForm().MatchString(alias) && ownerForm().MatchString(owner):
		return FormOIDC
	case !tilde && strings.Contains(s, ".") && isDNS(s):
		return FormDNS
	case plainForm().MatchString(s):
		return FormPlain
	}
	return ""
}

// CheckNamespace returns an error unless s is a namespace.
func CheckNamespace(s string) error {
	if NamespaceForm(s) == "" {
		return diag.New(diag.Usage, "reading namespace %q: it is neither a DNS name (acme.io), nor ALIAS~OWNER, nor 2 to 39 lower-case letters, digits and -, or it is the name of a device of Windows", s)
	}
	return nil
}

// isDNS reports whether s is a name of at least two labels. An address is not one.
func isDNS(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if !labelForm().MatchString(l) {
			return false
		}
	}
	_, err := netip.ParseAddr(s)
	return len(s) <= maxHost && len(labels) >= 2 && err != nil
}

// CheckHost returns an error unless s is the host of a registry: a DNS name or an IPv4
// address in lower case, with a port unless it is the usual one.
func CheckHost(s string) error {
	host := s
	port := ""
	if i := strings.IndexByte(s, ':'); i >= 0 {
		host = s[:i]
		port = s[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return wrongHost(s)
		}
	}
	a, err := netip.ParseAddr(host)
	if err == nil && a.Is4() {
		return nil
	}
	if host != "localhost" && !isDNS(host) {
		return wrongHost(s)
	}
	return nil
}

func wrongHost(s string) error {
	return diag.New(diag.Usage, "reading the host %q of a registry: it is not a DNS name in lower case, with :PORT unless it is 443", s)
}

// BaseURL returns the address of a registry: https, and http for this machine itself.
func BaseURL(host string) string {
	if IsLoopback(host) {
		return "http://" + host
	}
	return "https://" + host
}

// IsLoopback reports whether a host is this machine by its name alone.
func IsLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	a, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && a.IsLoopback()
}
