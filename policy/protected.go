package policy

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/runsoutside"
)

// ProtectedPath is a row of the table of protected paths: a path that no tool
// writes, in a project and in every project below it.
type ProtectedPath struct {
	// Path is names joined by "/". In a name, * is any text; the name ** is any
	// number of names.
	Path string
	Why  string // what happens with its content
	// Only restricts the row to the path itself. Other rows protect also what is
	// below the path.
	Only   bool
	Secret bool // tools do not read it either
	// Removable rows do not apply if the allowance of the user removes them.
	Removable bool
}

// ProtectedPaths returns the table, which the caller may not change. Of several rows that match,
// the first applies.
var ProtectedPaths = sync.OnceValue(protectedPaths)

func protectedPaths() []ProtectedPath {
	const (
		git     = "git runs programs that it names"
		steers  = "it decides what rye trusts and runs"
		reads   = "rye reads items and answers agents by it; a file there replaces an item of the system"
		state   = "it decides which bundles and versions rye uses"
		started = "programs that you start run commands that it names"
	)
	return slices.Concat(
		rows(git, ".git/hooks", ".git/config", ".git/config.worktree", ".git/info",
			".git/commondir", ".git/modules/**/commondir", // git reads hooks and settings from the directory that it names
			".git/modules/**/hooks", ".git/modules/**/config", ".git/modules/**/config.worktree", ".git/modules/**/info",
			".git/worktrees/*/commondir", ".git/worktrees/*/gitdir", ".git/worktrees/*/config.worktree"),
		rows("it belongs to git", ".git"), // as a file, it names another repository
		rows(steers, ".ai/config", ".ai/trust", ".ai/trusted_keys", ".ai/bundles", ".ai/adopted"),
		[]ProtectedPath{
			{Path: ".ai/keys", Why: "it is for keys", Secret: true},
			{Path: ".ai/threads", Why: "it is for transcripts and tokens", Secret: true},
		},
		rows("rye writes it", ".ai/cache"),
		rows(reads, ".ai/tools/rye"),
		[]ProtectedPath{
			{Path: ".ai", Why: steers, Only: true},
			{Path: ".ai/*", Why: steers, Only: true}, // the directories of the kinds are created, and drafts written in them
		},
		rows(state, "rye.yaml", "rye.lock", "rye.sum"),
		rows("rye writes it", ".rye-tmp-*"),
		programs(),
		// git takes a directory with HEAD, objects and refs for a repository. The table is
		// compared in lower case.
		[]ProtectedPath{{Path: "head", Why: "with HEAD a directory can become a repository whose settings name programs that git runs", Only: true}},
	)
}

func rows(why string, paths ...string) []ProtectedPath {
	out := make([]ProtectedPath, len(paths))
	for i, p := range paths {
		out[i] = ProtectedPath{Path: p, Why: why}
	}
	return out
}

// programs returns the rows of editors, agents and other programs. The allowance of the user
// can remove them: they are data that programs of the user execute. All others protect rye, git
// and keys.
func programs() []ProtectedPath {
	list := runsoutside.Programs()
	out := make([]ProtectedPath, len(list))
	for i, p := range list {
		out[i] = ProtectedPath{Path: p.Path, Why: "programs that you start run commands that it names", Removable: true}
	}
	return out
}

// Protected returns the row of the table that protects a path relative to the
// root of a project, and the part of the path that the row matches. It compares
// names as the file systems do that take several names for one.
func Protected(rel string) (row ProtectedPath, matched string, ok bool) {
	return protectedBy(protectedTable(), rel)
}

// protectedRow is a row with its names apart.
type protectedRow struct {
	ProtectedPath
	names []string
}

var protectedTable = sync.OnceValue(func() []protectedRow {
	return protectedRows(ProtectedPaths())
})

func protectedRows(table []ProtectedPath) []protectedRow {
	out := make([]protectedRow, len(table))
	for i, row := range table {
		out[i] = protectedRow{row, strings.Split(row.Path, "/")}
	}
	return out
}

// ProtectedExcept returns Protected without the rows that an allowance removes. Only
// rows that are removable can be.
func ProtectedExcept(removed []string) func(rel string) (row ProtectedPath, matched string, ok bool) {
	if len(removed) == 0 {
		return Protected
	}
	table := protectedRows(slices.DeleteFunc(slices.Clone(ProtectedPaths()), func(p ProtectedPath) bool {
		return p.Removable && slices.Contains(removed, p.Path)
	}))
	return func(rel string) (ProtectedPath, string, bool) {
		return protectedBy(table, rel)
	}
}

