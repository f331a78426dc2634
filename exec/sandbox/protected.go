package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/runsoutside"
	"github.com/ryeos/rye/policy"
)

// Bounds of the search for protected paths in a writable directory.
const (
	protectedDepth   = 4
	protectedEntries = 20_000
)

// guarded are the protected paths in one writable directory, as absolute paths.
type guarded struct {
	fixed  []string // not writable, with everything below
	secret []string // not readable either
	kept   []string // writable, but not to be renamed, replaced or removed
	// links are the protected paths that are symbolic links, with their targets. Nothing
	// can be mounted on a link: the program can replace it, which is found afterwards.
	links map[string]string
	// parents are the directories in which the protected paths are, as the search saw them:
	// a program can rename one above them, and create the same paths again. Directories of a
	// file system that may give a directory another number later are left out.
	parents map[string]identity
	// pinned are the directories between the writable one and the paths that git and rye
	// read: if a program could move one, a search at the same time would not find it.
	pinned   map[string]bool
	root     *anchor             // the writable directory, nil if it is a file
	created  map[string]identity // copies of files that rye created, as they were before the run
	complete bool                // false if the search reached a bound
}

// identity names a directory, whatever its path is. The zero value is not known.
type identity struct{ device, inode uint64 }

// same reports whether a protected path is in the directory in which it was before, as far
// as the file system permits to know that.
func (g guarded) same(before guarded, p string) bool {
	was, known := before.parents[filepath.Dir(p)]
	return !known || was == g.parents[filepath.Dir(p)]
}

// guard finds the protected paths of a directory and the projects in it.
type guard struct {
	root    string
	protect func(rel string) (policy.ProtectedPath, string, bool)
	first   names // with which a row can begin
	last    names // with which a row can end
	inner   names // with which one can end that begins elsewhere, such as .cargo/config
	left    int
	ended   bool // the program has ended
	seen    *Listings
	device  uint64 // of root, 0 if its directories are listed each time
	stable  func(dir string) bool
	walk    *walk // the one that is recorded, else nil
	base    *anchor
	git     *runsoutside.Finder

	repositories Repositories
	visited      []visited // the directories that were listed
	out          guarded
}

// findProtected searches root, a directory or file of a project or elsewhere. It follows
// no link: what is behind one is protected only if it is granted by its own path. If
// root itself is protected, it is the only element of the result.
func findProtected(
	project, root string,
	protect func(string) (policy.ProtectedPath, string, bool),
	seen *Listings,
) guarded {
	return newGuard(protect, seen, nil, CommitRepositories).find(project, root, openAnchor(root))
}

func newGuard(
	protect func(string) (policy.ProtectedPath, string, bool),
	seen *Listings,
	git *runsoutside.Finder,
	repositories Repositories,
) *guard {
	if protect == nil {
		protect = policy.Protected
	}
	if seen == nil {
		seen = &Listings{}
	}
	t := ends()
	return &guard{
		protect:      protect,
		seen:         seen,
		git:          git,
		repositories: repositories,
		stable:       keepsNumbers,
		first:        t.first,
		last:         t.last,
		inner:        t.inner,
		left:         protectedEntries,
		out:          guarded{complete: true, links: map[string]string{}, pinned: map[string]bool{}},
	}
}

// find searches root, below base if that is open.
func (g *guard) find(project, root string, base *anchor) guarded {
	g.base = base
	out := g.search(project, root)
	out.root = base
	if !g.ended {
		out.created = base.created()
	}
	out.parents = map[string]identity{}
	want := map[string]bool{}
	for _, p := range slices.Concat(out.fixed, out.secret, out.kept, slices.Collect(maps.Keys(out.links)), slices.Collect(maps.Keys(out.pinned))) {
		want[filepath.Dir(p)] = true
	}
	for _, v := range g.visited {
		if want[v.dir] && g.stable(v.dir) {
			out.parents[v.dir] = identity{v.at.device, v.at.inode}
		}
	}
	return out
}

// pin records the directories above a protected path that must not move.
func (g *guard) pin(abs string) {
	for dir := filepath.Dir(abs); dir != g.root && below(g.root, dir) && !g.out.pinned[dir]; dir = filepath.Dir(dir) {
		g.out.pinned[dir] = true
	}
}

