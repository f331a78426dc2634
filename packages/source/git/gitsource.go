// Package git fetches bundles from git remotes, by go-git or by the git
// command, behind one Remote interface.
//
// It streams objects into bare stores of the cache and never checks anything
// out. Each object is held against its name, and a commit counts only when a
// branch or tag of that very remote holds it. It decides nothing about
// selection, trust or installation, and project repositories are not its
// business.
package git

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// The values of Params.Transport, which are those of RYE_GIT.
const (
	Auto    = ""
	GoGit   = "go"
	Command = "cli"
)

// Params says how to fetch. Cache is required.
type Params struct {
	Cache *source.Cache
	// Environ is the environment, KEY=VALUE, in which git and its credentials
	// are looked for. Nil means that there is no git command.
	Environ []string
	// Transport forces go-git or the command; Auto decides for each remote.
	Transport string
	// Offline answers from the cache alone.
	Offline bool
	// Interactive lets git ask for credentials at the terminal.
	Interactive bool
	// HTTP makes the requests of go-git; nil means plain ones with the proxy of
	// the process.
	HTTP http.RoundTripper
	// Timeout bounds each exchange with a remote; zero means 10 minutes.
	Timeout time.Duration
	// MaxTransfer bounds what one exchange may bring; zero means 2 GiB.
	MaxTransfer int64
	// URL says where a bundle is; nil asks its id.
	URL func(id lock.ID) string
	// Progress hears of bytes that arrived, from several goroutines. Nil: nobody.
	Progress func(url string, bytes int64)
}

// Source is the source of bundles in git repositories. It asks each remote for
// its refs once in its life.
type Source struct {
	p     Params
	http  transport.Transport
	rt    http.RoundTripper
	refs  source.Once[string, *Refs]
	hist  source.Once[string, *history]
	mu    sync.Mutex
	repos map[string]*repo
}

// New returns a source. Close lets go of its connections.
func New(p Params) (*Source, error) {
	switch p.Transport {
	case Auto, GoGit, Command:
	default:
		return nil, diag.New(diag.ConfigError, "reading RYE_GIT: %q is neither go nor cli", p.Transport)
	}
	if p.Timeout == 0 {
		p.Timeout = 10 * time.Minute
	}
	if p.MaxTransfer == 0 {
		p.MaxTransfer = 2 << 30
	}
	if p.URL == nil {
		p.URL = lock.ID.URL
	}
	rt := p.HTTP
	if rt == nil {
		rt = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: 2 * time.Minute,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		}
	}
	return &Source{p: p, rt: rt, http: newTransport(rt), repos: map[string]*repo{}}, nil
}

// Close lets go of idle connections; the source can still be used.
func (s *Source) Close() error {
	if t, ok := s.rt.(*http.Transport); ok && s.p.HTTP == nil {
		t.CloseIdleConnections()
	}
	return nil
}

// url returns the address of a bundle's repository.
func (s *Source) url(id lock.ID) (string, error) {
	u := s.p.URL(id)
	if u == "" {
		return "", diag.New(diag.SourceNotFound, "looking for %s: it is in no git repository", id)
	}
	scheme, rest, ok := strings.Cut(u, "://")
	if !ok { // git@host:path
		scheme = "ssh"
		if i := strings.IndexAny(u, ":/"); i <= 0 || u[i] != ':' || u[0] == '-' || !strings.Contains(u[:i], "@") || strings.Contains(u, "::") {
			return "", diag.New(diag.Usage, "looking for %s: %q is no address", id, u)
		}
	}
	switch {
	case !strings.Contains(":"+allowed+":", ":"+scheme+":"):
		return "", diag.New(diag.PolicyDenied, "looking for %s: rye fetches by https, http, ssh and file, not by %s", id, scheme)
	case strings.HasPrefix(rest, "-") || strings.ContainsAny(u, "\x00\n\r"):
		return "", diag.New(diag.Usage, "looking for %s: %q is no address", id, u)
	}
	return u, nil
}

// Versions implements source.Source.
func (s *Source) Versions(ctx context.Context, id lock.ID) (*source.Listing, error) {
	u, err := s.url(id)
	if err != nil {
		return nil, err
	}
	refs, err := s.listRefs(ctx, u)
	if err != nil {
		return nil, err
	}
	return listing(id, u, refs), nil
}

// listRefs asks a remote once.
func (s *Source) listRefs(ctx context.Context, url string) (*Refs, error) {
	return s.refs.Do(ctx, url, func() (refs *Refs, err error) {
		st := newStore(s.p.Cache, url)
		if s.p.Offline {
			return st.loadRefs()
		}
		err = s.repo(url).do(ctx, func(ctx context.Context, r Remote) error {
			refs, err = r.ListRefs(ctx)
			return err
		})
		if err == nil {
			st.saveRefs(refs)
		}
		return refs, err
	})
}

// Revalidate implements source.Source.
func (s *Source) Revalidate(ctx context.Context, o source.Origin) error {
	refs, err := s.bound(ctx, o)
	if err != nil {
		return err
	}
	return s.guard(ctx, o, refs)
}

// bound returns the refs of the repository that an origin must come from.
func (s *Source) bound(ctx context.Context, o source.Origin) (*Refs, error) {
	u, err := s.url(o.ID)
	if err != nil {
		return nil, err
	}
	if o.URL != u || o.Subdir != o.ID.Subdir {
		return nil, diag.New(diag.LockRepointed, "fetching %s %s: it is recorded from %s, its id names %s", o.ID, o.Version, place(o.URL, o.Subdir), place(u, o.ID.Subdir)).
			WithDetail("expected", u).WithDetail("found", o.URL)
	}
	if !isOID(o.Commit) || o.TagObject != "" && !isOID(o.TagObject) || o.Tree != "" && !isOID(o.Tree) {
		return nil, diag.New(diag.LockMismatch, "fetching %s %s: %q is no commit, or its tag or tree is none", o.ID, o.Version, o.Commit)
	}
	return s.listRefs(ctx, u)
}

func place(url, sub string) string {
	if sub != "" {
		return url + "//" + sub
	}
	return url
}

// guard refuses an origin that its remote does not vouch for: a tag that holds
// something else by now, a commit that no branch or tag holds.
func (s *Source) guard(ctx context.Context, o source.Origin, refs *Refs) error {
	if o.Ref == "" {
		return s.reachable(ctx, o, refs)
	}
	v := source.Version{}
	ref, ok := refs.Find(o.Ref)
	if ok {
		v = source.Version{Version: o.Version, Ref: ref.Name, TagObject: ref.TagObject(), Commit: ref.Commit}
	}
	if !ok || v.Commit != o.Commit || v.TagObject != o.TagObject {
		return source.Moved(o, v)
	}
	return nil
}

// impostor is the error for a commit that the repository does not hold.
func impostor(o source.Origin) error {
	return diag.New(diag.ImpostorCommit, "fetching %s %s: no branch or tag of %s holds the commit %s", o.ID, o.Version, o.URL, o.Commit).
		WithDetail("url", o.URL).WithDetail("commit", o.Commit)
}
