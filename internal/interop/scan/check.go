package scan

import (
	"bytes"
	"github.com/ryeos/rye/lock/treehash"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// lfsPointer begins a file whose content is on another server.
var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

// maxPointer is how many bytes such a file has at most.
const maxPointer = 1024

// check leaves out every component with a file that cannot be used.
func (f *finder) check() {
	f.found = slices.DeleteFunc(f.found, func(c *Component) bool {
		finding := f.wrong(c)
		if finding != nil {
			f.leave(c.Ref(), *finding)
		}
		return finding != nil
	})
	for _, c := range f.found {
		f.join(c)
	}
}

// wrong returns the first reason to refuse a component, nil for none.
func (f *finder) wrong(c *Component) *diag.Finding {
	for _, finding := range treehash.Check(c.Files) {
		if finding.Severity == diag.SeverityError {
			return refusedAt(finding, c.Path(finding.Path))
		}
	}
	paths := map[string]bool{}
	for _, file := range c.Files {
		paths[file.Path] = true
	}
	for _, file := range c.Files {
		finding := f.wrongFile(c, file, paths)
		if finding != nil {
			return finding
		}
	}
	return nil
}

// wrongFile returns the first reason to refuse a file of a component.
func (f *finder) wrongFile(
	c *Component,
	file treehash.File,
	paths map[string]bool,
) *diag.Finding {
	whole := c.Path(file.Path)
	// every component is installed in a directory as a bundle is
	err := bundle.CheckPath(".ai/skills/" + c.Name + "/" + file.Path)
	if err != nil {
		return refused(diag.CodeOf(err), whole, err.Error())
	}
	b, err := f.source.Read(whole)
	if err != nil {
		return refused(diag.CodeOf(err), whole, err.Error())
	}
	// a pointer in place of a file: the copy would not work, and its content is not reviewed
	if len(b) <= maxPointer && bytes.HasPrefix(b, lfsPointer) {
		return refused(diag.NotRegular, whole, "its content is in Git LFS, which is not fetched")
	}
	blob := hidden.Blob{
		Path:       file.Path,
		Bytes:      b,
		Executable: file.Mode == treehash.Executable,
	}
	has := func(p string) bool {
		return paths[p]
	}
	// warnings, such as an archive, are parts of the report
	for _, finding := range hidden.Blobs(blob, has) {
		if finding.Severity == diag.SeverityError {
			return refusedAt(finding, whole)
		}
	}
	return nil
}

// join records the plugins of a component, which are in the nearest directory above it.
func (f *finder) join(c *Component) {
	nearest := ""
	for _, p := range f.listed {
		if p.Elsewhere != "" ||
			!within(c.Path(c.Main), p.Dir) ||
			len(p.Dir) < len(nearest) {
			continue
		}
		if len(p.Dir) > len(nearest) {
			nearest = p.Dir
			c.Plugins = nil
		}
		c.Plugins = append(c.Plugins, p.Name)
	}
}

// distinct leaves out copies, and components whose names are equal if case is ignored:
// some file systems have one directory for both.
func (f *finder) distinct() {
	byName := map[string][]*Component{}
	for _, c := range f.found {
		key := strings.ToLower(c.Ref())
		byName[key] = append(byName[key], c)
	}
	f.found = nil
	for _, list := range byName {
		list = withoutCopies(list)
		if len(list) == 1 {
			f.found = append(f.found, list[0])
			continue
		}
		for _, c := range list {
			f.leave(c.Ref(), *ambiguous(c, list))
		}
	}
}

// ambiguous is the reason to leave out one of several components with a name.
func ambiguous(c *Component, list []*Component) *diag.Finding {
	var others []string
	for _, other := range list {
		if other != c {
			others = append(others, other.Path(other.Main))
		}
	}
	return refused(
		diag.AmbiguousItem,
		c.Path(c.Main),
		c.Ref()+" is also at "+strings.Join(others, ", "),
	)
}

// withoutCopies keeps one of several components with equal files: the one with the
// shortest path.
func withoutCopies(list []*Component) (kept []*Component) {
	slices.SortStableFunc(list, func(a, b *Component) int {
		return len(a.Dir) - len(b.Dir)
	})
	for _, c := range list {
		i := slices.IndexFunc(kept, c.equals)
		if i < 0 {
			kept = append(kept, c)
			continue
		}
		kept[i].note("the same files are in " + c.Dir)
	}
	return kept
}

// equals reports whether a component has the same name and files.
func (c *Component) equals(other *Component) bool {
	return c.Name == other.Name &&
		slices.EqualFunc(c.Files, other.Files, func(a, b treehash.File) bool {
			return a.Path == b.Path && a.Digest == b.Digest
		})
}
