package openat

import (
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/winname"
)

// CheckRel returns a PATH_ESCAPE error unless rel is canonical: relative, with
// forward slashes, UTF-8, and without empty, "." or ".." elements, so that one
// file has one spelling. Backslashes are refused on every system. On Windows
// an element must also not be a device name, name a stream, or end in a dot or
// space.
func CheckRel(rel string) error {
	why := wrongRel(rel)
	if why == "" && runtime.GOOS == "windows" {
		why = wrongOnWindows(rel)
	}
	if why == "" {
		return nil
	}
	return escapes(rel, why)
}

func wrongRel(rel string) string {
	switch {
	case rel == "":
		return "the path is empty"
	case rel[0] == '/':
		return "the path is absolute"
	case strings.IndexByte(rel, 0) >= 0:
		return "the path contains NUL"
	case strings.IndexByte(rel, '\\') >= 0:
		return "the path contains a backslash"
	case !utf8.ValidString(rel):
		return "the path is not UTF-8"
	}
	for elem := range strings.SplitSeq(rel, "/") {
		switch elem {
		case "":
			return "the path has an empty element"
		case ".", "..":
			return "the path has a dot element"
		}
	}
	return ""
}

// wrongOnWindows returns why Windows would open another file than rel, or "".
func wrongOnWindows(rel string) string {
	for elem := range strings.SplitSeq(rel, "/") {
		i := strings.IndexFunc(elem, func(r rune) bool {
			return r < ' ' || strings.ContainsRune(`<>:"|?*`, r)
		})
		if i >= 0 {
			return "the path contains a character that is reserved on Windows"
		}
		if strings.HasSuffix(elem, ".") || strings.HasSuffix(elem, " ") {
			return "an element ends in a dot or space"
		}
	}
	if winname.In(rel) != "" {
		return "an element is a device name"
	}
	return ""
}
