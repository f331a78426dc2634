package gitcmd

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/ryeos/rye/diag"
)

// ModeTree is the mode of a directory in a tree.
const ModeTree = 0o40000

// RawEntry is one entry of a tree object. OID is the binary name.
type RawEntry struct {
	Mode uint32
	Name string
	OID  []byte
}

// EachRaw calls fn with the entries of a tree object; hash is the length of names of
// objects. It refuses a tree that git does not write: entries in another order, or two
// of one name. In such a tree git itself finds other files when it searches for a path
// than when it checks everything out.
func EachRaw(data []byte, hash int, fn func(e RawEntry) error) error {
	var o treeOrder
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		word, name, ok2 := strings.Cut(string(head), " ")
		mode, err := strconv.ParseUint(word, 8, 32)
		if !ok ||
			!ok2 ||
			err != nil ||
			len(rest) < hash ||
			name == "" ||
			strings.Contains(name, "/") {
			return badTree("it is malformed")
		}
		if err := o.next(name, mode == ModeTree); err != nil {
			return err
		}
		err = fn(RawEntry{uint32(mode), name, rest[:hash]})
		if err != nil {
			return err
		}
		data = rest[hash:]
	}
	return nil
}

func badTree(format string, args ...any) error {
	return diag.New(diag.PathEscape, "reading a tree of git: "+format, args...).WithReason("git_tree")
}

// treeOrder checks the order of the entries of a tree. Git compares names as if names of
// directories ended in "/", so that other names can sort between "a" and "a/".
type treeOrder struct {
	last string   // with the "/" of a directory
	open []string // the files whose names begin the last name, each the beginning of the next
}

func (o *treeOrder) next(name string, isTree bool) error {
	key := name
	if isTree {
		key += "/"
	}
	for len(o.open) > 0 && !strings.HasPrefix(name, o.open[len(o.open)-1]) {
		o.open = o.open[:len(o.open)-1]
	}
	if len(o.open) > 0 && o.open[len(o.open)-1] == name ||
		key == o.last {
		return badTree("it contains %q twice", name)
	}
	if o.last != "" && key < o.last {
		return badTree("%q is not sorted: git does not find it there", name)
	}
	if o.last = key; !isTree {
		o.open = append(o.open, name)
	}
	return nil
}

// Alias reports whether some file system treats a name as another name, which is ASCII:
// it ignores case, invisible characters or a dot or space at the end, or has short names.
func Alias(name, of string) bool {
	if name == of {
		return false
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r):
			return -1
		case r == '\u212a': // the sign for kelvin, whose small letter is k
			return 'k'
		case r == '\u017f': // the long s
			return 's'
		}
		return unicode.ToLower(r)
	}, name)
	plain, _, _ = strings.Cut(plain, ":") // a stream of a file on Windows
	plain = strings.TrimRight(plain, ". ")
	short, tail, cut := strings.Cut(plain, "~")
	if cut && tail != "" && strings.Trim(tail, "0123456789") == "" {
		letters := strings.ReplaceAll(strings.TrimLeft(of, "."), ".", "")
		return short != "" && len(short) <= 6 && strings.HasPrefix(letters, short)
	}
	return plain == of
}
