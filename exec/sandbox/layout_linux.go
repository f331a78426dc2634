package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox/confine"
)

// tmpSize is the size of the private file system for temporary files, of the empty home
// directory and of shared memory together.
const tmpSize = 256 << 20

// layout is the file system of a confined program: what is mounted where.
type layout struct {
	g       Grant
	mounts  map[string]mounted // by path in the new root
	links   map[string]string  // target by path
	guarded map[string]guarded // by writable directory
	notes   []string
}

// mounted is one mount. A path that is mounted at itself has no src.
type mounted struct {
	do   confine.Op
	src  string
	mode uint32
	in   confine.Dir // the directory that contains it, if it was listed
	is   confine.Dir // of a directory that was searched
}

func newLayout(g Grant) *layout {
	return &layout{
		g:       g,
		mounts:  map[string]mounted{},
		links:   map[string]string{},
		guarded: map[string]guarded{},
	}
}

// build collects the mounts, the weakest reason first: a later one at the same path
// replaces an earlier one.
func (l *layout) build() error {
	if err := l.paths(); err != nil {
		return err
	}
	l.private()
	l.protect()
	l.hide()
	return nil
}

// paths adds the granted paths and the paths of the system.
func (l *layout) paths() error {
	for _, dir := range systemPaths(l.g.Net) {
		if err := l.add(dir, confine.ReadOnly, false); err != nil {
			return err
		}
	}
	for _, p := range slices.Concat(l.g.Fixed, l.g.Read, l.g.Sockets) {
		if err := l.add(p, confine.ReadOnly, true); err != nil {
			return err
		}
	}
	for _, p := range l.g.Write {
		if err := l.add(p, confine.Writable, true); err != nil {
			return err
		}
	}
	if l.g.Cache != "" {
		err := l.add(l.g.Cache, confine.Writable, true)
		if err != nil {
			return err
		}
	}
	return nil
}

// systemPaths are the directories of the system that every program reads. Most are
// links on some system. The paths of net are the targets of links in /etc.
func systemPaths(net string) []string {
	paths := []string{"/usr", "/bin", "/sbin", "/opt", "/nix", "/etc", "/run/current-system"}
	libs, _ := filepath.Glob("/lib*")
	paths = append(paths, libs...)
	if net == "any" || net == "hosts" {
		paths = append(paths, "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
	}
	return append(paths, "/etc/localtime", "/etc/hosts")
}

// add grants a path. Links on the way to it are made again in the new root.
func (l *layout) add(p string, do confine.Op, named bool) error {
	if !filepath.IsAbs(p) {
		return diag.New(diag.Internal, "preparing the sandbox: the path %q is not absolute", p)
	}
	real, links, err := trace(filepath.Clean(p))
	if err != nil {
		if named {
			l.notes = append(l.notes, "skipped, because it does not exist: "+p)
		}
		return nil
	}
	for _, root := range []string{l.g.Project, l.g.Cache} {
		if root != "" && below(root, p) && !below(root, real) {
			return diag.New(diag.PolicyDenied, "preparing the sandbox: %q is a link that leads to %q, outside the directory that contains it", p, real).
				WithReason("sandbox_link").WithDetail("path", p)
		}
	}
	for at, target := range links {
		l.links[at] = target
	}
	if real == "/" {
		return l.addRoot(do)
	}
	has, ok := l.mounts[real]
	if !ok || has.do == confine.ReadOnly {
		l.mounts[real] = mounted{do: do}
	}
	return nil
}

// addRoot grants the directories of the root but those that show the kernel, devices
// and sockets of services.
func (l *layout) addRoot(do confine.Op) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return diag.New(diag.FileSystemError, "preparing the sandbox: %w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "proc", "sys", "dev", "run", "tmp":
			continue
		}
		err := l.add("/"+e.Name(), do, true)
		if err != nil {
			return err
		}
	}
	return nil
}

