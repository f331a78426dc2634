// Package winname knows the names that Windows gives to devices: a file of such a name
// cannot exist there, and opening it opens the device.
//
// It does not check characters, lengths or whole paths.
package winname

import (
	"slices"
	"strings"
)

// Device reports whether Windows takes an element of a path, with any extension, for a
// device.
func Device(elem string) bool {
	if elem == "" || strings.IndexByte("acnlpACNLP", elem[0]) < 0 {
		return false // almost all names
	}
	base, _, _ := strings.Cut(elem, ".")
	base = strings.TrimRight(base, " ")
	if len(base) < len("CON") || len(base) > len("CONOUT$") {
		return false
	}
	if !slices.ContainsFunc([]string{"CON", "PRN", "AUX", "NUL", "COM", "LPT"}, func(s string) bool { return strings.EqualFold(base[:len(s)], s) }) {
		return false
	}
	base = strings.ToUpper(base)
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(base, port); ok {
			switch n {
			case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
				return true
			}
		}
	}
	return false
}

// In returns the first element of a path with slashes that Windows takes for a device, or "".
func In(path string) string {
	for elem := range strings.SplitSeq(path, "/") {
		if Device(elem) {
			return elem
		}
	}
	return ""
}
