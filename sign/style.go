package sign

import (
	"slices"

	"github.com/ryeos/rye/diag"
)

// Style is how a file's language writes a one-line comment. The styles are
// compiled in and extractors choose one by name: an extractor that could define
// a comment could change what a signature covers.
type Style struct{ Name, Open, Close string }

// StyleBare is the style of a detached signature file: no comment marks.
var StyleBare = Style{Name: "bare"}

// Hash returns the style of TOML, YAML and shell comments.
func Hash() Style { return styles[0] }

// styles are all styles, in the order of the documentation.
var styles = [...]Style{
	{"#", "# ", ""},
	{"//", "// ", ""},
	{"<!--", "<!-- ", " -->"},
	{"--", "-- ", ""},
	{";", "; ", ""},
	{"/*", "/* ", " */"},
	{"bare", "", ""},
}

// Styles returns every style in the order of the documentation.
func Styles() []Style {
	return slices.Clone(styles[:])
}

// StyleByName returns the style of that name.
func StyleByName(name string) (Style, bool) {
	for _, s := range styles {
		if s.Name == name {
			return s, true
		}
	}
	return Style{}, false
}

// Detached reports whether the signature is in a file of its own.
func (s Style) Detached() bool {
	return s.Name == StyleBare.Name
}

// check refuses a style that is not one of the compiled-in ones.
func (s Style) check() error {
	if !slices.Contains(styles[:], s) {
		return diag.New(diag.Internal, "choosing a comment style: %q is not compiled in", s.Name)
	}
	return nil
}
