package applet

import (
	"strings"

	"github.com/ryeos/rye/diag"
)

// refuseGit refuses a path with a component that some file system takes for
// ".git": git's own hooks and configuration run commands.
func refuseGit(rel, given string) error {
	for name := range strings.SplitSeq(rel, "/") {
		if isDotGit(name) {
			return diag.New(diag.PolicyDenied, "writing %q: nothing below .git is written", given).
				WithHint("use git itself, through the bash tool")
		}
	}
	return nil
}

// isDotGit knows the spellings that file systems fold into ".git": case,
// NTFS's trailing dots, spaces and streams, its short name, and the characters
// that HFS+ ignores.
func isDotGit(name string) bool {
	name = strings.Map(dropIgnored, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.ToLower(strings.TrimRight(name, ". "))
	return name == ".git" || strings.HasPrefix(name, "git~") && digits(name[len("git~"):])
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
