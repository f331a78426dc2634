package applet

import (
	"strings"

	"github.com/ryeos/rye/diag"
)

// refuseGit refuses a path with a component that some file system takes for
// ".git": git's own hooks and configuration run commands.
func refuseGit(rel, given string) error {
	for name := range strings.SplitSeq(rel, "/") {
		if namesFile(name, ".git") {
			return diag.New(diag.PolicyDenied, "writing %q: nothing below .git is written", given).
				WithHint("use git itself, through the bash tool")
		}
	}
	return nil
}

// namesFile knows the spellings of name that file systems fold into want: case,
// NTFS's trailing dots, spaces and streams, its short names, and the characters
// that HFS+ ignores. want is lower case.
func namesFile(name, want string) bool {
	name = strings.Map(dropIgnored, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.ToLower(strings.TrimRight(name, ". "))
	if name == want {
		return true
	}
	short := strings.TrimPrefix(want, ".")
	if len(short) == len(want) && len(want) <= 8 {
		return false // it needs no short name
	}
	rest, ok := strings.CutPrefix(name, short[:min(6, len(short))]+"~")
	return ok && digits(rest)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// dropIgnored removes what HFS+ does not see in a name.
func dropIgnored(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}
