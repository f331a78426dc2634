package review

import (
	"bytes"
	"cmp"
	"github.com/ryeos/rye/lock/treehash"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// componentMark begins the line of a component in a list of files.
const componentMark = "component "

// RenderFiles returns the list of the files of components, which are sorted:
//
//	component KIND:NAME DIR
//	rye-tree 1
//	MODE DIGEST PATH     for each file
//
// The hash of the lines after the first is the sum of the component.
func RenderFiles(components []Component) ([]byte, error) {
	sorted := slices.Clone(components)
	slices.SortFunc(sorted, func(a, b Component) int {
		return cmp.Compare(a.ID(), b.ID())
	})
	var out bytes.Buffer
	for _, c := range sorted {
		text, err := treehash.Text(c.Files)
		if err != nil {
			return nil, diag.Doing("listing the files of "+c.ID(), err)
		}
		out.WriteString(componentMark)
		out.WriteString(c.ID())
		out.WriteByte(' ')
		out.WriteString(c.From)
		out.WriteByte('\n')
		out.Write(text)
	}
	return out.Bytes(), nil
}

// ParseFiles reads a list of files. It accepts exactly the texts of RenderFiles, in which
// no component is repeated. The sizes of files are not in it. Findings have no path.
func ParseFiles(b []byte) ([]Component, []diag.Finding) {
	if len(b) > MaxFiles {
		f := diag.Errorf(diag.TooLarge, 0, 0, "the list of files has %d bytes, at most %d are allowed", len(b), MaxFiles)
		return nil, []diag.Finding{f}
	}
	var out []Component
	line := 1
	rest := string(b)
	for rest != "" {
		part := rest
		// No path begins a line, so only a component has the mark at the beginning of one.
		i := strings.Index(rest[1:], "\n"+componentMark)
		if i >= 0 {
			part = rest[:i+2]
		}
		c, why := parseComponent(part)
		if why == "" &&
			len(out) > 0 &&
			out[len(out)-1].ID() >= c.ID() {
			why = c.ID() + " is repeated, or is not in the order of names"
		}
		if why == "" && len(out) == MaxComponents {
			why = "there are more components than a source may have"
		}
		if why != "" {
			f := diag.Errorf(diag.ParsingError, line, 1, "%s", why)
			return nil, []diag.Finding{f}
		}
		out = append(out, c)
		line += strings.Count(part, "\n")
		rest = rest[len(part):]
	}
	return out, nil
}

func parseComponent(text string) (c Component, why string) {
	head, tree, _ := strings.Cut(text, "\n")
	head, ok := strings.CutPrefix(head, componentMark)
	id, from, found := strings.Cut(head, " ")
	if !ok || !found {
		return c, `the line is not "component KIND:NAME DIR"`
	}
	if err := CheckID(id); err != nil {
		return c, err.Error()
	}
	if err := checkFrom(from); err != nil {
		return c, "the directory of " + id + ": " + err.Error()
	}
	files, sum, err := treehash.Parse([]byte(tree))
	if err != nil {
		return c, id + ": " + err.Error()
	}
	c.Kind, c.Name, _ = strings.Cut(id, ":")
	c.From = from
	c.Sum = sum
	c.Files = files
	return c, ""
}
