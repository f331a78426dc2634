//go:build !windows

package proc

// foldName is the identity: names differ in case.
func foldName(name string) string { return name }

func baseNames() []string { return []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ"} }
