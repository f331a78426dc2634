package applet

import (
	"strings"

	"github.com/ryeos/rye/diag"
)

// guarded says who writes a folder below .ai that steers rye, "" for any other.
// What an agent may write are drafts of items.
func guarded(folder string) string {
	for _, g := range [...]struct{ name, hint string }{
		{"config", "settings take effect when they are signed: a person writes them, then rye sign"},
		{"trust", "whom to trust is a person's decision: rye trust add, or rye trust accept"},
		{"trusted_keys", "whom to trust is a person's decision: rye trust add, or rye trust accept"},
		{"keys", "keys are a person's: rye key new"},
		{"bundles", "rye add and rye sync install bundles"},
		{"cache", "rye makes what it needs there"},
	} {
		if namesFile(folder, g.name) {
			return g.hint
		}
	}
	return ""
}

// refuseGuarded refuses what stops or steers rye when somebody else writes it,
// in any project below this one as well.
func refuseGuarded(rel, given string) error {
	names := strings.Split(rel, "/")
	for i, name := range names[1:] {
		if hint := guarded(name); hint != "" && namesFile(names[i], ".ai") {
			return diag.New(diag.PolicyDenied, "writing %q: nothing below .ai/%s is written", given, strings.ToLower(name)).WithHint("%s", hint)
		}
	}
	for _, name := range [...]string{"rye.lock", "rye.sum"} {
		if namesFile(names[len(names)-1], name) {
			return diag.New(diag.PolicyDenied, "writing %q: %s is written by rye alone", given, name).
				WithHint("a person runs rye lock")
		}
	}
	return nil
}
