package lock

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/module"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// ParseID parses a bundle id in any spelling and returns its canonical form: an
// https address becomes a host path, hosts become lower case, and ".git" at the end
// of a host path or of an ssh address is removed.
func ParseID(s string) (ID, error) {
	id, why := parseID(s)
	switch why {
	case "":
		return id, nil
	case noHost:
		return ID{}, diag.New(diag.Usage, "reading bundle id %q: %s", s, why).
			WithReason("no_host").
			WithDetail("name", strings.TrimSuffix(s, "/"))
	}
	address, _, has := strings.Cut(s, "?")
	if has && !isPath(s) {
		s = address + "?***" // a query can be a token
	}
	return ID{}, diag.New(diag.Usage, "reading bundle id %q: %s", s, why).
		WithReason("bundle_id")
}

// noHost is why a name such as "gh-tools" or "leo/x" is not an id.
const noHost = "it names no host, and rye searches no default host for a name"

func parseID(s string) (ID, string) {
	switch {
	case s == "":
		return ID{}, "it is empty"
	case len(s) > MaxID:
		return ID{}, "it is longer than " + strconv.Itoa(MaxID) + " bytes"
	case isPath(s):
		return parsePath(s)
	case strings.TrimFunc(s, graphic) != "" || strings.ContainsFunc(s, func(r rune) bool { return !graphic(r) }):
		return ID{}, "it contains a character that is not allowed in an id"
	case strings.ContainsAny(s, `\`) || len(s) > 1 && s[1] == ':' && letter(s[0]):
		return ID{}, "a local path begins with ./ or ../ and uses /"
	case s[0] == '~':
		return ID{}, "a path in a home directory is not portable: write ./ or ../"
	}
	if strings.Contains(s, "?") {
		return ID{}, "an id has no \"?\" and no query: use git's credential helper for a token"
	}
	if name, ok := strings.CutPrefix(s, "registry:"); ok {
		return parseRegistry(name)
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		return parseURL(scheme, rest)
	}
	i := strings.IndexAny(s, ":/")
	if i >= 0 && s[i] == ':' {
		return parseSCP(s[:i], s[i+1:])
	}
	return parseHost(s)
}

func graphic(r rune) bool {
	return r > 0x20 && r < 0x7f
}

func letter(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z'
}

func isPath(s string) bool {
	return s == "." ||
		s == ".." ||
		s[0] == '/' ||
		strings.HasPrefix(s, "./") ||
		strings.HasPrefix(s, "../")
}

func parsePath(s string) (ID, string) {
	switch {
	case strings.Contains(s, `\`):
		return ID{}, "a local path uses /"
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || len(hidden.Scan([]byte(s))) > 0:
		return ID{}, "it contains invisible characters"
	}
	p := path.Clean(s)
	if !isPath(p) {
		p = "./" + p
	}
	return ID{Kind: PathID, Repo: p}, ""
}

// parseRegistry reads HOST/NS/NAME[/vN]. The host is part of the id, so that no default
// re-routes it.
func parseRegistry(name string) (ID, string) {
	name, major, why := cutMajor(strings.TrimSuffix(name, "/"), 1)
	part := strings.Split(name, "/")
	switch {
	case why != "":
		return ID{}, why
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-~:/") != "":
		return ID{}, "the id of a bundle in a registry is lower-case letters, digits, ., _, - and ~, joined by /"
	case len(part) != 3:
		return ID{}, "the id of a bundle in a registry is registry:HOST/NAMESPACE/NAME"
	}
	if why := wrongRegistry(part[0]); why != "" {
		return ID{}, why
	}
	why = wrongPath(part[1] + "/" + part[2])
	if why != "" {
		return ID{}, why
	}
	return ID{Kind: RegistryID, Repo: name, Major: major}, ""
}

// wrongRegistry returns why s is not the host of a registry, with a port unless it is the
// usual one, or "".
func wrongRegistry(s string) string {
	host, port, has := strings.Cut(s, ":")
	if has && wrongPort(port) {
		return "the port is not a number from 1 to 65535"
	}
	if why := wrongHost(host); why != "" {
		return why
	}
	if host != "localhost" && !strings.Contains(host, ".") {
		return "the host of the registry is missing: registry:HOST/NAMESPACE/NAME"
	}
	return ""
}

func wrongPort(port string) bool {
	n, err := strconv.Atoi(port)
	return err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port
}

// parseHost reads host/path[//subdir][/vN].
func parseHost(s string) (ID, string) {
	repo, sub, major, why := cutParts(s, 2)
	if why != "" {
		return ID{}, why
	}
	host, p, _ := strings.Cut(repo, "/")
	bare := p
	for strings.HasSuffix(bare, ".git") {
		bare = strings.TrimSuffix(bare, ".git")
	}
	host = strings.ToLower(host)
	switch _, last, noMajor := cutMajor("/"+bare, 0); {
	case bare != p && (last != "" || noMajor != ""): // also v1, which is not a valid suffix
		return ID{}, "the name of a repository cannot be a major version"
	case strings.Contains(host, "@"):
		return ID{}, "an id contains no credentials: use git's credential helper"
	case !strings.Contains(host, "."):
		return ID{}, noHost
	case p == "":
		return ID{}, "it has no path below the host"
	}
	if why := wrongHost(host); why != "" {
		return ID{}, why
	}
	if why := wrongPath(bare); why != "" {
		return ID{}, why
	}
	return ID{HostID, host + "/" + bare, sub, major}, ""
}

// parseURL reads scheme://[user@]host[:port]/path[//subdir][/vN].
func parseURL(scheme, rest string) (ID, string) {
	scheme = strings.ToLower(scheme)
	port, known := map[string]string{
		"https": "443",
		"http":  "80",
		"ssh":   "22",
		"git":   "9418",
		"file":  "",
	}[scheme]
	if !known {
		return ID{}, "the scheme is not https, http, ssh, git or file"
	}
	if i := strings.IndexAny(rest, "#%"); i >= 0 {
		return ID{}, "a URL here has no " + strconv.Quote(rest[i:i+1])
	}
	authority, p, _ := strings.Cut(rest, "/")
	authority, why := canonicalAuthority(scheme, authority, port)
	if why != "" {
		return ID{}, why
	}
	if scheme == "https" && strings.Contains(authority, ".") && !strings.Contains(authority, ":") {
		return parseHost(authority + "/" + p)
	}
	p, sub, major, why := cutParts(p, 1)
	switch {
	case why != "":
	case scheme == "ssh":
		p, why = bareSSH(p)
	default:
		why = wrongPath(p)
	}
	if why != "" {
		return ID{}, why
	}
	return ID{URLID, scheme + "://" + authority + "/" + p, sub, major}, ""
}

func canonicalAuthority(scheme, s, defaultPort string) (string, string) {
	if scheme == "file" {
		if s != "" {
			return "", "a file URL has three slashes: file:///path"
		}
		return "", ""
	}
	user, host, has := strings.Cut(s, "@")
	if !has {
		user = ""
		host = s
	}
	switch {
	case has && scheme != "ssh":
		return "", "an id contains no credentials: use git's credential helper"
	case has && !validUser(user):
		return "", "the user is not a plain name; an id contains no password"
	}
	host, port, has := strings.Cut(strings.ToLower(host), ":")
	if why := wrongHost(host); why != "" {
		return "", why
	}
	if has && wrongPort(port) {
		return "", "the port is not a number from 1 to 65535"
	}
	if user != "" {
		host = user + "@" + host
	}
	if port != "" && port != defaultPort {
		host += ":" + port
	}
	return host, ""
}

// parseSCP reads git@host:path, which is relative to the user's home directory.
func parseSCP(authority, p string) (ID, string) {
	user, host, has := strings.Cut(authority, "@")
	switch {
	case !has:
		return ID{}, "a port or a scheme needs a URL, as in https://host:8443/path; the form for ssh is git@host:path"
	case !validUser(user):
		return ID{}, "the user is not a plain name"
	}
	host = strings.ToLower(host)
	if why := wrongHost(host); why != "" {
		return ID{}, why
	}
	p, sub, major, why := cutParts(p, 1)
	if why == "" {
		p, why = bareSSH(p)
	}
	if why != "" {
		return ID{}, why
	}
	return ID{URLID, user + "@" + host + ":" + p, sub, major}, ""
}

// bareSSH removes ".git", which git servers add to a path requested over ssh.
func bareSSH(p string) (bare, why string) {
	for bare = p; strings.HasSuffix(bare, ".git") && len(bare) > len(".git"); {
		bare = strings.TrimSuffix(bare, ".git")
	}
	if strings.HasSuffix(bare, "/") {
		bare = p // the repository is named .git
	}
	_, last, noMajor := cutMajor("/"+bare, 0)
	if bare != p && (last != "" || noMajor != "") {
		return "", "the name of a repository cannot be a major version"
	}
	return bare, wrongPath(bare)
}

func validUser(s string) bool {
	return s != "" &&
		letter(s[0]) &&
		strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// cutParts divides repository, subdirectory and major version; the repository
// keeps at least n elements.
func cutParts(s string, n int) (repo, sub, major, why string) {
	repo, sub, has := strings.Cut(strings.TrimSuffix(s, "/"), "//")
	if !has {
		repo, major, why = cutMajor(repo, n)
		return repo, "", major, why
	}
	repo = strings.TrimSuffix(repo, "/")
	if isMajor(sub) {
		return "", "", "", "a major version follows the repository after one /"
	}
	if sub, major, why = cutMajor(sub, 1); why == "" {
		why = wrongPath(sub)
	}
	return repo, sub, major, why
}

// cutMajor cuts /vN from s, if at least n elements remain.
func cutMajor(s string, n int) (rest, major, why string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 ||
		strings.Count(s, "/") < n ||
		!isMajor(s[i+1:]) {
		return s, "", ""
	}
	major = s[i+1:]
	if major == "v0" || major == "v1" || major[1] == '0' {
		return "", "", "/" + major + " is not a major version: v0 and v1 have no suffix, others are /v2 and up"
	}
	return s[:i], major, ""
}

func isMajor(s string) bool {
	return len(s) > 1 &&
		s[0] == 'v' &&
		strings.Trim(s[1:], "0123456789") == ""
}

func wrongHost(host string) string {
	if host == "" || len(host) > 253 {
		return "the host is missing or too long"
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return "the host " + strconv.Quote(host) + " is not letters, digits and - separated by points"
		}
	}
	return ""
}

// wrongPath returns why p cannot be the path of a repository or of a directory in
// it on every file system, or "".
func wrongPath(p string) string {
	for elem := range strings.SplitSeq(p, "/") {
		switch {
		case elem == "":
			return "it has an empty element"
		case strings.Trim(elem, ".") == "":
			return "it has the element " + strconv.Quote(elem)
		case elem[0] == '-':
			return "the element " + strconv.Quote(elem) + " begins with -"
		case strings.ContainsFunc(elem, notInPath):
			return "the element " + strconv.Quote(elem) + " contains more than letters, digits, ., _, - and ~"
		case strings.EqualFold(elem, ".git"):
			return "it passes through a .git directory"
		}
	}
	if module.CheckFilePath(p) != nil {
		return "it has a name that some systems cannot store"
	}
	return ""
}

func notInPath(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' || r == '~')
}
