package exec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/links"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// grants are the paths of this machine that a profile permits, absolute and with all
// links followed.
// {project} outside of a project is the working directory, unless it contains the home directory
// or files of rye.
//
// A path is not granted if it leads out of the project by a link, contains the home directory,
// or belongs to rye, ssh or gpg. The result and --dry-run have a note.
type grants struct {
	project string // "" if the run has none
	home    string
	cache   string // of the item, "" if the profile does not name it
	tmp     bool   // the profile names {tmp}
	read    []string
	write   []string
	sockets []string // Unix sockets
	private bool     // Unix sockets that the program makes in its private directories
	fixed   []string // read-only: what the program itself consists of
	exec    []string // programs; nil with execAny
	execAny bool
	hidden  []string // below a granted path, and not readable
	notes   []string
}

// locations are the directories of this machine behind the placeholders of a profile.
type locations struct {
	project, home, cache string
	self, store          string // this program, and its cache
	copied               bool   // the project is a working copy
	readOnly             bool   // no program writes the project
	private              []policy.Private
	seen                 links.Seen // of one run
}

// locations returns the locations of a run of the tool.
func (e *Executor) locations(ref item.Ref, signer string) locations {
	home, _ := proc.Lookup(e.p.Environ, "HOME")
	if home == "" {
		home, _ = proc.Lookup(e.p.Environ, "USERPROFILE")
	}
	seen := links.Seen{}
	loc := locations{
		project:  e.p.Boundary.Project,
		home:     seen.Real(home),
		copied:   e.p.Boundary.Copy,
		readOnly: e.p.Boundary.ReadOnly,
		private:  e.p.Boundary.Private,
		cache:    e.toolCache(ref, signer),
		self:     e.p.Self,
		store:    seen.Real(e.p.Cache),
		seen:     seen,
	}
	if loc.project == "" &&
		e.p.Dir != "" &&
		!loc.around(seen.Real(e.p.Dir)) {
		loc.project = seen.Real(e.p.Dir) // outside a project, the working directory
	}
	return loc
}

// toolCache returns the directory for {cache}. Tools of one id that different people
// sign do not share it: one could change what the other reads.
func (e *Executor) toolCache(ref item.Ref, signer string) string {
	if e.p.Cache == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s", ref, signer))
	return filepath.Join(real(e.p.Cache), "sandbox", hex.EncodeToString(sum[:8]))
}

func (loc locations) real(path string) string {
	return loc.seen.Real(path)
}

