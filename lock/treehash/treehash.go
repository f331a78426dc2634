// Package treehash hashes the files of a directory with their modes, and decides which files
// a directory may have that every system can store. It does not read the disk.
package treehash

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/mod/module"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
)

// Limits of a tree.
const (
	MaxFiles = 20_000
	MaxFile  = 64 << 20
	MaxSize  = 512 << 20
	MaxPath  = 512
)

// Mode is the mode of a file as git stores it.
type Mode uint32

// The modes that a tree may contain.
const (
	Regular    Mode = 0o100644
	Executable Mode = 0o100755
)

// File is one file of a tree.
type File struct {
	Path   string // from the root of the tree, with /
	Mode   Mode
	Size   int64
	Digest item.Digest // of the bytes of the blob
}

// Of returns the hash of a tree: h1: and the base64 of the SHA-256 over
//
//	rye-tree 1 LF
//	MODE SP DIGEST SP PATH LF    for each file, sorted by the bytes of the path
//
// with the mode in six octal digits and the digest in 64 hexadecimal ones. No path
// contains a line end, so different trees have different texts. It returns an error
// for a tree that Check refuses.
func Of(files []File) (string, error) {
	text, err := Text(files)
	if err != nil {
		return "", err
	}
	return hashText(text), nil
}

// Text returns the text whose hash is Of.
func Text(files []File) ([]byte, error) {
	if err := diag.FromFindings("hashing the tree", Check(files)); err != nil {
		return nil, err
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Compare(a.Path, b.Path)
	})
	text := []byte(treeHead)
	for _, f := range files {
		text = append(text, f.line()...)
	}
	return text, nil
}

// treeHead is the first line of the text of a tree.
const treeHead = "rye-tree 1\n"

func hashText(text []byte) string {
	sum := sha256.Sum256(text)
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

// Parse reads a text of Text, and nothing else. The sizes of the files are not in
// it. It returns the hash of the tree.
func Parse(text []byte) (files []File, sum string, err error) {
	rest, ok := strings.CutPrefix(string(text), treeHead)
	if !ok {
		return nil, "", diag.New(diag.ParsingError, "reading a tree: the first line is not %q", strings.TrimSpace(treeHead))
	}
	n := 1
	for line := range strings.Lines(rest) {
		n++
		f, ok := parseTreeLine(line)
		if !ok {
			return nil, "", diag.New(diag.ParsingError, "reading a tree: line %d is not a mode, a digest and a path", n)
		}
		files = append(files, f)
	}
	canonical, err := Text(files)
	if err != nil {
		return nil, "", err
	}
	if string(canonical) != string(text) {
		return nil, "", diag.New(diag.ParsingError, "reading a tree: the paths are not sorted, or one is repeated")
	}
	return files, hashText(text), nil
}

func parseTreeLine(line string) (f File, ok bool) {
	words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
	if len(words) != 3 || !strings.HasSuffix(line, "\n") {
		return f, false
	}
	// A mode with other digits is found by Parse, which renders the line again.
	f.Mode = Regular
	if words[0] == "100755" {
		f.Mode = Executable
	}
	d, err := item.ParseDigest("sha256:" + words[1])
	f.Digest = d
	f.Path = words[2]
	return f, err == nil
}

func (f File) line() []byte {
	b := append(make([]byte, 0, 80+len(f.Path)), "100644 "...)
	if f.Mode == Executable {
		b = append(b[:0], "100755 "...)
	}
	b = hex.AppendEncode(b, f.Digest[:])
	b = append(b, ' ')
	b = append(b, f.Path...)
	return append(b, '\n')
}

// Check reports every file that a tree may not contain: links, submodules and
// other modes, names that some systems cannot store or that differ by case only, and
// sizes beyond the limits. Findings have a path.
func Check(files []File) []diag.Finding {
	var out []diag.Finding
	if len(files) > MaxFiles {
		out = append(out, diag.Errorf(
			diag.TooLarge,
			0,
			0,
			"the tree has %d files, at most %d are allowed",
			len(files),
			MaxFiles,
		))
		return out
	}
	total := int64(0)
	seen := treeNames{}
	for _, f := range files {
		total += max(0, min(f.Size, MaxSize))
		if code, why := f.wrong(); why != "" {
			out = append(out, diag.Finding{
				Severity: diag.SeverityError,
				Code:     code,
				Path:     f.Path,
				Message:  why,
			})
			continue
		}
		if other := seen.add(f.Path); other != "" {
			out = append(out, diag.Finding{
				Severity: diag.SeverityError,
				Code:     diag.PathEscape,
				Path:     f.Path,
				Message:  "it and " + other + " are one name if case is ignored, or one is a directory of the other",
			})
		}
	}
	if total > MaxSize {
		out = append(out, diag.Errorf(diag.TooLarge, 0, 0, "the tree has more than %d bytes", MaxSize))
	}
	diag.Sort(out)
	return out
}

func (f File) wrong() (diag.Code, string) {
	switch {
	case f.Mode == 0o120000:
		return diag.NotRegular, "it is a symbolic link"
	case f.Mode == 0o160000:
		return diag.NotRegular, "it is a submodule"
	case f.Mode != Regular && f.Mode != Executable:
		return diag.NotRegular, "its mode is not the mode of a regular or executable file"
	case f.Size < 0 || f.Size > MaxFile:
		return diag.TooLarge, "it is larger than a file may be"
	}
	return diag.PathEscape, wrongTreePath(f.Path)
}

// CheckPath returns nil if p can be the path of a file in a tree.
func CheckPath(p string) error {
	if why := wrongTreePath(p); why != "" {
		return errors.New(why)
	}
	return nil
}

// wrongTreePath returns why a path cannot be a file of a tree, or "".
func wrongTreePath(p string) string {
	switch {
	case p == "" || len(p) > MaxPath:
		return "its path is empty or too long"
	case path.Clean(p) != p || p[0] == '/' || p == ".." || strings.HasPrefix(p, "../"):
		return "its path is not canonical"
	case len(hidden.Scan([]byte(p))) > 0 || strings.ContainsFunc(p, decomposes):
		return "its path contains characters that are invisible or have two encodings"
	case module.CheckFilePath(p) != nil:
		return "its path has a name that some systems cannot store"
	}
	for elem := range strings.SplitSeq(p, "/") {
		low := strings.ToLower(elem)
		short, tilde := strings.CutPrefix(low, "git~")
		switch {
		case low == ".git" || tilde && strings.Trim(short, "0123456789") == "":
			return "its path passes through a .git directory"
		case strings.HasSuffix(elem, " ") || len(elem) > 255:
			return "an element of its path ends in a space or is too long"
		}
	}
	return ""
}

// decomposes reports whether a letter has a second encoding that some file systems
// treat as the same name. module.CheckFilePath refuses combining marks.
func decomposes(r rune) bool {
	return r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= 0xd7b0 && r <= 0xd7ff ||
		r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}

// treeNames maps the folded form of every path and directory to its spelling; a
// directory ends in "/".
type treeNames map[string]string

// add returns the path that p or a directory of p collides with, or "".
func (n treeNames) add(p string) string {
	if was, taken := n[foldName(p)]; taken {
		return strings.TrimSuffix(was, "/")
	}
	n[foldName(p)] = p
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		was, taken := n[foldName(d)]
		if taken && was == d+"/" {
			return ""
		}
		if taken {
			return strings.TrimSuffix(was, "/")
		}
		n[foldName(d)] = d + "/"
	}
	return ""
}

func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, s)
}
