package sign

import "github.com/ryeos/rye/diag"

// Style is how a file's language writes a one-line comment. The styles are
// compiled in: extractors choose one by name and nobody can define another,
// because whoever defines what a comment is defines what is covered.
type Style struct{ Name, Open, Close string }

// StyleBare is the style of a detached signature file: no comment marks.
var StyleBare = Style{Name: bareName}

const bareName = "bare"

// Styles returns every style in the order of the documentation.
func Styles() []Style {
	return []Style{
		{"#", "# ", ""},
		{"//", "// ", ""},
		{"<!--", "<!-- ", " -->"},
		{"--", "-- ", ""},
		{";", "; ", ""},
		{"/*", "/* ", " */"},
		{bareName, "", ""},
	}
}

// StyleByName returns the style of that name.
func StyleByName(name string) (Style, bool) {
	switch name {
	case "#", "//", "--", ";":
		return Style{name, name + " ", ""}, true
	case "<!--":
		return Style{name, "<!-- ", " -->"}, true
	case "/*":
		return Style{name, "/* ", " */"}, true
	case bareName:
		return Style{bareName, "", ""}, true
	}
	return Style{}, false
}

// Detached reports whether the style belongs in a file of its own.
func (s Style) Detached() bool { return s.Name == bareName }

// check refuses a style that is not one of the compiled-in ones.
func (s Style) check() error {
	for _, known := range [...]Style{
		{"#", "# ", ""}, {"<!--", "<!-- ", " -->"}, {"//", "// ", ""}, {"--", "-- ", ""},
		{";", "; ", ""}, {"/*", "/* ", " */"}, {bareName, "", ""},
	} {
		if s == known {
			return nil
		}
	}
	return diag.New(diag.Internal, "choosing a comment style: %q is not compiled in", s.Name)
}