// trace returns the path without links, and the links that lead to it, by path.
func trace(p string) (real string, links map[string]string, err error) {
	links = map[string]string{}
	real = "/"
	rest := strings.Split(strings.Trim(p, "/"), "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		at := filepath.Join(real, name)
		fi, err := os.Lstat(at)
		if err != nil {
			return "", nil, err
		}
		if fi.Mode()&os.ModeSymlink == 0 {
			real = at
			continue
		}
		target, err := os.Readlink(at)
		if err != nil {
			return "", nil, err
		}
		if len(links) > 40 {
			return "", nil, unix.ELOOP
		}
		links[at] = target
		rest = append(strings.Split(target, "/"), rest...)
		if filepath.IsAbs(target) {
			real = "/"
		}
	}
	return real, links, nil
}

// private adds the directories that are the program's own.
func (l *layout) private() {
	if l.g.Tmp {
		l.own("/tmp", mounted{do: confine.TmpDir, src: "tmp", mode: 0o1777})
		l.own("/dev/shm", mounted{do: confine.TmpDir, src: "shm", mode: 0o1777})
	} else {
		l.own("/tmp", mounted{do: confine.MakeDir})
	}
	home := l.g.Home
	switch {
	case !filepath.IsAbs(home) || home == "/" || l.covers(home):
	case l.g.Cache != "":
		l.own(home, mounted{do: confine.Writable, src: filepath.Join(l.g.Cache, "home")})
	case l.g.Tmp:
		l.own(home, mounted{do: confine.TmpDir, src: "home", mode: 0o700})
	default:
		l.own(home, mounted{do: confine.MakeDir})
	}
}

// own adds a directory unless the grant has one at its path.
func (l *layout) own(at string, m mounted) {
	if _, ok := l.mounts[at]; !ok {
		l.mounts[at] = m
	}
}

// covers reports whether a granted directory contains a path.
func (l *layout) covers(p string) bool {
	for at := range l.mounts {
		if below(at, p) {
			return true
		}
	}
	return false
}

// protect makes the protected paths of writable directories mounts of their own.
func (l *layout) protect() {
	for _, root := range l.writable() {
		if root == l.g.Cache {
			continue
		}
		found := newGuard(
			l.g.Protected,
			l.g.Listings,
			l.g.Git,
			l.g.Repositories,
		).find(l.g.Project, root, openAnchor(root))
		l.guarded[root] = found
		if m, ok := l.mounts[root]; ok {
			m.is = found.root.identity()
			l.mounts[root] = m
		}
		for p := range found.pinned { // what something is mounted at cannot be renamed
			if _, ok := l.mounts[p]; !ok {
				l.mounts[p] = mounted{do: confine.Writable, in: found.in(p)}
			}
		}
		for _, p := range found.fixed {
			l.mounts[p] = mounted{do: confine.ReadOnly, in: found.in(p)}
		}
		for _, p := range found.kept {
			l.mounts[p] = mounted{do: confine.Writable, in: found.in(p)}
		}
		for _, p := range found.secret {
			l.mask(p)
			if m, ok := l.mounts[p]; ok {
				m.in = found.in(p)
				l.mounts[p] = m
			}
		}
	}
}

// in returns the directory that contains a protected path, as the search listed it.
func (g guarded) in(p string) confine.Dir {
	id := g.parents[filepath.Dir(p)]
	return confine.Dir{Device: id.device, Inode: id.inode}
}

// identity returns which directory is open.
func (a *anchor) identity() (id confine.Dir) {
	var st unix.Stat_t
	if a != nil &&
		unix.Fstat(a.fd, &st) == nil &&
		keepsNumbers(a.path) {
		id = confine.Dir{Device: uint64(st.Dev), Inode: st.Ino}
	}
	return id
}

// close closes the directories that are open for what follows the run.
func (l *layout) close() {
	if l != nil {
		for _, g := range l.guarded {
			g.root.close()
		}
	}
}