// keepsNumbers reports whether a directory keeps its inode number while it exists: some
// file servers and programs in user space give it a new number when it is read again, and
// the user's own files would be taken for files of the program.
//
// Two runs in one project do not race: descriptors and inode numbers identify files, and
// directories above repositories and .ai have mounts, so no run renames them. A lock for the
// time of a run would serialise servers.
func keepsNumbers(dir string) bool {
	device, _ := trackedDevice(dir)
	return device != 0
}

func (g *guard) search(project, root string) guarded {
	var onDisk bool
	if g.device, onDisk = trackedDevice(root); onDisk {
		g.seen.onDisk(g.device)
	}
	g.root = root
	if project != root && (project == "" || !below(project, root)) {
		project = aboveInternal(root)
	}
	if project == "" || project == root || !below(project, root) {
		g.around()
		g.dir("", 0, false)
		return g.out
	}
	g.root = project
	g.around()
	rel := filepath.ToSlash(strings.TrimPrefix(root, project)[1:])
	if !g.leadsInto(rel) {
		g.dir(rel, 0, false)
	}
	return g.out.within(root)
}

// aboveInternal returns the directory with the .git or .ai that contains a granted path,
// "" without one: the rows of the table begin there.
func aboveInternal(root string) string {
	for dir := root; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		name := filepath.Base(dir)
		if policy.SameName(name, ".git") || policy.SameName(name, ".ai") {
			return filepath.Dir(dir)
		}
	}
	return ""
}

// leadsInto records what protects the elements of a path, and reports whether one of
// them decided about everything below it.
func (g *guard) leadsInto(rel string) bool {
	names := strings.Split(rel, "/")
	for i, name := range names {
		at := strings.Join(names[:i+1], "/")
		fi, err := os.Lstat(filepath.Join(g.root, filepath.FromSlash(at)))
		if err != nil {
			return true
		}
		if g.first.match(name) && !g.entry(at, fi.IsDir(), false) {
			return true
		}
	}
	return false
}

// within returns the part of g that applies to root: the nearest path that contains
// root decides about it.
func (g guarded) within(root string) guarded {
	nearest := func(list []string) (n int) {
		for _, p := range list {
			if below(p, root) {
				n = max(n, len(p))
			}
		}
		return n
	}
	inside := func(list []string) []string {
		return slices.DeleteFunc(list, func(p string) bool {
			return !below(root, p)
		})
	}
	fixed := nearest(g.fixed)
	secret := nearest(g.secret)
	own := nearest(g.kept)
	switch {
	case secret > 0 && secret >= max(fixed, own):
		return guarded{secret: []string{root}, complete: true}
	case fixed > own:
		return guarded{fixed: []string{root}, complete: true}
	}
	links := map[string]string{}
	for p, target := range g.links {
		if below(root, p) {
			links[p] = target
		}
	}
	pinned := map[string]bool{}
	for p := range g.pinned {
		if p != root && below(root, p) {
			pinned[p] = true
		}
	}
	return guarded{
		fixed:    inside(g.fixed),
		secret:   inside(g.secret),
		kept:     inside(g.kept),
		links:    links,
		pinned:   pinned,
		complete: g.complete,
	}
}

// dir searches a directory. In packages that a package manager installs, only
// repositories and .ai are protected: no program takes other files there for files of a
// project.
func (g *guard) dir(rel string, depth int, installed bool) {
	found := g.entries(rel, false)
	// The entries are examined also beyond the bound: a program could make many files so
	// that one of them is not.
	if g.left -= found.count; g.left < 0 {
		g.out.complete = false
	}
	for _, e := range found.entries {
		name := e.name
		at := path.Join(rel, name)
		deeper := e.isDir
		if g.first.match(name) || depth > 0 && g.inner.match(name) {
			deeper = g.entry(at, e.isDir, installed)
		}
		switch {
		case !deeper:
		case depth == protectedDepth:
			g.out.complete = false
		case g.left > 0:
			g.dir(at, depth+1, installed || isInstalled(name))
		}
	}
}

// entries returns the entries of a directory: all of them, or the directories and the names
// of the table. After a run, a directory that cannot be read is made readable: git needs only
// its search permission to use a repository in it.
func (g *guard) entries(rel string, all bool) listing {
	dir := filepath.Join(g.root, filepath.FromSlash(rel))
	named := func(name string) bool {
		return g.first.match(name) || g.last.match(name)
	}
	at := g.location(dir)
	found, err := g.seen.read(at, all, g.device, named)
	if errors.Is(err, fs.ErrPermission) && g.ended && at.makeReadable() == nil {
		found, err = g.seen.read(at, all, g.device, named)
	}
	if errors.Is(err, fs.ErrPermission) {
		g.out.complete = false
	}
	g.walk.add(dir, found)
	g.visited = append(g.visited, visited{dir, found.at})
	return found
}

