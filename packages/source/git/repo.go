package git

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/packages/source"
)

// repo is one remote with the transports that can reach it.
type repo struct {
	s    *Source
	url  string
	home string // the address in use: url, or url with .git appended

	mu     sync.Mutex
	chosen Remote
	final  bool // no other transport will be tried
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

// goRemote returns the remote without the git command, or nil for other schemes.
func (r *repo) goRemote() Remote {
	scheme, _, _ := strings.Cut(r.home, "://")
	if scheme != "http" && scheme != "https" && scheme != "file" {
		return nil
	}
	return &goRemote{
		url:   r.home,
		self:  r.s.p.Self,
		env:   childEnviron(r.s.p.Environ),
		limit: r.s.p.maxTransfer,
		slots: r.s.slots,
		guard: &r.s.children,
	}
}

func (r *repo) cliRemote(ctx context.Context) (Remote, error) {
	c, err := newCommand(
		r.s.p.Environ,
		r.s.p.Interactive,
		r.s.p.Cache.GitDir(),
	)
	if err == nil {
		err = c.ensure()
	}
	if err != nil {
		return nil, err
	}
	conf, err := r.s.config(ctx)
	if err != nil {
		return nil, err
	}
	c.env = conf.environ(c.env)
	out := &cli{
		url:   r.home,
		git:   c,
		limit: r.s.p.maxTransfer,
		guard: &r.s.guard,
	}
	// The built-in client sends nothing to an address that git is configured to
	// reach in another way, also not to read where a redirect leads.
	why := r.configured(conf)
	if why == "" || strings.HasPrefix(why, "credential.") {
		out.rt = r.s.rt
	}
	return out, nil
}

// configured returns the setting that decides how git reaches the remote, or "".
func (r *repo) configured(conf *config) string {
	if name := conf.about(r.home); name != "" {
		return name
	}
	if strings.HasPrefix(r.home, "http") {
		return tlsVariable(r.s.p.Environ)
	}
	return ""
}

// pick returns the transport to use, and whether another may be tried after it. The
// git command is used wherever git has a setting for the address: insteadOf, a
// proxy, certificates, headers, credentials.
//
// The own client refuses an address for which git's configuration has insteadOf or a proxy: a
// second implementation of these rules would differ, and the name of a private repository would
// reach the wrong host.
func (r *repo) pick(ctx context.Context) (Remote, bool, error) {
	conf, err := r.s.config(ctx)
	if err != nil {
		return nil, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chosen != nil {
		return r.chosen, !r.final, nil
	}
	why := r.configured(conf)
	switch built := r.goRemote(); {
	case r.s.p.Transport == Command:
	case r.s.p.Transport == Auto && why != "":
	case why != "" && !strings.HasPrefix(why, "credential."): // without credentials the remote decides
		return nil, false, diag.New(diag.ConfigError, "asking %s: git has the setting %s for this address, which the built-in client does not apply", r.url, why).
			WithReason("transport_setting").WithDetail("setting", why)
	case built != nil:
		r.chosen = built
		r.final = r.s.p.Transport == BuiltIn
		return r.chosen, !r.final, nil
	case r.s.p.Transport == BuiltIn:
		return nil, false, diag.New(diag.ConfigError, "asking %s: the built-in client, which RYE_GIT requires, does not support its scheme", r.url)
	}
	if r.chosen, err = r.cliRemote(ctx); err != nil {
		r.chosen = nil
		return nil, false, noGit(r.url, "it uses ssh, or RYE_GIT requires the command", err)
	}
	r.final = true
	return r.chosen, false, nil
}

// do calls fn with the transport, within the time limit. If the built-in client cannot do it, fn is
// called again with the git command, which is then used for the remote.
func (r *repo) do(ctx context.Context, fn func(context.Context, Remote) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.s.p.timeout, source.ErrTooLong)
	defer cancel()
	remote, another, err := r.pick(ctx)
	if err != nil {
		return err
	}
	err = r.safely(func() error { return fn(ctx, remote) })
	if diag.CodeOf(err) == diag.SourceMoved && r.sameHome(err) {
		return r.do(ctx, fn)
	}
	why := fallbackReason(err)
	if !another || why == "" || ctx.Err() != nil {
		return err
	}
	next, missing := r.cliRemote(ctx)
	if missing != nil {
		return noGit(r.url, why, err)
	}
	r.mu.Lock()
	r.chosen = next
	r.final = true
	r.mu.Unlock()
	return r.do(ctx, fn)
}

// safely makes a panic an error. What a remote sends is read in goroutines, where a
// panic would end the process in the middle of its work.
func (r *repo) safely(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.New(diag.Internal, "reading what %s sent: %v", r.url, p)
		}
	}()
	return fn()
}

// fallbackReason returns why the other transport may succeed, or "".
func fallbackReason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errAuth):
		return "it does not exist, or needs credentials"
	case errors.Is(err, errUnsupported):
		return "the built-in client cannot read it"
	case errors.Is(err, errNotOffered):
		return "it sends that commit only by a newer protocol"
	}
	return ""
}

// sameHome reports whether an error is a redirect that only appends .git, which some
// hosts require. The new address is used from then on.
func (r *repo) sameHome(err error) bool {
	var e *diag.Error
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.As(err, &e) ||
		r.home != r.url ||
		e.Details["moved_to"] != r.url+".git" {
		return false
	}
	r.home = r.url + ".git"
	r.chosen = nil
	r.final = false
	return true
}

// subtree chooses the git command, if there is one and the built-in client is not forced: only the
// command can fetch a single directory.
func (r *repo) subtree(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inPlace := r.chosen != nil && r.chosen.Repository(part{}) == ""
	if inPlace || r.final || r.s.p.Transport == BuiltIn {
		return
	}
	if next, err := r.cliRemote(ctx); err == nil {
		r.chosen = next
		r.final = true
	}
}
