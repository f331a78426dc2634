package githook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
)

// Names returns the hooks that rye installs.
func Names() []string {
	return []string{"pre-commit", "pre-merge-commit", "pre-push"}
}

// kept is the suffix of the hook that existed before.
const kept = ".before-rye"

const marker = "# rye hook 1 "

// InstallParams describes the hooks.
type InstallParams struct {
	Repo *gitcmd.Repo
	Self string // the path of this program, "" to search PATH on each run
}

// Installed is the result for one hook.
type Installed struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Status string `json:"status"` // installed, updated, unchanged, removed, restored, absent
	Chains string `json:"chains,omitempty"`
}

// Install writes the hooks, which serve every project of the repository. An existing
// hook is renamed and runs first. Install refuses if a hook written by rye was
// edited. All hooks are checked before one is written.
func Install(ctx context.Context, p InstallParams) ([]Installed, error) {
	dir, err := hooksDir(ctx, p.Repo)
	if err != nil {
		return nil, err
	}
	self := p.Self
	if shared(p.Repo, dir) {
		self = "" // the path of rye differs for other users
	}
	for _, name := range Names() {
		if err := installable(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	base := writeBase(p.Repo, dir)
	if err := base.MkdirAll("."); err != nil {
		return nil, diag.Doing("installing hooks", err)
	}
	var out []Installed
	for _, name := range Names() {
		done, err := install(base, name, script(name, self))
		if err != nil {
			return out, diag.Doing("installing hook "+name, err)
		}
		out = append(out, done)
	}
	return out, nil
}

// shared reports whether the hooks are part of the work tree, and so of the commits.
func shared(repo *gitcmd.Repo, dir string) bool {
	return repo.WorkTree != "" &&
		within(repo.WorkTree, dir) &&
		!within(repo.CommonDir, dir)
}

func hooksDir(ctx context.Context, repo *gitcmd.Repo) (string, error) {
	dir, err := repo.HooksDir(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case filepath.Base(dir) == "_" && filepath.Base(filepath.Dir(dir)) == ".husky":
		return "", diag.New(diag.Usage, "installing hooks: husky rewrites the hooks in %s", dir).
			WithReason("husky")
	case within(repo.CommonDir, dir),
		repo.WorkTree != "" && within(repo.WorkTree, dir):
		return dir, nil
	}
	return "", diag.New(diag.Usage, "installing hooks: core.hooksPath is %s, which other repositories use too", dir).
		WithReason("shared_hooks")
}

// writeBase returns the base for writing hooks: their directory is below git's
// directory or below the work tree, and a repository can contain links.
func writeBase(repo *gitcmd.Repo, dir string) atomicfile.Base {
	top := repo.CommonDir
	if !within(top, dir) {
		top = repo.WorkTree
	}
	rel, _ := filepath.Rel(top, dir) // hooksDir has checked that dir is below one of them
	return atomicfile.Git(repo.CommonDir).At(top).Below(filepath.ToSlash(rel))
}

// within reports whether path is dir or is below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// state is the owner of a hook.
type state int

const (
	absent state = iota
	ours
	edited
	foreign
)

// inspect returns the state and the content of a hook.
func inspect(file string) (state, []byte, error) {
	b, err := openat.ReadRegular(file, openat.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(file); err == nil {
			return foreign, nil, nil // a dangling link was made by the user
		}
		return absent, nil, nil
	}
	if err != nil {
		return absent, nil, diag.New(diag.FileSystemError, "reading hook: %w", err)
	}
	shebang, rest, _ := bytes.Cut(b, []byte("\n"))
	line, body, _ := bytes.Cut(rest, []byte("\n"))
	sum, isOurs := strings.CutPrefix(string(line), marker)
	switch {
	case !isOurs || string(shebang) != "#!/bin/sh":
		return foreign, b, nil
	case sum != digest(body):
		return edited, b, nil
	}
	return ours, b, nil
}

func installable(file string) error {
	s, _, err := inspect(file)
	switch {
	case err != nil:
		return err
	case s == edited:
		return editedError(file)
	case s != foreign:
		return nil
	}
	_, err = os.Lstat(file + kept)
	if err == nil && !sameBytes(file, file+kept) {
		return diag.New(diag.FileSystemError, "installing hook %s: it exists, and so does %s", file, filepath.Base(file)+kept).
			WithReason("two_hooks")
	}
	return nil
}

// sameBytes reports whether two files are equal, as when a hook manager installs its
// hook a second time.
func sameBytes(a, b string) bool {
	x, errA := openat.ReadRegular(a, openat.MaxText)
	y, errB := openat.ReadRegular(b, openat.MaxText)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

func editedError(file string) error {
	return diag.New(diag.FileSystemError, "changing hook %s: it was edited after rye wrote it", file).
		WithReason("edited_hook").WithDetail("kept", file+kept)
}

// install writes a hook that installable accepted.
func install(base atomicfile.Base, name string, want []byte) (Installed, error) {
	file := base.Path(name)
	done := Installed{Name: name, Path: file, Status: "installed"}
	s, b, err := inspect(file)
	if err != nil {
		return done, err
	}
	switch s {
	case ours:
		done.Status = "updated"
		if bytes.Equal(b, want) {
			done.Status = "unchanged"
		} else {
			err = base.Write(name, want, 0o755)
		}
	case foreign:
		if err = base.Rename(name, name+kept); err != nil {
			break
		}
		if err = base.Create(name, want, 0o755); err != nil {
			err = errors.Join(err, base.Rename(name+kept, name))
		}
	default:
		err = base.Create(name, want, 0o755)
	}
	if _, statErr := os.Lstat(file + kept); statErr == nil {
		done.Chains = name + kept
	}
	return done, err
}

// Uninstall removes the hooks of rye and restores those that existed before.
func Uninstall(ctx context.Context, repo *gitcmd.Repo) ([]Installed, error) {
	dir, err := hooksDir(ctx, repo)
	if err != nil {
		return nil, err
	}
	for _, name := range Names() {
		s, _, err := inspect(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		} else if s == edited {
			return nil, editedError(filepath.Join(dir, name))
		}
	}
	var out []Installed
	for _, name := range Names() {
		done, err := uninstall(writeBase(repo, dir), name)
		if err != nil {
			return out, diag.Doing("removing hook "+name, err)
		}
		out = append(out, done)
	}
	return out, nil
}

func uninstall(base atomicfile.Base, name string) (Installed, error) {
	file := base.Path(name)
	done := Installed{Name: name, Path: file, Status: "absent"}
	s, _, err := inspect(file)
	if err != nil || s != ours {
		return done, err
	}
	if _, err := os.Lstat(file + kept); err == nil {
		done.Status = "restored"
		return done, base.Rename(name+kept, name)
	}
	done.Status = "removed"
	return done, base.Remove(name)
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// script returns the text of a hook. git runs it at the top of the work tree.
func script(name, self string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by rye hook install; rye hook uninstall removes it. The hook that was\n# here before is %s and runs first.\n", name+kept)
	call := `"$rye" hook run ` + name + ` "$@"`
	fmt.Fprintf(&b, "rye=%s\n", quote(filepath.ToSlash(self)))
	b.WriteString("[ -n \"$rye\" ] && [ -x \"$rye\" ] || rye=rye\n")
	fmt.Fprintf(&b, "own=\"${0%%/*}/%s\"\n", name+kept)
	missing := "command -v \"$rye\" >/dev/null 2>&1 || { echo 'rye hook: rye is not in PATH; install it, or delete this hook' >&2; exit 127; }\n"
	if name == "pre-push" { // both hooks read what is pushed from stdin
		b.WriteString("if [ -x \"$own\" ]; then\n\tinput=$(cat; echo .)\n\tinput=${input%.}\n" +
			"\tprintf '%s' \"$input\" | \"$own\" \"$@\" || exit $?\n\t" + missing +
			"\tprintf '%s' \"$input\" | " + call + "\n\texit $?\nfi\n")
	} else {
		b.WriteString("if [ -x \"$own\" ]; then\n\t\"$own\" \"$@\" || exit $?\nfi\n")
	}
	b.WriteString(missing + "exec " + call + "\n")
	body := b.String()
	return []byte("#!/bin/sh\n" + marker + digest([]byte(body)) + "\n" + body)
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
