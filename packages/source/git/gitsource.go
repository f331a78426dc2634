// Package git fetches bundles from git remotes, by itself or by the git command,
// behind one Remote interface.
//
// It streams objects into bare repositories of the cache and never checks files
// out. Each object is compared with its name, and a commit is accepted only if a
// branch or tag of the same remote contains it. The package does not select
// versions, judge signatures, install bundles, or read the repository of the
// project.
package git

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/once"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// The values of Params.Transport, as RYE_GIT has them.
const (
	Auto    = ""
	BuiltIn = "go" // the built-in client
	Command = "cli"
)

// Params configures a source. Cache is required.
type Params struct {
	Cache *source.Cache
	// Environ is the environment, KEY=VALUE, of the git command and its
	// credentials. Nil means that there is no git command.
	Environ []string
	// Self is this program, which is started again with ChildVerb for each request of the
	// built-in client.
	Self string
	// Dir is the directory of the project: conditional includes of git's
	// configuration (includeIf) are read as they apply there. "" means none.
	Dir string
	// Transport forces the built-in client or the command; Auto decides for each remote.
	Transport string
	// Offline uses the cache only.
	Offline bool
	// Interactive permits git to ask for credentials at the terminal.
	Interactive bool

	// Tests use a short time, a small transfer and repositories on this machine.
	timeout     time.Duration           // of each exchange with a remote; 0 means maxTime
	maxTransfer int64                   // bytes of one exchange; 0 means 2 GiB
	url         func(id lock.ID) string // of a bundle; nil means the URL of its id
}

// maxGit is the memory, in bytes, of all git commands of a source together.
const maxGit = 192 << 20

// maxTime is the time for one exchange with a remote.
const maxTime = 10 * time.Minute

// Source is the source of bundles in git repositories. It asks each remote for its
// refs at most once.
type Source struct {
	p        Params
	rt       *http.Transport // for the target of a redirect
	heavy    sync.Mutex
	guard    guard         // of git commands
	children guard         // of the built-in client
	slots    chan struct{} // one for each child that may run at once
	conf     once.Map[string, *config]
	refs     once.Map[string, *Refs]
	hist     once.Map[string, *history]
	mu       sync.Mutex
	repos    map[string]*repo
}

// New returns a source. Close closes its idle connections.
func New(p Params) (*Source, error) {
	switch p.Transport {
	case Auto, BuiltIn, Command:
	default:
		return nil, diag.New(diag.ConfigError, "reading RYE_GIT: %q is not go or cli", p.Transport)
	}
	if p.timeout == 0 {
		p.timeout = maxTime
	}
	if p.maxTransfer == 0 {
		p.maxTransfer = 2 << 30
	}
	if p.url == nil {
		p.url = lock.ID.URL
	}
	return &Source{
		p:        p,
		rt:       newTransport(),
		repos:    map[string]*repo{},
		slots:    make(chan struct{}, maxChildren),
		guard:    guard{limit: maxGit},
		children: guard{limit: maxChildMemory},
	}, nil
}

// Close closes idle connections. The source can still be used.
func (s *Source) Close() error {
	s.rt.CloseIdleConnections()
	return nil
}

// url returns the address of a bundle's repository.
func (s *Source) url(id lock.ID) (string, error) {
	u := s.p.url(id)
	if u == "" {
		return "", diag.New(diag.SourceNotFound, "looking for %s: its id does not name a git repository", id)
	}
	scheme, rest, ok := strings.Cut(u, "://")
	if !ok { // git@host:path
		scheme = "ssh"
		i := strings.IndexAny(u, ":/")
		if i <= 0 ||
			u[i] != ':' ||
			u[0] == '-' ||
			!strings.Contains(u[:i], "@") ||
			strings.Contains(u, "::") {
			return "", diag.New(diag.Usage, "looking for %s: %q is not an address", id, u)
		}
	}
	switch {
	case !strings.Contains(":"+allowed+":", ":"+scheme+":"):
		return "", diag.New(diag.PolicyDenied, "looking for %s: rye fetches by https, http, ssh and file, not by %s", id, scheme)
	case strings.HasPrefix(rest, "-") || strings.ContainsAny(u, "\x00\n\r"):
		return "", diag.New(diag.Usage, "looking for %s: %q is not an address", id, u)
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

// listRefs returns the refs of a remote, or offline the refs of the last time.
func (s *Source) listRefs(ctx context.Context, url string) (*Refs, error) {
	return s.refs.Get(ctx, url, func() (refs *Refs, err error) {
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
	return s.checkRefs(ctx, o, refs)
}

// bound checks that an origin belongs to the repository of its id, and returns the
// refs of that.
func (s *Source) bound(ctx context.Context, o source.Origin) (*Refs, error) {
	u, err := s.url(o.ID)
	if err != nil {
		return nil, err
	}
	if o.URL != u || o.Subdir != o.ID.Subdir {
		return nil, diag.New(
			diag.LockRepointed,
			"fetching %s %s: it is recorded from %s, its id names %s",
			o.ID,
			o.Version,
			location(o.URL, o.Subdir),
			location(u, o.ID.Subdir),
		).
			WithDetail("expected", u).WithDetail("found", o.URL)
	}
	if !isOID(o.Commit) ||
		o.TagObject != "" && !isOID(o.TagObject) ||
		o.Tree != "" && !isOID(o.Tree) {
		return nil, diag.New(diag.LockMismatch, "fetching %s %s: %q is not a commit, or its tag or tree is not an object", o.ID, o.Version, o.Commit)
	}
	return s.listRefs(ctx, u)
}

func location(url, sub string) string {
	if sub != "" {
		return url + "//" + sub
	}
	return url
}

// checkRefs refuses an origin that its remote contradicts: its tag has another
// object, or no branch or tag contains its commit.
func (s *Source) checkRefs(ctx context.Context, o source.Origin, refs *Refs) error {
	if o.Ref == "" {
		return s.reachable(ctx, o, refs)
	}
	v := source.Version{}
	ref, ok := refs.Find(o.Ref)
	if ok {
		v = source.Version{
			Version:   o.Version,
			Ref:       ref.Name,
			TagObject: ref.TagObject(),
			Commit:    ref.Commit,
		}
	}
	if !ok || v.Commit != o.Commit || v.TagObject != o.TagObject {
		return source.Moved(o, v)
	}
	return nil
}

// impostor is the error for a commit that no branch or tag contains. Hosts serve the
// commits of forks under the address of the original.
func impostor(o source.Origin) error {
	return diag.New(
		diag.ImpostorCommit,
		"fetching %s %s: no branch or tag of %s holds the commit %s",
		o.ID,
		o.Version,
		o.URL,
		o.Commit,
	).
		WithDetail("url", o.URL).WithDetail("commit", o.Commit)
}