// location returns where a directory of the search is.
func (g *guard) location(dir string) location {
	if g.base == nil || !below(g.base.path, dir) {
		return location{path: dir}
	}
	return location{g.base, dir}
}

// entry records an entry that a row can match, and reports whether to search in it.
func (g *guard) entry(rel string, isDir, installed bool) bool {
	abs := filepath.Join(g.root, filepath.FromSlash(rel))
	switch name := strings.ToLower(path.Base(rel)); {
	case name == ".git" && isDir && g.repositories == ReadRepositories:
		g.pin(abs)
		g.out.fixed = append(g.out.fixed, abs)
		g.named(abs)
		return false
	case name == ".git" && isDir:
		g.pin(abs)
		g.out.kept = append(g.out.kept, abs)
		g.repository(rel)
		return false
	case name == ".ai" && isDir:
		g.pin(abs)
		g.out.fixed = append(g.out.fixed, abs)
		g.items(rel)
		return false
	case name != ".git" && name != ".ai" && installed:
		return isDir
	case name == ".git": // the file of a work tree or a submodule
		g.named(abs)
	}
	row, matched, ok := g.protect(rel)
	if !ok {
		return isDir
	}
	g.record(row, abs)
	return isDir && matched != rel
}

func (g *guard) record(row policy.ProtectedPath, abs string) {
	if !row.Removable {
		g.pin(abs)
	}
	if target, err := os.Readlink(abs); err == nil {
		g.out.links[abs] = target
		// The file that the link leads to is read in its place.
		if abs, err = filepath.EvalSymlinks(abs); err != nil ||
			abs == g.root ||
			!below(g.root, abs) {
			return
		}
	}
	switch {
	case row.Secret:
		g.out.secret = append(g.out.secret, abs)
	default:
		g.out.fixed = append(g.out.fixed, abs)
	}
}

// repository finds what git reads programs from. The rest of a repository is writable:
// a program may commit.
func (g *guard) repository(rel string) {
	if !g.ended { // absent ones could be created by the program
		g.location(filepath.Join(g.root, filepath.FromSlash(rel))).makeDirs("HEAD", "hooks", "info")
	}
	g.named(filepath.Join(g.root, filepath.FromSlash(rel)))
	g.below(rel, 0, true, func(at string, isDir bool) bool {
		row, matched, ok := g.protect(at)
		if ok && !strings.EqualFold(row.Path, ".git") && matched == at {
			g.record(row, filepath.Join(g.root, filepath.FromSlash(at)))
			return false
		}
		within := at[len(rel)+1:]
		name := path.Base(within)
		if g.repositories == CommitRepositories &&
			!isDir &&
			(name == "index" || strings.HasPrefix(name, "sharedindex.")) {
			g.out.fixed = append(g.out.fixed, filepath.Join(g.root, filepath.FromSlash(at)))
			return false
		}
		return isDir &&
			(within == "modules" || strings.HasPrefix(within, "modules/") || within == "worktrees" || strings.HasPrefix(within, "worktrees/"))
	})
}

// named records what the repository with a .git names, of that what exists.
func (g *guard) named(gitDir string) {
	for _, p := range runsoutside.Below(g.root, g.git.Repository(filepath.Dir(gitDir), gitDir)) {
		if below(gitDir, p.Abs) {
			continue
		}
		if fi, err := os.Lstat(p.Abs); err != nil {
			continue
		} else if fi.Mode()&os.ModeSymlink != 0 {
			if target, err := os.Readlink(p.Abs); err == nil {
				g.out.links[p.Abs] = target
			}
			continue // where it leads is in the list, too
		}
		g.pin(p.Abs)
		if !slices.Contains(g.out.fixed, p.Abs) {
			g.out.fixed = append(g.out.fixed, p.Abs)
		}
	}
}

