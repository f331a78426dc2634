package sbom

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"github.com/ryeos/rye/lock"
)

// purl returns the package URL of a bundle. A qualifier contains the address and the
// commit, so that two bundles of one lock have different package URLs.
func purl(b lock.Bundle) string {
	id := b.ID
	kind := "generic"
	where := strings.Trim(hostPath(id), "/")
	parts := strings.Split(where, "/")
	if id.Kind == lock.HostID && parts[0] == "github.com" && len(parts) == 3 {
		kind = "github"
		where = strings.ToLower(path.Join(parts[1:]...))
	}
	var s strings.Builder
	s.WriteString("pkg:" + kind + "/" + quotePath(where))
	if b.Version != "" {
		s.WriteString("@" + quote(b.Version))
	}
	at := repository(b.URL)
	if at != "" && b.Replace.IsZero() {
		s.WriteString("?vcs_url=" + quote("git+"+at+"@"+b.Commit))
	} else {
		s.WriteString(
			"?bundle=" + quote(cmp.Or(b.Replace.String(), id.String())),
		)
	}
	if id.Subdir != "" {
		s.WriteString("#" + quotePath(id.Subdir))
	}
	return s.String()
}

// hostPath returns the id without scheme and user.
func hostPath(id lock.ID) string {
	where := id.Repo
	if _, rest, ok := strings.Cut(where, "://"); ok {
		where = rest
	} else if id.Kind == lock.URLID {
		where = strings.Replace(where, ":", "/", 1)
	}
	host, rest, _ := strings.Cut(where, "/")
	if _, name, ok := strings.Cut(host, "@"); ok {
		host = name
	}
	return path.Join(host+"/"+rest, id.Major)
}

// repository returns an address as a URL, also for git@host:path.
func repository(at string) string {
	if at == "" || strings.Contains(at, "://") {
		return at
	}
	if host, rest, ok := strings.Cut(at, ":"); ok {
		return "ssh://" + host + "/" + strings.TrimPrefix(rest, "/")
	}
	return at
}

func quotePath(p string) string {
	var parts []string
	for part := range strings.SplitSeq(path.Clean(p), "/") {
		if part != "." && part != ".." && part != "" {
			parts = append(parts, quote(part))
		}
	}
	return strings.Join(parts, "/")
}

// quote writes every byte as %XX that is not a letter, a digit or one of ".-_~:".
func quote(s string) string {
	return strings.NewReplacer("+", "%20", "%3A", ":").Replace(url.QueryEscape(s))
}
