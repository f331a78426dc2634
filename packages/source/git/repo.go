package git

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
)

// repo is one remote with the transports that can reach it.
type repo struct {
	s    *Source
	url  string
	home string // where it answers: url, or url with .git behind it

	mu     sync.Mutex
	chosen Remote
	final  bool // nothing else will be tried
}

func (s *Source) repo(url string) *repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[url]
	if r == nil {
		r = &repo{s: s, url: url, home: url}
		s.repos[url] = r
	}
	return r
}

// goRemote returns the remote by go-git, or nil for what it does not speak.
func (r *repo) goRemote() Remote {
	switch scheme, _, _ := strings.Cut(r.home, "://"); scheme {
	case "http", "https":
		return &goHTTP{url: r.home, http: r.s.http, limit: r.s.p.MaxTransfer, sent: r.sent()}
	case "file":
		return &goFile{url: r.home}
	}
	return nil
}

func (r *repo) sent() func(int64) {
	if r.s.p.Progress == nil {
		return nil
	}
	return func(n int64) { r.s.p.Progress(r.url, n) }
}

func (r *repo) cliRemote() (Remote, error) {
	c, err := newCommand(r.s.p.Environ, r.s.p.Interactive, r.s.p.Cache.GitDir())
	if err == nil {
		err = c.ensure()
	}
	if err != nil {
		return nil, err
	}
	return &cli{url: r.home, git: c, rt: r.s.rt, limit: r.s.p.MaxTransfer, sent: r.sent()}, nil
}

// pick returns the transport to use, and whether another may be tried after it.
func (r *repo) pick() (Remote, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chosen != nil {
		return r.chosen, !r.final, nil
	}
	if r.s.p.Transport != Command {
		if r.chosen = r.goRemote(); r.chosen != nil {
			r.final = r.s.p.Transport == GoGit
			return r.chosen, !r.final, nil
		}
		if r.s.p.Transport == GoGit {
			return nil, false, diag.New(diag.ConfigError, "asking %s: go-git, which RYE_GIT demands, does not reach it", r.url)
		}
	}
	var err error
	if r.chosen, err = r.cliRemote(); err != nil {
		return nil, false, noGit(r.url, "it is reached by ssh, or RYE_GIT demands the command", err)
	}
	r.final = true
	return r.chosen, false, nil
}

// do lets the transport do something within the time limit. What go-git cannot
// do is tried again with the git command, which then stays.
func (r *repo) do(ctx context.Context, fn func(context.Context, Remote) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.s.p.Timeout, errTooLong)
	defer cancel()
	remote, another, err := r.pick()
	if err != nil {
		return err
	}
	err = fn(ctx, remote)
	if diag.CodeOf(err) == diag.SourceMoved && r.sameHome(err) {
		return r.do(ctx, fn)
	}
	why := reason(err)
	if !another || why == "" || ctx.Err() != nil {
		return err
	}
	next, missing := r.cliRemote()
	if missing != nil {
		return noGit(r.url, why, err)
	}
	r.mu.Lock()
	r.chosen, r.final = next, true
	r.mu.Unlock()
	return r.do(ctx, fn)
}

// reason says why the other transport may do better, or "".
func reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errAuth):
		return "it does not exist, or needs credentials"
	case errors.Is(err, errUnsupported):
		return "go-git cannot read it"
	case errors.Is(err, errNotOffered):
		return "it sends that commit only by a newer protocol"
	}
	return ""
}

// sameHome recognises the one redirect that is no move: hosts that want .git at
// the end. From now on that address is used.
func (r *repo) sameHome(err error) bool {
	var e *diag.Error
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.As(err, &e) || r.home != r.url || e.Details["moved_to"] != r.url+".git" {
		return false
	}
	r.home, r.chosen, r.final = r.url+".git", nil, false
	return true
}

// subtree reports whether only a folder of the repository is better fetched
// alone: by the command, when there is one and nobody demands go-git.
func (r *repo) subtree() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, isFile := r.chosen.(*goFile); isFile || r.final || r.s.p.Transport == GoGit {
		return
	}
	if next, err := r.cliRemote(); err == nil {
		r.chosen, r.final = next, true
	}
}