// around records what the repositories around the directory name.
func (g *guard) around() {
	for dir := filepath.Dir(g.root); ; dir = filepath.Dir(dir) {
		if at := filepath.Join(dir, ".git"); exists(at) {
			g.named(at)
		}
		if filepath.Dir(dir) == dir {
			return
		}
	}
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// items finds the directories of .ai in which a program may write: the directories of kinds.
func (g *guard) items(rel string) {
	key := walkKey{g.root, rel}
	if g.revisits(key) {
		return
	}
	w := &walk{}
	left := g.left
	g.walk = w
	g.below(rel, 0, false, func(at string, isDir bool) bool {
		// The items of a large project are thousands of files. A row that protects one of
		// them by its own path ends with its name.
		if !isChild(rel, at) && !g.last.match(path.Base(at)) {
			return isDir
		}
		deeper := g.item(rel, at, isDir)
		w.asked = append(w.asked, asked{at, isDir, deeper})
		return deeper
	})
	g.walk = nil
	if w.count = left - g.left; !w.open && g.out.complete {
		g.seen.keep(key, w)
	}
}

func isChild(dir, at string) bool {
	return len(at)-len(path.Base(at))-1 == len(dir)
}

// item records an entry below .ai that a row protects, and reports whether to search in it.
func (g *guard) item(rel, at string, isDir bool) bool {
	child := isChild(rel, at)
	abs := filepath.Join(g.root, filepath.FromSlash(at))
	row, matched, ok := g.protect(at)
	switch {
	case ok && row.Secret && matched == at:
		g.out.secret = append(g.out.secret, abs)
		return false
	case child && isDir && ok && row.Only:
		g.out.kept = append(g.out.kept, abs)
		return true
	case !child && ok && matched == at && !row.Only:
		g.out.fixed = append(g.out.fixed, abs)
		return false
	}
	return isDir && !child
}

// below calls fn with each entry below a directory, and for those for which it returns
// true with the entries below them: with all, or, two levels down, with the directories and
// the names of the table.
func (g *guard) below(
	rel string,
	depth int,
	all bool,
	fn func(at string, isDir bool) bool,
) {
	found := g.entries(rel, all || depth == 0)
	if g.left -= found.count; g.left < 0 {
		g.out.complete = false
	}
	for _, e := range found.entries {
		at := path.Join(rel, e.name)
		switch deeper := fn(at, e.isDir); {
		case !deeper:
		case g.left < 0 || depth == 8:
			g.out.complete = false
		default:
			g.below(at, depth+1, all, fn)
		}
	}
}

// isInstalled reports whether a package manager fills a directory.
// There only .git and .ai are protected; elsewhere all rows of the table are, to a depth of four
// directories.
func isInstalled(name string) bool {
	switch name {
	case "node_modules", "site-packages", "vendor", ".venv", "venv":
		return true
	}
	return false
}

// names are the names at one end of the rows of the table of protected paths. Few entries
// of a directory match one, and the table is slow.
type names struct {
	exact            map[string]bool
	prefix, suffixes []string
}

func first(row string) string {
	name, _, _ := strings.Cut(row, "/")
	return name
}

// inner returns the last name of a row with several names that is not of git or rye: their
// directories are searched apart.
func inner(row string) string {
	if !strings.Contains(row, "/") ||
		strings.HasPrefix(row, ".git/") ||
		strings.HasPrefix(row, ".ai/") {
		return "*"
	}
	return last(row)
}

func last(row string) string {
	return row[strings.LastIndexByte(row, '/')+1:]
}

// ends are the names at the ends of the rows of the table, which each search needs.
var ends = sync.OnceValue(func() (out struct{ first, last, inner names }) {
	table := policy.ProtectedPaths()
	out.first, out.last, out.inner = newNames(table, first), newNames(table, last), newNames(table, inner)
	return out
})

// newNames takes one name of each row. Rows that end with any name are left out: they
// protect only the entries of .ai itself, which are few.
func newNames(table []policy.ProtectedPath, of func(row string) string) names {
	f := names{exact: make(map[string]bool, len(table))}
	for _, row := range table {
		name := of(row.Path)
		before, after, wild := strings.Cut(name, "*")
		switch {
		case name == "*":
		case !wild:
			f.exact[name] = true
		case before != "":
			f.prefix = append(f.prefix, before)
		default:
			f.suffixes = append(f.suffixes, after)
		}
	}
	return f
}

func (f names) match(name string) bool {
	for i := range len(name) {
		if name[i] >= 0x80 || name[i] == '~' || name[i] == ':' { // spellings that only the table knows
			return true
		}
	}
	name = strings.TrimRight(strings.ToLower(name), ". ")
	return f.exact[name] ||
		slices.ContainsFunc(f.prefix, func(p string) bool {
			return strings.HasPrefix(name, p)
		}) ||
		slices.ContainsFunc(f.suffixes, func(s string) bool {
			return strings.HasSuffix(name, s)
		})
}

// below reports whether p is dir or in it.
func below(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+string(filepath.Separator))
}
