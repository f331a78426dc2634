package proc

import "strings"

// foldName returns one spelling of name: Windows ignores case.
func foldName(name string) string { return strings.ToUpper(name) }

func baseNames() []string {
	return []string{
		"PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ", "SYSTEMROOT", "PATHEXT", "USERPROFILE", "TEMP", "TMP",
		"SYSTEMDRIVE", "WINDIR", "COMSPEC",
	}
}
