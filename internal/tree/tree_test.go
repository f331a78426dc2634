package tree

import (
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestAtFindsTheNearestAncestor(t *testing.T) {
	d := New()
	odd := Join("", `a\`) // a key that ends in a backslash
	d.Pos["config"] = diag.Position{Line: 3, Column: 1}
	d.Pos[Join("config", "a.b")] = diag.Position{Line: 4, Column: 3}
	d.Pos[odd] = diag.Position{Line: 9, Column: 1}
	for path, line := range map[string]int{
		"config":                         3,
		"config.missing":                 3,
		"config.a":                       3, // not the key "a.b"
		Join("config", "a.b"):            4,
		Join(Join("config", "a.b"), "x"): 4,
		Index(odd, 0):                    9,
		"elsewhere.x":                    0,
		"":                               0,
	} {
		if got := d.At(path).Line; got != line {
			t.Errorf("At(%q) = line %d, want %d", path, got, line)
		}
	}
}
