package githook

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// The merge driver in the settings of the repository and in its attributes. Two
// changes of one item always conflict in the signature line and in rye.lock without it.
const (
	driver         = "merge.rye"
	attributesNote = "# Written by rye hook install; rye hook uninstall removes it."
)

var attributesLines = []string{"**/.ai/** merge=rye", lock.LockFile + " merge=rye"}

func attributesFile(repo *gitcmd.Repo) string {
	return filepath.Join(repo.CommonDir, "info", "attributes")
}

// InstallMerge sets the merge driver for the items of every project.
func InstallMerge(ctx context.Context, p InstallParams) (Installed, error) {
	done := Installed{Name: "merge", Path: attributesFile(p.Repo), Status: "unchanged"}
	call := `"$rye" hook merge %O %A %B %L %P`
	command := "rye=" + quote(filepath.ToSlash(p.Self)) + `; [ -x "$rye" ] || rye=rye; ` +
		`command -v "$rye" >/dev/null 2>&1 || exec git merge-file --marker-size=%L %A %O %B; exec ` + call
	before, err := p.Repo.Setting(ctx, driver+".driver")
	if err != nil {
		return done, err
	}
	if len(before) != 1 || before[0] != command {
		done.Status = "updated"
		err := p.Repo.Set(ctx, driver+".name", "merge items of rye without their signature lines")
		if err != nil {
			return done, err
		}
		err = p.Repo.Set(ctx, driver+".driver", command)
		if err != nil {
			return done, err
		}
	}
	text, err := readAttributes(done.Path)
	if err != nil ||
		!slices.ContainsFunc(attributesLines, func(l string) bool { return !hasLine(text, l) }) {
		return done, err
	}
	done.Status = "installed"
	text = withoutLines(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return done, writeAttributes(done.Path, text+attributesNote+"\n"+strings.Join(attributesLines, "\n")+"\n")
}

// UninstallMerge removes the merge driver.
func UninstallMerge(ctx context.Context, repo *gitcmd.Repo) (Installed, error) {
	done := Installed{Name: "merge", Path: attributesFile(repo), Status: "absent"}
	text, err := readAttributes(done.Path)
	if err != nil {
		return done, err
	}
	if keep := withoutLines(text); keep != text {
		done.Status = "removed"
		if err := writeAttributes(done.Path, keep); err != nil {
			return done, err
		}
	}
	set, err := repo.Setting(ctx, driver+".driver")
	if err != nil || len(set) == 0 {
		return done, err
	}
	done.Status = "removed"
	return done, repo.Unset(ctx, driver)
}

// withoutLines returns the attributes without the lines of the driver.
func withoutLines(text string) string {
	var keep strings.Builder
	for line := range strings.Lines(text) {
		word := strings.TrimRight(line, "\r\n")
		if word != attributesNote && !slices.Contains(attributesLines, word) {
			keep.WriteString(line)
		}
	}
	return keep.String()
}

func readAttributes(file string) (string, error) {
	b, err := openat.ReadRegular(file, openat.MaxText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", diag.New(diag.FileSystemError, "reading the attributes of the repository: %w", err)
	}
	return string(b), nil
}

// writeAttributes writes the file, or removes it if it would be empty.
func writeAttributes(file, text string) error {
	base := atomicfile.Git(filepath.Dir(filepath.Dir(file)))
	rel := path.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
	var err error
	if text == "" {
		err = base.Remove(rel)
	} else {
		err = base.Write(rel, []byte(text), 0o644)
	}
	if err != nil {
		return diag.Doing("writing the attributes of the repository", err)
	}
	return nil
}

func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\r\n") == want {
			return true
		}
	}
	return false
}

// MergeParams are the arguments that git gives to a merge driver. Ours is the file
// that receives the result.
type MergeParams struct {
	Git                *gitcmd.Git
	Base, Ours, Theirs string // files
	MarkerSize         string
	Path               string // of the item below the work tree
}

