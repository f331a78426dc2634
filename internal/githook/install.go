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
)

// Names returns the hooks that rye serves.
func Names() []string { return []string{"pre-commit", "pre-merge-commit", "pre-push"} }

// kept ends the name of the hook that stood there before ours.
const kept = ".before-rye"

const marker = "# rye hook 1 "

// InstallParams says what to install.
type InstallParams struct {
	Repo   *gitcmd.Repo
	Prefix string // the project's place below the work tree
	Self   string // this program, "" to find it in PATH each time
}

// Installed is what became of one hook.
type Installed struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Status string `json:"status"` // installed, updated, unchanged, removed, restored, absent
	Chains string `json:"chains,omitempty"`
}

// Install writes the hooks. A hook that is there already is kept beside ours,
// byte for byte, and runs first; one of ours that somebody edited is refused.
// All is checked before anything is written.
func Install(ctx context.Context, p InstallParams) ([]Installed, error) {
	dir, err := hooksDir(ctx, p.Repo)
	if err != nil {
		return nil, err
	}
	self := p.Self
	if p.Repo.WorkTree != "" && within(p.Repo.WorkTree, dir) && !within(p.Repo.CommonDir, dir) {
		self = "" // the hooks are part of the repository: others have rye elsewhere
	}
	for _, name := range Names() {
		if err := installable(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, diag.New(diag.FileSystemError, "installing hooks: %w", err)
	}
	var out []Installed
	for _, name := range Names() {
		done, err := install(filepath.Join(dir, name), script(name, p.Prefix, self))
		if err != nil {
			return out, diag.New(diag.FileSystemError, "installing hook %s: %w", name, err)
		}
		out = append(out, done)
	}
	return out, nil
}

func hooksDir(ctx context.Context, repo *gitcmd.Repo) (string, error) {
	dir, err := repo.HooksDir(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case filepath.Base(dir) == "_" && filepath.Base(filepath.Dir(dir)) == ".husky":
		return "", diag.New(diag.Usage, "installing hooks: husky owns %s and writes it anew", dir).
			WithHint("rye hook install --print husky")
	case within(repo.CommonDir, dir), repo.WorkTree != "" && within(repo.WorkTree, dir):
		return dir, nil
	}
	return "", diag.New(diag.Usage, "installing hooks: core.hooksPath is %s, which serves other repositories too", dir).
		WithHint("set core.hooksPath for this repository, or call rye hook run from your own hooks: rye hook install --print husky")
}

// within reports whether path is dir or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

type state int

const (
	absent state = iota
	ours
	edited
	foreign
)

// look says whose hook stands at a path.
func look(file string) (state, []byte, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(file); err == nil {
			return foreign, nil, nil // a link to nowhere is somebody's
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
	s, _, err := look(file)
	switch {
	case err != nil:
		return err
	case s == edited:
		return editedError(file)
	case s != foreign:
		return nil
	}
	if _, err := os.Lstat(file + kept); err == nil {
		return diag.New(diag.FileSystemError, "installing hook %s: there is a hook, and %s from an earlier one", file, filepath.Base(file)+kept).
			WithHint("join the two by hand, then run rye hook install again")
	}
	return nil
}

func editedError(file string) error {
	return diag.New(diag.FileSystemError, "changing hook %s: somebody edited what rye wrote", file).
		WithHint("move the additions to %s, which runs first, and delete the hook", file+kept)
}

// install expects what installable accepts.
func install(file string, want []byte) (Installed, error) {
	done := Installed{Name: filepath.Base(file), Path: file, Status: "installed"}
	s, b, err := look(file)
	if err != nil {
		return done, err
	}
	switch s {
	case ours:
		done.Status = "updated"
		if bytes.Equal(b, want) {
			done.Status = "unchanged"
		} else {
			err = atomicfile.Write(file, want, 0o755)
		}
	case foreign:
		if err = os.Rename(file, file+kept); err != nil {
			break
		}
		if err = atomicfile.CreateExclusive(file, want, 0o755); err != nil {
			err = errors.Join(err, os.Rename(file+kept, file))
		}
	default:
		err = atomicfile.CreateExclusive(file, want, 0o755)
	}
	if _, statErr := os.Lstat(file + kept); statErr == nil {
		done.Chains = filepath.Base(file) + kept
	}
	return done, err
}

// Uninstall removes our hooks and puts back what stood there before.
func Uninstall(ctx context.Context, repo *gitcmd.Repo) ([]Installed, error) {
	dir, err := hooksDir(ctx, repo)
	if err != nil {
		return nil, err
	}
	for _, name := range Names() {
		if s, _, err := look(filepath.Join(dir, name)); err != nil {
			return nil, err
		} else if s == edited {
			return nil, editedError(filepath.Join(dir, name))
		}
	}
	var out []Installed
	for _, name := range Names() {
		done, err := uninstall(filepath.Join(dir, name))
		if err != nil {
			return out, diag.New(diag.FileSystemError, "removing hook %s: %w", name, err)
		}
		out = append(out, done)
	}
	return out, nil
}

func uninstall(file string) (Installed, error) {
	done := Installed{Name: filepath.Base(file), Path: file, Status: "absent"}
	s, _, err := look(file)
	if err != nil || s != ours {
		return done, err
	}
	if _, err := os.Lstat(file + kept); err == nil {
		done.Status = "restored"
		return done, os.Rename(file+kept, file)
	}
	done.Status = "removed"
	return done, os.Remove(file)
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// script returns the text of a hook.
func script(name, prefix, self string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by rye hook install; rye hook uninstall removes it. What stood here\n# before is %s and runs first.\n", name+kept)
	call := `"$rye" hook run ` + name + ` "$@"`
	if prefix != "" {
		dir := quote(strings.TrimSuffix(prefix, "/"))
		fmt.Fprintf(&b, "project=%s\n", dir)
		call = `"$rye" -C "$project" hook run ` + name + ` "$@"`
	}
	fmt.Fprintf(&b, "rye=%s\n", quote(filepath.ToSlash(self)))
	b.WriteString("[ -n \"$rye\" ] && [ -x \"$rye\" ] || rye=rye\n")
	fmt.Fprintf(&b, "own=\"${0%%/*}/%s\"\n", name+kept)
	missing := "command -v \"$rye\" >/dev/null 2>&1 || { echo 'rye hook: rye is not in PATH; install it, or delete this hook' >&2; exit 127; }\n"
	guard := ""
	if prefix != "" {
		guard = "[ -d \"$project\" ] || exit 0\n"
	}
	if name == "pre-push" { // both hooks read what is pushed from stdin
		b.WriteString("if [ -x \"$own\" ]; then\n\tinput=$(cat; echo .)\n\tinput=${input%.}\n" +
			"\tprintf '%s' \"$input\" | \"$own\" \"$@\" || exit $?\n\t" + strings.TrimSuffix(strings.ReplaceAll(guard+missing, "\n", "\n\t"), "\t") +
			"\tprintf '%s' \"$input\" | " + call + "\n\texit $?\nfi\n")
	} else {
		b.WriteString("if [ -x \"$own\" ]; then\n\t\"$own\" \"$@\" || exit $?\nfi\n")
	}
	b.WriteString(guard + missing + "exec " + call + "\n")
	body := b.String()
	return []byte("#!/bin/sh\n" + marker + digest([]byte(body)) + "\n" + body)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
