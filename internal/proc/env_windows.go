package proc

import "strings"

// foldName makes one name of all spellings: Windows ignores their case.
func foldName(name string) string { return strings.ToUpper(name) }

func baseNames() []string {
	return []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ", "SYSTEMROOT", "PATHEXT", "USERPROFILE", "TEMP", "TMP"}
}
