package policy

import (
	"slices"

	"github.com/ryeos/rye/internal/tree"
)

// Class is the sandbox of a risk class. T4 has none: its items run without a sandbox.
// Keys of an item replace the keys of its class one by one: fs.read without fs.write has the
// fs.write of the class.
type Class struct {
	// Ceiling is the most that an item of the class may ask for; what is absent in it
	// is not bounded by the class.
	Ceiling Profile
	// Default replaces what an item does not state.
	Default Profile
	// Named excludes exec: any, so that the item must list the programs it starts.
	Named bool
}

// Class returns the sandbox of a class, ok false for T4. Its lists must not be changed.
func (k *Risk) Class(t Tier) (c Class, ok bool) {
	c, ok = k.classes[t]
	return c, ok
}

// Exceeds returns the keys with which p asks for more than the class permits.
func (c Class) Exceeds(p Profile) []Excess {
	out := p.Exceeds(c.Ceiling)
	if c.Named &&
		p.Exec != nil &&
		slices.Contains(*p.Exec, ExecAny) &&
		!slices.ContainsFunc(out, func(x Excess) bool { return x.Key == "exec" }) {
		out = append(out, Excess{Key: "exec", Wants: ExecAny, Allows: "a list of programs"})
	}
	return out
}

// readClasses applies the classes of one layer. A layer that may widen replaces a
// ceiling or a default as a whole, any other one tightens it.
func (k *Risk) readClasses(r *tree.Reader, wide bool) {
	m := r.Map("classes")
	m.Only(
		T0.String(),
		T1.String(),
		T2.String(),
		T3.String(),
	)
	for t := T0; t < T4; t++ {
		if !m.Has(t.String()) {
			continue
		}
		row := m.Map(t.String())
		row.Only("ceiling", "default", "exec_any")
		c := k.classes[t]
		ceiling := ReadProfile(row.Map("ceiling"))
		def := ReadProfile(row.Map("default"))
		switch named := !row.Bool("exec_any", !c.Named); {
		case !wide:
			c = Class{Tighten(c.Ceiling, ceiling), Tighten(c.Default, def), c.Named || named}
		default:
			if row.Has("ceiling") {
				c.Ceiling = ceiling
			}
			if row.Has("default") {
				c.Default = def
			}
			c.Named = named
		}
		k.classes[t] = c
	}
}