// Merge merges the bodies of three versions of an item. If only one side changed its
// body, that file is the result with its signature. Else the result has no signature
// line. Versions of rye.lock merge entry by entry. It reports whether the bodies conflict;
// then Ours has the markers.
func Merge(ctx context.Context, p MergeParams) (signed, conflict bool, err error) {
	var files, bodies [3][]byte
	isLock := path.Base(p.Path) == lock.LockFile
	limit := int64(resolve.MaxItem)
	if isLock {
		limit = lock.MaxLock
	}
	for i, name := range []string{p.Base, p.Ours, p.Theirs} {
		if files[i], err = readVersion(name, limit); err != nil {
			return false, false, err
		}
		bodies[i] = unsigned(files[i])
	}
	base := bodies[0]
	ours := bodies[1]
	theirs := bodies[2]
	if isLock {
		if out := mergeLocks(files); out != nil {
			return true, false, writeVersion(p.Ours, out)
		}
	}
	switch {
	case bytes.Equal(ours, theirs), bytes.Equal(theirs, base):
		return true, false, nil // Ours is the result
	case bytes.Equal(ours, base):
		return true, false, writeVersion(p.Ours, files[2])
	case strings.HasSuffix(p.Path, extract.DetachedExt):
		// Two signatures of two texts: neither signs the merged text. The hook
		// replaces it.
		return false, false, nil
	}
	out, conflict, err := mergeBodies(ctx, p, bodies)
	if err != nil {
		return false, false, err
	}
	return false, conflict, writeVersion(p.Ours, out)
}

// mergeLocks merges three versions of rye.lock entry by entry. It returns nil if they
// must be resolved again; then git's merge of the texts has the markers that rye lock
// resolves.
func mergeLocks(files [3][]byte) []byte {
	var locks [3]*lock.Lock
	for i, b := range files {
		if locks[i], _ = lock.ParseLock(b); locks[i] == nil {
			if i > 0 || len(b) > 0 {
				return nil
			}
			locks[i] = &lock.Lock{} // both sides added the file
		}
	}
	merged, ok := lock.Merge(locks[0], locks[1], locks[2])
	if !ok {
		return nil
	}
	return merged.Render()
}

func mergeBodies(
	ctx context.Context,
	p MergeParams,
	bodies [3][]byte,
) (out []byte, conflict bool, err error) {
	dir, err := os.MkdirTemp("", "rye-merge-")
	if err != nil {
		return nil, false, diag.New(diag.FileSystemError, "merging %s: %w", p.Path, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var names [3]string
	for i, b := range bodies {
		names[i] = filepath.Join(dir, []string{"base", "ours", "theirs"}[i])
		if err := writeVersion(names[i], b); err != nil {
			return nil, false, err
		}
	}
	return p.Git.MergeFile(
		ctx,
		gitcmd.Versions{Base: names[0], Ours: names[1], Theirs: names[2]},
		p.MarkerSize,
	)
}

func readVersion(name string, limit int64) ([]byte, error) {
	fi, err := os.Stat(name)
	if err == nil && fi.Size() > limit {
		return nil, diag.New(diag.TooLarge, "merging: %s has more than %d bytes", name, limit)
	}
	b, err := openat.ReadRegular(name, openat.MaxText)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "merging: %w", err)
	}
	return b, nil
}

func writeVersion(name string, b []byte) error {
	if err := os.WriteFile(name, b, 0o600); err != nil {
		return diag.New(diag.FileSystemError, "merging: %w", err)
	}
	return nil
}

// unsigned returns a file without its signature line, whatever the style of its
// comment.
func unsigned(b []byte) []byte {
	for _, style := range sign.Styles() {
		if style.Detached() {
			continue
		}
		sp, err := sign.SplitFile(b, style)
		if err == nil && sp.Signed {
			return sp.Body()
		}
	}
	return b
}
