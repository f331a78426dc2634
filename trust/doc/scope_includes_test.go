package doc

import "testing"

// TestScopeIncludes verifies which scopes a new one replaces without a loss.
func TestScopeIncludes(t *testing.T) {
	of := func(kind, namespace string, may ...string) Scope {
		return Scope{Kinds: []string{kind}, Namespaces: []string{namespace}, May: may}
	}
	for name, c := range map[string]struct {
		wide, narrow Scope
		want         bool
	}{
		"equal":             {of("tool", "a/**", "sign"), of("tool", "a/**", "sign"), true},
		"every kind":        {of("*", "a/**", "sign"), of("tool", "a/**", "sign"), true},
		"one kind":          {of("tool", "a/**", "sign"), of("*", "a/**", "sign"), false},
		"every id":          {of("tool", "**", "sign"), of("tool", "a/**", "sign"), true},
		"below":             {of("tool", "a/**", "sign"), of("tool", "a/b/**", "sign"), true},
		"above":             {of("tool", "a/b/**", "sign"), of("tool", "a/**", "sign"), false},
		"one level":         {of("tool", "a/*", "sign"), of("tool", "a/**", "sign"), false},
		"more uses":         {of("tool", "a/**", "sign", "rotate"), of("tool", "a/**", "sign"), true},
		"fewer uses":        {of("tool", "a/**", "sign"), of("tool", "a/**", "sign", "rotate"), false},
		"nothing permitted": {of("tool", "a/**", "sign"), Scope{}, true},
	} {
		if got := c.wide.Includes(c.narrow); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
