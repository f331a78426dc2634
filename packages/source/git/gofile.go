package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitpack"
	"github.com/ryeos/rye/internal/openat"
)

// goFile is a Remote for a repository on this machine. It is read in place: only the
// files of bundles are copied.
type goFile struct{ url string }

// gitDir returns the directory with the objects.
func (r *goFile) gitDir() (string, error) {
	dir := pathOf(r.url)
	for _, d := range []string{dir, filepath.Join(dir, ".git"), dir + ".git"} {
		b, err := openat.ReadRegular(filepath.Join(d, "config"), maxSmallFile)
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(d, "objects")); err != nil {
			continue
		}
		return d, plain(d, string(b))
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", notFound(r.url, "")
	}
	return "", fmt.Errorf("it is not a plain repository: %w", errUnsupported)
}

// plain returns an error for a repository that needs more than the basic
// format: other names of objects, another store of refs, missing objects.
func plain(dir, config string) error {
	low := strings.ToLower(config)
	if _, ext, ok := strings.Cut(low, "[extensions]"); ok && strings.ReplaceAll(firstLine(ext), " ", "") != "objectformat=sha1" {
		return fmt.Errorf("it uses extensions of the format: %w", errUnsupported)
	}
	for _, name := range []string{"shallow", "objects/info/alternates", "commondir"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("it has parts elsewhere (%s): %w", name, errUnsupported)
		}
	}
	if strings.Contains(low, "promisor") || strings.Contains(low, "worktreeconfig") {
		return fmt.Errorf("it has parts elsewhere: %w", errUnsupported)
	}
	return nil
}

// firstLine returns the text of a config section, which is one line in the supported
// case.
func firstLine(section string) string {
	section, _, _ = strings.Cut(section, "[")
	return strings.TrimSpace(section)
}

// pathOf returns the path of a file URL.
func pathOf(url string) string {
	p := strings.TrimPrefix(url, "file://")
	if filepath.Separator == '\\' && len(p) > 2 && p[2] == ':' { // file:///C:/x
		p = strings.TrimPrefix(p, "/")
	}
	return filepath.FromSlash(p)
}

func (r *goFile) open() (*gitpack.Store, error) {
	dir, err := r.gitDir()
	if err != nil {
		return nil, err
	}
	return openStore(dir, false), nil
}

// ListRefs implements Remote.
func (r *goFile) ListRefs(ctx context.Context) (*Refs, error) {
	dir, err := r.gitDir()
	if err != nil {
		return nil, network(ctx, "asking", r.url, err)
	}
	local, err := readLocalRefs(dir)
	if errors.Is(err, gitpack.ErrLimit) || diag.CodeOf(err) == diag.TooLarge {
		return nil, overLimit(r.url, err)
	}
	if err != nil {
		return nil, network(ctx, "asking", r.url, err)
	}
	objs := &objects{openStore(dir, false)}
	defer objs.Close()
	out := &Refs{Head: local.head}
	for name, ref := range local.refs {
		e := Ref{Name: name, OID: ref.oid, Commit: ref.oid}
		switch {
		case ref.peeled != "":
			e.Commit = ref.peeled
		case strings.HasPrefix(name, "refs/tags/"):
			if commit, _, err := peel(ctx, objs, e.OID); err == nil {
				e.Commit = commit
			} else if diag.CodeOf(err) != diag.VersionNotFound {
				return nil, network(ctx, "asking", r.url, err)
			}
		}
		out.List = append(out.List, e)
	}
	out.sort()
	return out, nil
}

// FetchRef implements Remote. It only checks that the objects exist.
func (r *goFile) FetchRef(ctx context.Context, _ string, w Want) error {
	st, err := r.open()
	if err != nil {
		return network(ctx, "fetching", r.url, err)
	}
	defer st.Close()
	for _, oid := range w.OIDs {
		if ctx.Err() != nil {
			return stopped(ctx, "fetching", r.url)
		}
		found, err := st.Has(oid)
		if err != nil {
			return network(ctx, "fetching", r.url, unread(oid, err))
		}
		if !found {
			return network(ctx, "fetching", r.url, fmt.Errorf("%w: %s", errMissing, oid))
		}
	}
	return nil
}

// FetchSubtree implements Remote.
func (r *goFile) FetchSubtree(ctx context.Context, store string, w Want, _ string) error {
	return r.FetchRef(ctx, store, w)
}

// Open implements Remote.
func (r *goFile) Open(ctx context.Context, _ string) (Objects, error) {
	st, err := r.open()
	if err != nil {
		return nil, network(ctx, "reading", r.url, err)
	}
	return &objects{st}, nil
}
