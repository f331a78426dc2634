package scan

import (
	"cmp"
	"slices"

	"github.com/ryeos/rye/lock/treehash"
	"github.com/ryeos/rye/packages/source"
)

// snapshot is the source of a whole commit.
type snapshot struct {
	*source.Snapshot
	list []treehash.File
}

// Of returns the files of a whole commit as a source. Paths that were not fetched, such
// as links, are among them, so that a component with one is left out.
func Of(s *source.Snapshot) Source {
	out := &snapshot{Snapshot: s, list: slices.Clone(s.Left)}
	for _, file := range s.Files {
		one := treehash.File{
			Path:   file.Path,
			Mode:   treehash.Regular,
			Size:   file.Size,
			Digest: file.Digest,
		}
		if file.Executable {
			one.Mode = treehash.Executable
		}
		out.list = append(out.list, one)
	}
	slices.SortFunc(out.list, func(a, b treehash.File) int {
		return cmp.Compare(a.Path, b.Path)
	})
	return out
}

// Files implements Source.
func (s *snapshot) Files() []treehash.File {
	return s.list
}