// writable returns the granted directories that programs write, without the directories of
// the private file system.
func (l *layout) writable() []string {
	var out []string
	for p, m := range l.mounts {
		if m.do == confine.Writable && m.src == "" {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// hide masks what must not be visible, where a mount would show it.
func (l *layout) hide() {
	for _, p := range slices.Concat(secretsOfSystem(l.g.Listings), l.g.Hidden) {
		real, _, err := trace(p)
		if err != nil {
			continue
		}
		for at := range l.mounts { // a grant below it would show a part of it
			if below(real, at) &&
				at != real &&
				!slices.Contains(l.g.Fixed, at) &&
				!below(at, l.g.Project) &&
				at != l.g.Cache {
				delete(l.mounts, at)
			}
		}
		if l.covers(real) {
			l.mask(real)
		}
	}
}

func (l *layout) mask(p string) {
	fi, err := os.Lstat(p)
	switch {
	case err != nil || fi.Mode()&os.ModeSymlink != 0:
	case fi.IsDir():
		l.mounts[p] = mounted{do: confine.MaskDir}
	default:
		l.mounts[p] = mounted{do: confine.MaskFile}
	}
}

// steps returns the mounts in an order in which no mount hides an earlier one.
func (l *layout) steps() []confine.Step {
	out := []confine.Step{{Do: confine.MakeDir, Dst: "/proc"}, {Do: confine.Proc, Dst: "/proc", Size: pidMax(l.g.Limits.Processes)}, {Do: confine.MakeDir, Dst: "/dev"}}
	if l.g.Tmp {
		out = append(out, confine.Step{Do: confine.Tmp, Dst: "/", Size: tmpSize})
	}
	for _, name := range devices() {
		out = append(out, confine.Step{Do: confine.Device, Dst: name, Src: name})
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		out = append(out, confine.Step{Do: confine.Symlink, Dst: "/dev/" + name, Src: target})
	}
	paths := make([]string, 0, len(l.mounts))
	for p := range l.mounts {
		paths = append(paths, p)
	}
	slices.Sort(paths) // a directory comes before what is in it
	for _, p := range paths {
		m := l.mounts[p]
		if l.redundant(p, m) {
			continue
		}
		s := confine.Step{
			Do:   m.do,
			Dst:  p,
			Src:  m.src,
			Mode: m.mode,
			In:   m.in,
			Is:   m.is,
		}
		if m.src == "" && (m.do == confine.ReadOnly || m.do == confine.Writable) {
			s.Src = s.Dst
		}
		out = append(out, s)
	}
	for _, at := range slices.Sorted(keys(l.links)) {
		if !l.shown(at) {
			out = append(out, confine.Step{Do: confine.Symlink, Dst: at, Src: l.links[at]})
		}
	}
	return out
}

// pidMax returns the highest process number for the namespace of a program that root
// starts, 0 for others: the kernel applies RLIMIT_NPROC to them. Before Linux 6.14 the
// number is one for the whole machine and must not be changed.
//
// The program has the user's id, so that its files belong to the user, and RLIMIT_NPROC does not
// apply to root. Another id would need idmapped mounts, which overlay file systems do not
// support.
func pidMax(processes int64) int64 {
	const reserved, helper = 300, 64 // numbers that are used once only; threads of the helper, and a reserve
	var u unix.Utsname
	if os.Geteuid() != 0 || unix.Uname(&u) != nil {
		return 0
	}
	var major, minor int
	n, _ := fmt.Sscanf(
		unix.ByteSliceToString(u.Release[:]),
		"%d.%d",
		&major,
		&minor,
	)
	if n != 2 || major < 6 || major == 6 && minor < 14 {
		return 0
	}
	return reserved + processes + helper
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}

// redundant reports whether the nearest mount above shows a path in the same way
// already.
func (l *layout) redundant(p string, m mounted) bool {
	above, ok := l.above(p)
	return ok &&
		m.do == confine.ReadOnly &&
		m.src == "" &&
		above.do == confine.ReadOnly &&
		above.src == ""
}

// above returns the nearest mount that contains a path and is not at it.
func (l *layout) above(p string) (mounted, bool) {
	for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
		if m, ok := l.mounts[dir]; ok {
			return m, true
		}
		if dir == "/" {
			return mounted{}, false
		}
	}
}

// shown reports whether a mount shows the entry of the old root at a path.
func (l *layout) shown(p string) bool {
	m, ok := l.above(p)
	return ok &&
		m.src == "" &&
		(m.do == confine.ReadOnly || m.do == confine.Writable)
}