// secrets are the directories of the user that no program reads.
func (loc locations) secrets() []string {
	var out []string
	for _, d := range loc.private {
		at := loc.real(d.Path)
		if !d.Readable && at != loc.home {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// around reports whether a directory contains the user's home or one of rye's
// directories, or is the root.
func (loc locations) around(dir string) bool {
	if filepath.Dir(dir) == dir || loc.home != "" && within(loc.home, dir) {
		return true
	}
	return slices.ContainsFunc(loc.secrets(), func(secret string) bool {
		return within(secret, dir)
	})
}

// grants resolves the paths of a profile. What does not exist, is a link that leads
// out of the project, or belongs to the user alone is left out with a note.
func (loc locations) grants(p policy.Profile) grants {
	g := grants{project: loc.project, home: loc.home}
	for _, list := range []struct {
		paths *[]string
		to    *[]string
		write bool
	}{{p.Read, &g.read, false}, {p.Write, &g.write, true}, {p.Sockets, &g.sockets, true}} {
		if list.paths == nil {
			continue
		}
		for _, path := range *list.paths {
			switch first, _, _ := strings.Cut(path, "/"); first {
			case "{tmp}":
				g.tmp = true
				g.private = g.private || list.to == &g.sockets
			case "{cache}":
				g.cache = loc.cache
				g.private = g.private || list.to == &g.sockets
			default:
				at, ok := loc.resolve(path, list.write, &g)
				switch {
				case !ok:
				case !list.write || !loc.keeps(at):
					*list.to = append(*list.to, at)
				case list.to == &g.write:
					g.read = append(g.read, at)
				}
			}
		}
	}
	for _, secret := range loc.secrets() {
		switch {
		case !slices.ContainsFunc(slices.Concat(g.read, g.write), func(dir string) bool { return within(secret, dir) }):
		case secret == loc.store:
			g.fixed = append(g.fixed, secret) // it contains the copies that run, so it is read-only and not hidden
		default:
			g.hidden = append(g.hidden, secret)
		}
	}
	return g
}

// keeps reports whether no program changes a path: it is in a project that is read-only, or
// contains it.
func (loc locations) keeps(at string) bool {
	return loc.readOnly && (within(at, loc.project) || within(loc.project, at))
}

// resolve returns the real path of one path of a profile.
func (loc locations) resolve(path string, write bool, g *grants) (string, bool) {
	skip := func(format string, args ...any) (string, bool) {
		g.notes = append(g.notes, path+": "+fmt.Sprintf(format, args...))
		return "", false
	}
	at := path
	inProject := false
	if rest, ok := strings.CutPrefix(path, "{project}"); ok {
		if loc.project == "" {
			return skip("there is no project")
		}
		at = filepath.Join(loc.project, filepath.FromSlash(rest))
		inProject = true
	} else if rest, ok := strings.CutPrefix(path, "~"); ok {
		if loc.home == "" {
			return skip("there is no home directory")
		}
		at = filepath.Join(loc.home, filepath.FromSlash(rest))
	}
	found, err := loc.seen.Follow(at)
	if err != nil {
		return skip("does not exist")
	}
	if inProject && !within(found, loc.project) {
		return skip("is a link that leads out of the project")
	}
	for _, d := range loc.private {
		if inProject && loc.copied && within(loc.project, loc.real(d.Path)) {
			continue // the copy is below a private directory
		}
		if (write || !d.Readable) &&
			loc.real(d.Path) != loc.home &&
			within(found, loc.real(d.Path)) {
			return skip("no program gets %s", d.What)
		}
	}
	if !inProject && loc.around(found) && found != "/" {
		return skip("it contains your home directory or rye's keys: name a directory in it")
	}
	return found, true
}

// programs adds the programs that a profile permits by name, and what the given ones
// consist of.
func (g *grants) programs(paths, env []string, profile policy.Profile, loc locations) {
	paths = slices.Clip(paths)
	g.execAny = profile.Exec != nil && slices.Contains(*profile.Exec, policy.ExecAny)
	if !g.execAny && profile.Exec != nil {
		for _, name := range *profile.Exec {
			path, err := proc.LookPath(name, env)
			if err == nil && filepath.IsAbs(path) {
				paths = append(paths, path)
			} else {
				g.notes = append(g.notes, "exec "+name+": it is not installed")
			}
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == "" })
	for _, path := range paths {
		for _, hop := range hops(path) {
			g.fixed = append(g.fixed, loc.prefix(hop)...)
			if !g.execAny {
				g.exec = append(g.exec, hop)
			}
		}
	}
	for _, list := range []*[]string{&g.fixed, &g.exec} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// maxHops is the number of links that hops follows.
const maxHops = 40

// hops returns a program and every link on the way to its file, and the interpreter
// that the first line of a script names.
func hops(path string) []string {
	var out []string
	for range maxHops {
		if slices.Contains(out, path) {
			break
		}
		out = append(out, path)
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		path = absolute(to, filepath.Dir(path))
	}
	if file := real(path); !slices.Contains(out, file) {
		out = append(out, file)
	}
	script := shebang(out[len(out)-1])
	if script != "" && len(out) < maxHops {
		for _, hop := range hops(script) {
			if !slices.Contains(out, hop) {
				out = append(out, hop)
			}
		}
	}
	return out
}

// shebang returns the program that the first line of a script names, or "".
func shebang(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 || !filepath.IsAbs(words[0]) {
		return ""
	}
	return words[0]
}

// prefix returns the directories that a program was installed in: the directory of bin with
// everything next to it. If they contain the user's files too, it is bin and the libraries only.
func (loc locations) prefix(program string) []string {
	dir := filepath.Dir(program)
	if program == loc.self {
		return []string{program}
	}
	switch filepath.Base(dir) {
	case "bin", "sbin", "shims", "Scripts", ".bin":
	default:
		return []string{program}
	}
	root := filepath.Dir(dir)
	if !loc.around(root) && root != loc.project {
		return []string{root}
	}
	out := []string{dir}
	for _, name := range []string{"lib", "lib64", "libexec", "include", "pyvenv.cfg"} {
		if at := filepath.Join(root, name); exists(at) {
			out = append(out, at)
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
