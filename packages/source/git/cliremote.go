package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

// cli is a Remote by the git command.
type cli struct {
	url   string
	git   *command
	rt    http.RoundTripper // reads the target of a redirect; nil: it is not read
	limit int64
	guard *guard
}

// ListRefs implements Remote.
func (r *cli) ListRefs(ctx context.Context) (*Refs, error) {
	refs := &Refs{}
	fault := error(nil)
	var bytes int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	each := func(line []byte) {
		if bytes += int64(len(line)) + 1; fault == nil && bytes > min(maxAdvert, r.limit) {
			fault = tooManyRefs(r.url, fmt.Sprintf("more than %d bytes", min(maxAdvert, r.limit)))
		}
		if fault == nil {
			fault = r.oneRef(refs, string(line))
		}
		if fault != nil {
			cancel(fault)
		}
	}
	_, err := r.git.do(ctx, call{line: each, started: r.guarded(cancel),
		args: []string{"ls-remote", "--symref", "--end-of-options", r.url, "HEAD", "refs/heads/*", "refs/tags/*"}})
	switch {
	case fault != nil:
		return nil, fault
	case err != nil:
		return nil, r.wrong(ctx, "asking", err)
	}
	refs.sort()
	return refs, nil
}

// oneRef reads a line of git ls-remote.
func (r *cli) oneRef(refs *Refs, line string) error {
	oid, name, ok := strings.Cut(line, "\t")
	if strings.HasPrefix(oid, "ref: ") {
		return nil
	}
	if !ok || !isOID(oid) {
		return diag.New(diag.Network, "asking %s: git prints %.100q", r.url, line)
	}
	refs.SHA256 = len(oid) == 64
	if err := refs.keep(oid, name); err != nil {
		return tooManyRefs(r.url, fmt.Sprintf("more than %d branches and tags", maxRefs))
	}
	return nil
}

// Repository implements Remote. Only the command can fetch the files of one directory.
func (r *cli) Repository(p part) string {
	if p.Subdir != "" && p.File == "" && !p.Whole {
		return partialGit
	}
	return filesGit
}

// Pass implements Remote.
func (r *cli) Pass(ctx context.Context, repository string, w Want, p part, to receiver) error {
	var err error
	if w.Depth == Tip && r.Repository(p) == partialGit {
		err = r.fetchSubtree(ctx, repository, w, p.Subdir)
	} else {
		err = r.fetchRef(ctx, repository, w)
	}
	if err != nil {
		return err
	}
	objs, err := r.open(ctx, repository)
	if err != nil {
		return err
	}
	defer objs.Close()
	return p.pass(ctx, objs, to)
}

// History implements Remote.
func (r *cli) History(
	ctx context.Context,
	repository string,
	w Want,
	offline bool,
) (*history, error) {
	if !offline {
		if err := r.fetchRef(ctx, repository, w); err != nil {
			return nil, err
		}
	}
	objs, err := r.open(ctx, repository)
	if err != nil {
		return nil, err
	}
	defer objs.Close()
	h := newHistory()
	return h, h.fill(ctx, objs, w.OIDs)
}

// fetchRef fetches objects with those that they need.
func (r *cli) fetchRef(ctx context.Context, store string, w Want) error {
	switch w.Depth {
	case Tip:
		return r.fetch(ctx, store, w, nil, "--depth=1")
	case Commits:
		return r.fetch(ctx, store, w, nil, "--filter=tree:0")
	}
	return r.fetch(ctx, store, w, nil)
}

// fetch fetches objects and creates a ref to each, so that git never prunes them.
func (r *cli) fetch(
	ctx context.Context,
	store string,
	w Want,
	more []string,
	how ...string,
) error {
	missing, err := r.missing(ctx, store, w)
	if err != nil || len(missing) == 0 {
		return err
	}
	var specs strings.Builder
	for _, oid := range missing {
		fmt.Fprintf(&specs, "+%s:refs/rye/%s\n", oid, oid)
	}
	args := append(append([]string{"fetch", "--quiet"}, r.plainFetch()...), how...)
	args = append(args, "--stdin", "--end-of-options", r.url)
	if err := r.bounded(ctx, store, specs.String(), more, args); err != nil {
		return err
	}
	if err := forgetPromisor(store, w.SHA256); err != nil {
		return err
	}
	if missing, err = r.missing(ctx, store, w); err == nil && len(missing) > 0 {
		err = network(ctx, "fetching", r.url, fmt.Errorf("%w: %s", errMissing, missing[0]))
	}
	return err
}

