package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
)

// maxRules bounds the rules for the entries of directories.
const maxRules = 20_000

// landlock plans a run without namespaces. A rule of Landlock includes everything below
// a directory and cannot exclude a part of it: a directory with a part that must not be
// written, or not be read, is granted entry by entry.
func (w *wrapped) landlock() error {
	for _, name := range namespaces() {
		w.missing(name)
	}
	if err := w.privateDirs(); err != nil {
		return err
	}
	abi := landlockABI()
	b := &ruleBuilder{
		g:       w.g,
		set:     newRuleset(abi, w.g.Net),
		read:    fsReadFile | fsReadDir,
		write:   fsWrite,
		missing: w.missing,
	}
	if w.g.Exec == nil {
		b.read = b.read | fsExecute
		b.write = b.write | fsExecute
	} else {
		w.executables(b.set)
	}
	w.layout = newLayout(w.g) // for links, hidden paths and what must be checked afterwards
	if err := b.build(w.layout); err != nil {
		return err
	}
	for _, dir := range w.remove {
		grant(b.set, dir, true, fsReadFile|fsReadDir)
		if w.g.Tmp {
			grant(b.set, filepath.Join(dir, "tmp"), true, b.write)
		}
		if w.g.Tmp && w.g.Cache == "" {
			grant(b.set, filepath.Join(dir, "home"), true, b.write)
		}
	}
	w.spec = confine.Spec{Landlock: b.set}
	if len(w.g.Sockets) > 0 {
		w.missing("mountns: unix sockets of services")
		if abi < 6 {
			w.missing("abstract-unix")
		}
	}
	w.limits()
	return w.common(abi)
}

// privateDirs creates the directories of one run: an empty home directory, with links to
// what is granted of the user's, and one for temporary files.
func (w *wrapped) privateDirs() error {
	fail := func(err error) error {
		return diag.New(diag.FileSystemError, "preparing the sandbox: %w", err)
	}
	dir, err := os.MkdirTemp("", "rye-run-")
	if err != nil {
		return fail(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fail(err)
	}
	w.remove = append(w.remove, dir)
	home := filepath.Join(dir, "home")
	if w.g.Cache != "" {
		home = filepath.Join(w.g.Cache, "home")
	}
	for _, d := range []string{home, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fail(err)
		}
	}
	// The fixed paths have no link: the program knows their real names.
	for _, p := range slices.Concat(w.g.Read, w.g.Write) {
		if w.g.Home == "" ||
			p == w.g.Home ||
			!below(w.g.Home, p) ||
			below(w.g.Home, w.g.Project) && below(w.g.Project, p) {
			continue
		}
		link := filepath.Join(home, strings.TrimPrefix(p, w.g.Home))
		if os.MkdirAll(filepath.Dir(link), 0o700) == nil {
			_ = os.Symlink(p, link) // one that exists is of an earlier run
		}
	}
	w.original.Env = proc.Merge(w.original.Env, []string{"HOME=" + home, "TMPDIR=" + filepath.Join(dir, "tmp")})
	return nil
}

// ruleBuilder turns a grant into rules.
type ruleBuilder struct {
	g           Grant
	set         *confine.Ruleset
	read, write uint64
	hidden      []string
	missing     func(string)
}

func (b *ruleBuilder) build(l *layout) error {
	if err := l.paths(); err != nil {
		return err
	}
	for _, p := range slices.Concat(secretsOfSystem(b.g.Listings), b.g.Hidden) {
		real, _, err := trace(p)
		if err == nil && readable(real) {
			b.hidden = append(b.hidden, real)
		}
	}
	writable := l.writable()
	for _, root := range writable {
		if root != b.g.Cache {
			found := newGuard(
				b.g.Protected,
				b.g.Listings,
				b.g.Git,
				b.g.Repositories,
			).find(b.g.Project, root, openAnchor(root))
			l.guarded[root] = found
			b.hidden = append(b.hidden, found.secret...)
		}
	}
	for p, m := range l.mounts {
		if m.do == confine.ReadOnly {
			b.readOnly(p)
		}
	}
	for _, root := range writable {
		b.readOnly(root)
		b.writable(root, l.guarded[root])
	}
	for _, d := range devices() {
		grant(b.set, d, false, fsReadFile|fsWriteFile|fsIoctl)
	}
	grant(b.set, "/proc", true, fsReadFile|fsReadDir)
	if len(b.set.Rules) > maxRules {
		return diag.New(diag.SandboxUnavailable, "preparing the sandbox: the rung landlock needs %d rules for the entries of directories with protected files, more than %d", len(b.set.Rules), maxRules).
			WithReason("sandbox_rules").WithDetail("wanted", string(Landlock))
	}
	return nil
}

// readable reports whether this process can read a path at all.
func readable(p string) bool {
	f, err := os.Open(p)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// readOnly grants reading without what is hidden. The names in a directory that is
// granted entry by entry can be listed.
func (b *ruleBuilder) readOnly(p string) {
	if b.split(p, b.hidden, b.read) {
		grant(b.set, p, true, fsReadDir)
		b.missing("mountns: names in hidden directories")
	}
}

// writable grants writing without what is protected.
func (b *ruleBuilder) writable(root string, found guarded) {
	if b.split(root, slices.Concat(found.fixed, b.hidden), b.write) {
		b.missing(MissingEntries)
	}
	for _, dir := range found.kept { // of .ai, the directories of the kinds
		if slices.ContainsFunc(found.fixed, func(p string) bool { return below(p, dir) }) {
			b.split(dir, slices.Concat(found.fixedBelow(dir), b.hidden), b.write)
		}
	}
}

// fixedBelow returns the protected paths in a directory.
func (g guarded) fixedBelow(dir string) []string {
	return slices.DeleteFunc(slices.Clone(g.fixed), func(p string) bool {
		return p == dir || !below(dir, p)
	})
}

// split adds rules for p without the excluded paths, and reports whether it had to
// divide p.
func (b *ruleBuilder) split(p string, excluded []string, access uint64) bool {
	fi, err := os.Lstat(p)
	return err == nil && b.splitType(p, fi.Mode().Type(), excluded, access)
}

// splitType is split for an entry whose type is known: a directory such as /etc has
// hundreds of entries, and ReadDir returns the type of each.
func (b *ruleBuilder) splitType(p string, typ fs.FileMode, excluded []string, access uint64) bool {
	inside := false
	for _, x := range excluded {
		if below(x, p) {
			return false
		}
		inside = inside || below(p, x)
	}
	if typ&fs.ModeSymlink != 0 || len(b.set.Rules) > maxRules {
		return false
	}
	if !inside {
		grant(b.set, p, typ.IsDir(), access)
		return false
	}
	entries, _ := os.ReadDir(p)
	for _, e := range entries {
		b.splitType(filepath.Join(p, e.Name()), e.Type(), excluded, access)
	}
	return true
}
