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
	rt    http.RoundTripper // to learn where a redirect points
	limit int64
	sent  func(n int64)
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

// fetch brings objects and keeps a ref to each, so that no clean-up of git
// takes them away.
func (r *cli) fetch(ctx context.Context, store string, w Want, more []string, how ...string) error {
	missing, err := r.lacking(ctx, store, w)
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
	if missing, err = r.lacking(ctx, store, w); err == nil && len(missing) > 0 {
		err = network(ctx, "fetching", r.url, fmt.Errorf("%w: %s", errMissing, missing[0]))
	}
	return err
}

func plainFetch() []string {
	return []string{"--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"}
}

// bounded runs a fetch that may not send more than the limit.
func (r *cli) bounded(ctx context.Context, store, stdin string, more, args []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var over atomic.Bool
	done := make(chan struct{})
	defer close(done)
	go watch(done, filepath.Join(store, "objects"), r.limit, r.sent, func() {
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

// lacking asks for the wanted objects that the store has not; git would ask the
// remote again even for what is there.
func (r *cli) lacking(ctx context.Context, store string, w Want) ([]string, error) {
	if slices.ContainsFunc(w.OIDs, func(oid string) bool { return !isOID(oid) }) {
		return nil, diag.New(diag.Internal, "fetching %q: there are things that are no objects", w.OIDs)
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

// local returns the command without any transport: what is not in the store is
// missing, and never fetched one by one.
func (r *cli) local() *command {
	c := *r.git
	c.env = append(slices.Clone(c.env), "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1")
	c.interactive = false
	return &c
}

// FetchSubtree implements Remote: first the commit and its folders, then the
// files of the one folder that are missing, in one go.
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
	missing, err := r.lacking(ctx, store, Want{OIDs: slices.Compact(blobs)})
	if err != nil || len(missing) == 0 {
		return err
	}
	args := append(append([]string{"fetch", "--quiet"}, plainFetch()...), "--filter=blob:none", "--stdin", "--end-of-options", r.url)
	if err := r.bounded(ctx, store, strings.Join(missing, "\n")+"\n", noHaves, args); err != nil {
		return err
	}
	return forgetPromisor(store, w.SHA256)
}

// forgetPromisor takes out what a partial fetch writes into the settings of a
// repository. With it git would ask the remote for every single object that is
// not there, and one that reads does not want that.
func forgetPromisor(store string, isSHA256 bool) error {
	if err := plainConfig(store, isSHA256); err != nil {
		return diag.New(diag.FileSystemError, "writing the cache: %w", err)
	}
	return nil
}

// wrong turns git's last words into an error of ours.
func (r *cli) wrong(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, doing, r.url)
	}
	var s *said
	if !errors.As(err, &s) {
		return network(ctx, doing, r.url, err)
	}
	switch {
	case s.any("returned error: 30", "unable to update url base from redirection"):
		return moved(r.url, r.home(ctx))
	case s.any("returned error: 403", "authentication failed", "access denied", "permission denied (", "http basic: access denied"):
		return unauthorised(r.url, true)
	case s.any("could not read username", "could not read password", "terminal prompts disabled", "returned error: 401", "host key verification failed"):
		return unauthorised(r.url, false)
	case s.any("not our ref", "unadvertised object"):
		return network(ctx, doing, r.url, fmt.Errorf("%w (%w)", errNotOffered, err))
	case s.any("did not send all necessary objects", "bad object", "corrupt", "packfile "): // theirs or ours: a new store tells
		return network(ctx, doing, r.url, fmt.Errorf("%w (%w)", errMissing, err))
	case s.any("repository not found", "returned error: 404", "does not appear to be a git repository", "' not found", "no such file or directory", "project not found"):
		return notFound(r.url)
	case s.any("transport '"):
		return diag.New(diag.PolicyDenied, "%s %s: %w", doing, r.url, err)
	case s.any("no space left", "read-only file system"):
		return diag.New(diag.FileSystemError, "%s %s: %w", doing, r.url, err).WithReason("cache")
	}
	return network(ctx, doing, r.url, err)
}

// home asks the old address, without credentials, where it redirects to: git
// does not say. "" when nobody knows.
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

// ensure makes the folder that git is started in.
func (c *command) ensure() error { return os.MkdirAll(c.dir, 0o700) }