func (r *cli) plainFetch() []string {
	out := []string{"--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"}
	if strings.HasPrefix(r.url, "file://") { // git removes the settings of its caller for the other side
		out = append(out, "--upload-pack=git -c core.bigFileThreshold=16m -c core.packedGitLimit=64m -c core.packedGitWindowSize=4m "+
			"-c pack.threads=1 -c pack.windowMemory=32m -c pack.deltaCacheSize=16m upload-pack")
	}
	return out
}

// bounded runs a fetch and stops it above the limit.
func (r *cli) bounded(ctx context.Context, store, stdin string, more, args []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go watch(
		done,
		filepath.Join(store, "objects"),
		r.limit,
		func() {
			cancel(tooLarge(r.url, r.limit))
		},
	)
	_, err := r.git.do(ctx, call{
		repo:    store,
		stdin:   stdin,
		more:    more,
		args:    args,
		started: r.guarded(cancel),
	})
	removeTemporary(store)
	if err != nil {
		return r.wrong(ctx, "fetching", err)
	}
	return nil
}

// guarded returns a function that limits the memory of a process of git.
func (r *cli) guarded(cancel context.CancelCauseFunc) func(pid int) func() {
	return func(pid int) func() {
		return r.guard.watch(pid, func(limit int64) {
			cancel(overLimit(r.url, fmt.Errorf("git needs more than %d bytes of memory for what it sends", limit)))
		})
	}
}

// missing returns the wanted objects that the store does not have. Without it, git
// would request objects of the store from the remote again.
func (r *cli) missing(ctx context.Context, store string, w Want) ([]string, error) {
	if slices.ContainsFunc(w.OIDs, func(oid string) bool { return !isOID(oid) }) {
		return nil, diag.New(diag.Internal, "fetching %q: some are not names of objects", w.OIDs)
	}
	if empty(store) {
		return w.OIDs, nil
	}
	out, err := r.local().run(
		ctx,
		store,
		strings.Join(w.OIDs, "\n")+"\n",
		nil,
		"cat-file",
		"--batch-check",
	)
	if err != nil {
		return nil, r.wrong(ctx, "reading the cache of", err)
	}
	var missing []string
	for line := range strings.Lines(out) {
		oid, ok := strings.CutSuffix(strings.TrimSpace(line), " missing")
		if ok {
			missing = append(missing, oid)
		}
	}
	return missing, nil
}

func empty(store string) bool {
	found, _ := filepath.Glob(filepath.Join(store, "objects", "pack", "*.idx"))
	return len(found) == 0
}

// local returns the command without transports: git must not fetch missing objects
// one by one.
func (r *cli) local() *command {
	c := *r.git
	c.env = append(slices.Clone(c.env), "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1")
	c.interactive = false
	return &c
}

