//go:build !windows

package proc

// foldName returns name: names are case-sensitive.
func foldName(name string) string { return name }

func baseNames() []string {
	return []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ"}
}
