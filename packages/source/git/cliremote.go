package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ryeos/rye/diag"
)

// cli is a Remote by the git command.
type cli struct {
	url   string
	git   *command
	rt    http.RoundTripper // reads the target of a redirect
	limit int64
}

// ListRefs implements Remote.
func (r *cli) ListRefs(ctx context.Context) (*Refs, error) {
	out, err := r.git.run(ctx, "", "", nil, "ls-remote", "--symref", "--end-of-options", r.url, "HEAD", "refs/heads/*", "refs/tags/*")
	if err != nil {
		return nil, r.wrong(ctx, "asking", err)
	}
	return parseRefs(r.url, out)
}

func parseRefs(url, out string) (*Refs, error) {
	refs := &Refs{}
	for line := range strings.Lines(out) {
		oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(oid, "ref: ") {
			continue
		}
		if !ok || !isOID(oid) {
			return nil, diag.New(diag.Network, "asking %s: git prints %q", url, line)
		}
		refs.SHA256 = len(oid) == 64
		tag, peeled := strings.CutSuffix(name, "^{}")
		switch last := len(refs.List) - 1; {
		case name == "HEAD":
			refs.Head = oid
		case peeled && last >= 0 && refs.List[last].Name == tag:
			refs.List[last].Commit = oid
		case !peeled && carriedRef(name):
			refs.List = append(refs.List, Ref{Name: name, OID: oid, Commit: oid})
		}
	}
	refs.sort()
	return refs, nil
}

// FetchRef implements Remote.
func (r *cli) FetchRef(ctx context.Context, store string, w Want) error {
	switch w.Depth {
	case Tip:
		return r.fetch(ctx, store, w, nil, "--depth=1")
	case Commits:
		return r.fetch(ctx, store, w, nil, "--filter=tree:0")
	}
	return r.fetch(ctx, store, w, nil)
}

// fetch fetches objects and creates a ref to each, so that git never prunes them.
func (r *cli) fetch(ctx context.Context, store string, w Want, more []string, how ...string) error {
	missing, err := r.missing(ctx, store, w)
	if err != nil || len(missing) == 0 {
		return err
	}
	var specs strings.Builder
	for _, oid := range missing {
		fmt.Fprintf(&specs, "+%s:refs/rye/%s\n", oid, oid)
	}
	args := append(append([]string{"fetch", "--quiet"}, plainFetch()...), how...)
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

func plainFetch() []string {
	return []string{"--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"}
}

// bounded runs a fetch and stops it above the limit.
func (r *cli) bounded(ctx context.Context, store, stdin string, more, args []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var over atomic.Bool
	done := make(chan struct{})
	defer close(done)
	go watch(done, filepath.Join(store, "objects"), r.limit, func() {
		over.Store(true)
		cancel(tooLarge(r.url, r.limit))
	})
	_, err := r.git.run(ctx, store, stdin, more, args...)
	removeTemporary(store)
	switch {
	case over.Load():
		return tooLarge(r.url, r.limit)
	case err != nil:
		return r.wrong(ctx, "fetching", err)
	}
	return nil
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
	out, err := r.local().run(ctx, store, strings.Join(w.OIDs, "\n")+"\n", nil, "cat-file", "--batch-check")
	if err != nil {
		return nil, r.wrong(ctx, "reading the cache of", err)
	}
	var missing []string
	for line := range strings.Lines(out) {
		if oid, ok := strings.CutSuffix(strings.TrimSpace(line), " missing"); ok {
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

// FetchSubtree implements Remote. It fetches the commit and its trees, then the
// missing files of the directory in one request.
func (r *cli) FetchSubtree(ctx context.Context, store string, w Want, dir string) error {
	noHaves := []string{"-c", "fetch.negotiationAlgorithm=noop"}
	if err := forgetPromisor(store, w.SHA256); err != nil { // a killed fetch left it
		return err
	}
	if err := r.fetch(ctx, store, w, noHaves, "--depth=1", "--filter=blob:none"); err != nil {
		return err
	}
	objs, err := r.Open(ctx, store)
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
		files, err := list(ctx, objs, tree)
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
	args := append(append([]string{"fetch", "--quiet"}, plainFetch()...), "--filter=blob:none", "--stdin", "--end-of-options", r.url)
	if err := r.bounded(ctx, store, strings.Join(missing, "\n")+"\n", noHaves, args); err != nil {
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
	case e.contains("returned error: 403", "authentication failed", "access denied", "permission denied (", "http basic: access denied"):
		return unauthorised(r.url, true)
	case e.contains("could not read username", "could not read password", "terminal prompts disabled", "returned error: 401", "host key verification failed"):
		return unauthorised(r.url, false)
	case e.contains("not our ref", "unadvertised object"):
		return network(ctx, doing, r.url, fmt.Errorf("%w (%w)", errNotOffered, err))
	case e.contains("did not send all necessary objects", "bad object", "corrupt", "packfile "): // the remote or the store is damaged: a new store shows which
		return network(ctx, doing, r.url, fmt.Errorf("%w (%w)", errMissing, err))
	case e.contains("repository not found", "returned error: 404", "does not appear to be a git repository", "' not found", "no such file or directory", "project not found"):
		return notFound(r.url)
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
	if err != nil || !strings.HasPrefix(r.url, "http") {
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
func (c *command) ensure() error { return os.MkdirAll(c.dir, 0o700) }