func protectedBy(table []protectedRow, rel string) (row ProtectedPath, matched string, ok bool) {
	names := strings.Split(
		path.Clean("/" + strings.ReplaceAll(rel, `\`, "/"))[1:],
		"/",
	)
	folded := make([]string, len(names))
	for i, name := range names {
		folded[i] = foldName(name)
	}
	for _, row := range table {
		for i := range names {
			if !mayBegin(row.names[0], folded[i]) {
				continue
			}
			n := matchNames(row.names, folded[i:])
			if n > 0 && (!row.Only || i+n == len(names)) {
				return row.ProtectedPath, strings.Join(names[:i+n], "/"), true
			}
		}
	}
	return ProtectedPath{}, "", false
}

// mayBegin reports whether a name can match the first part of a row. The sandbox asks for
// every file of a project, and most names differ from every row in the first letter.
func mayBegin(pattern, name string) bool {
	return name == "" ||
		name[0] == pattern[0] ||
		strings.IndexByte(`*?[\`, pattern[0]) >= 0 ||
		strings.IndexByte(name, '~') >= 0
}

// Internal returns the .ai or .git directory that contains an absolute path. A
// project inside one would make its protected paths ordinary files.
func Internal(abs string) (dir string, ok bool) {
	for _, name := range pathNames(abs) {
		if SameName(name, ".ai") || SameName(name, ".git") {
			return name, true
		}
	}
	return "", false
}

// matchNames returns how many of the folded names match the whole pattern, 0 for
// none.
func matchNames(pattern, names []string) int {
	for i, want := range pattern {
		if want == "**" {
			for skip := range len(names) - i {
				n := matchNames(pattern[i+1:], names[i+skip:])
				if n > 0 {
					return i + skip + n
				}
			}
			return 0
		}
		if i >= len(names) ||
			names[i] == "" ||
			!glob.Text(want, names[i]) && !isShortName(names[i], want) {
			return 0
		}
	}
	return len(pattern)
}

// foldName returns a name without the differences that some file system ignores:
// letter case, the trailing dots and spaces and the streams of Windows, and the
// characters that HFS+ and APFS ignore.
func foldName(name string) string {
	if !ascii(name) {
		name = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			return foldRune(r)
		}, name)
		name = ligatures().Replace(name)
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ":")
	return strings.TrimRight(name, ". ")
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII
	}) < 0
}

// foldRune returns the lower-case ASCII letter that differs from r in case only,
// else r. The Kelvin sign and the long s have one.
func foldRune(r rune) rune {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if 'a' <= f && f <= 'z' {
			return f
		}
	}
	return r
}

// ligatures replaces the characters that full case folding expands to ASCII
// letters.
func ligatures() *strings.Replacer {
	return strings.NewReplacer("ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")
}

// isShortName reports whether a folded name can be the 8.3 name that NTFS makes
// for a long one: its first letters, or two letters and four digits of a hash,
// then ~ and a number, and the first three characters of the extension.
func isShortName(name, long string) bool {
	base, ext, _ := strings.Cut(name, ".")
	head, number, tilde := strings.Cut(base, "~")
	if !tilde || head == "" || number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	longBase, longExt := splitExt(long)
	if strings.HasPrefix(long, ".") ||
		len(longBase) > 8 ||
		len(longExt) > 3 ||
		longExt == "*" {
		hashed := len(head) == 6 &&
			strings.HasPrefix(longBase, head[:2]) &&
			strings.Trim(head[2:], "0123456789abcdef") == ""
		plain := strings.HasPrefix(longBase, head) &&
			len(head) >= min(6, 7-len(number), len(longBase))
		return (hashed || plain) && glob.Text(longExt[:min(3, len(longExt))], ext)
	}
	return false // the name is short already
}

// splitExt returns the characters that NTFS uses of a long name and of its
// extension.
func splitExt(long string) (base, ext string) {
	long = strings.TrimLeft(long, ".")
	if i := strings.LastIndexByte(long, '.'); i >= 0 {
		long, ext = long[:i], long[i+1:]
	}
	return strings.Map(dropDotAndSpace, long), strings.Map(dropDotAndSpace, ext)
}

func dropDotAndSpace(r rune) rune {
	if r == '.' || r == ' ' {
		return -1
	}
	return r
}
