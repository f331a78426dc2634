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
	"github.com/ryeos/rye/internal/openat"
)

// localRemote is the backend of a child for a repository on this machine. It is read in
// place: only the files of bundles are copied.
type localRemote struct{ url string }

// gitDir returns the directory with the objects.
func (r *localRemote) gitDir() (string, error) {
	dir := pathOf(r.url)
	for _, d := range []string{dir, filepath.Join(dir, ".git"), dir + ".git"} {
		b, err := openat.ReadRegular(filepath.Join(d, "config"), maxSmallFile)
		if err != nil {
			continue
		}
		_, err = os.Stat(filepath.Join(d, "objects"))
		if err != nil {
			continue
		}
		return d, plain(d, string(b))
	}
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", notFound(r.url, "")
	}
	return "", fmt.Errorf("it is not a plain repository: %w", errUnsupported)
}

// plain returns an error for a repository that needs more than the basic
// format: other names of objects, another store of refs, missing objects.
func plain(dir, config string) error {
	low := strings.ToLower(config)
	_, ext, ok := strings.Cut(low, "[extensions]")
	if ok && strings.ReplaceAll(firstLine(ext), " ", "") != "objectformat=sha1" {
		return fmt.Errorf("it uses extensions of the format: %w", errUnsupported)
	}
	for _, name := range []string{"shallow", "objects/info/alternates", "commondir"} {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil {
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

// refs implements backend.
func (r *localRemote) refs(ctx context.Context, each func(oid, name string) error) ([]string, error) {
	dir, err := r.gitDir()
	if err != nil {
		return nil, network(ctx, "asking", r.url, err)
	}
	local, err := readLocalRefs(dir)
	if errors.Is(err, errRefs) || diag.CodeOf(err) == diag.TooLarge {
		return nil, overLimit(r.url, err)
	}
	if err != nil {
		return nil, network(ctx, "asking", r.url, err)
	}
	objs := openObjects(dir)
	defer objs.Close()
	if local.head != "" {
		if err := each(local.head, "HEAD"); err != nil {
			return nil, err
		}
	}
	for name, ref := range local.refs {
		commit := ref.peeled
		if commit == "" && strings.HasPrefix(name, "refs/tags/") {
			commit, _, err = peel(ctx, objs, ref.oid)
			if err != nil && diag.CodeOf(err) != diag.VersionNotFound {
				return nil, network(ctx, "asking", r.url, err)
			}
		}
		if err := each(ref.oid, name); err != nil {
			return nil, err
		}
		if commit != "" && commit != ref.oid {
			if err := each(commit, name+"^{}"); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// fetch implements backend. It only checks that the objects exist.
func (r *localRemote) fetch(ctx context.Context, _ string, w Want) error {
	dir, err := r.gitDir()
	if err != nil {
		return network(ctx, "fetching", r.url, err)
	}
	missing, err := missingObjects(dir, w)
	if err != nil {
		return network(ctx, "fetching", r.url, err)
	}
	if len(missing) > 0 {
		return network(ctx, "fetching", r.url, fmt.Errorf("%w: %s", errMissing, missing[0]))
	}
	return nil
}

// open implements backend.
func (r *localRemote) open(ctx context.Context, _ string) (Objects, error) {
	dir, err := r.gitDir()
	if err != nil {
		return nil, network(ctx, "reading", r.url, err)
	}
	return openObjects(dir), nil
}