// fetchSubtree fetches the commit and its trees, then the missing files of the directory
// in one request.
func (r *cli) fetchSubtree(ctx context.Context, store string, w Want, dir string) error {
	noHaves := []string{"-c", "fetch.negotiationAlgorithm=noop"}
	if err := forgetPromisor(store, w.SHA256); err != nil { // a killed fetch left it
		return err
	}
	err := r.fetch(ctx, store, w, noHaves, "--depth=1", "--filter=blob:none")
	if err != nil {
		return err
	}
	objs, err := r.open(ctx, store)
	if err != nil {
		return err
	}
	defer objs.Close()
	var blobs []string
	for _, oid := range w.OIDs {
		_, c, err := peel(ctx, objs, oid)
		if err != nil {
			return err
		}
		tree, err := descend(ctx, objs, c.tree, dir)
		if err != nil {
			return err
		}
		files, err := list(ctx, objs, tree, false)
		if err != nil {
			return err
		}
		for _, f := range files {
			blobs = append(blobs, f.oid)
		}
	}
	slices.Sort(blobs)
	missing, err := r.missing(ctx, store, Want{OIDs: slices.Compact(blobs)})
	if err != nil || len(missing) == 0 {
		return err
	}
	args := append(
		append([]string{"fetch", "--quiet"}, r.plainFetch()...),
		"--filter=blob:none",
		"--stdin",
		"--end-of-options",
		r.url,
	)
	err = r.bounded(ctx, store, strings.Join(missing, "\n")+"\n", noHaves, args)
	if err != nil {
		return err
	}
	return forgetPromisor(store, w.SHA256)
}

// forgetPromisor removes the settings that a partial fetch writes into a repository.
// With them, git would request every missing object from the remote on its own.
func forgetPromisor(store string, isSHA256 bool) error {
	if err := plainConfig(store, isSHA256); err != nil {
		return diag.New(diag.FileSystemError, "writing the cache: %w", err)
	}
	return nil
}

// wrong returns the typed error for a failed git command, by its stderr.
func (r *cli) wrong(ctx context.Context, doing string, err error) error {
	if diag.CodeOf(context.Cause(ctx)) == diag.LimitExceeded {
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		return stopped(ctx, doing, r.url)
	}
	var e *gitError
	if !errors.As(err, &e) {
		return network(ctx, doing, r.url, err)
	}
	switch {
	case e.contains("returned error: 30", "unable to update url base from redirection"):
		return moved(r.url, r.home(ctx))
	case e.contains("could not resolve host"):
		return unresolved(doing, r.url, err)
	case e.contains("host key verification failed"):
		return diag.New(diag.AuthRequired, "%s %s: ssh does not know the key of the host: host key verification failed", doing, r.url).
			WithReason("host_key").WithDetail("url", r.url)
	case e.contains("returned error: 403", "authentication failed", "access denied", "permission denied (", "http basic: access denied"):
		return unauthorised(r.url, true, e.remote())
	case e.contains("could not read username", "could not read password", "terminal prompts disabled", "returned error: 401"):
		return unauthorised(r.url, false, e.remote())
	case e.contains("not our ref", "unadvertised object"):
		return network(ctx, doing, r.url, fmt.Errorf("%w (%w)", errNotOffered, err))
	case e.contains("did not send all necessary objects", "bad object", "corrupt", "packfile "): // the remote or the store is damaged: a new store shows which
		return network(ctx, doing, r.url, fmt.Errorf("%w (%w)", errMissing, err))
	case e.contains("repository not found", "returned error: 404", "does not appear to be a git repository", "' not found", "no such file or directory", "project not found"):
		return notFound(r.url, e.remote())
	case e.contains("transport '"):
		return diag.New(diag.PolicyDenied, "%s %s: %w", doing, r.url, err)
	case e.contains("no space left", "read-only file system"):
		return diag.New(diag.FileSystemError, "%s %s: %w", doing, r.url, err).WithReason("cache")
	}
	return network(ctx, doing, r.url, err)
}

// home returns the target of a redirect, or "". git does not print it, so the address
// is requested again, without credentials.
func (r *cli) home(ctx context.Context) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/info/refs?service=git-upload-pack", nil)
	if err != nil || r.rt == nil || !strings.HasPrefix(r.url, "http") {
		return ""
	}
	res, err := r.rt.RoundTrip(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	if res.StatusCode < 300 || res.StatusCode >= 400 {
		return ""
	}
	return homeOf(req, res)
}

// ensure creates the working directory of git.
func (c *command) ensure() error {
	err := atomicfile.Private(c.dir).MkdirAll(".")
	if err != nil {
		return diag.New(diag.FileSystemError, "making the cache: %w", err).WithReason("cache")
	}
	return nil
}
