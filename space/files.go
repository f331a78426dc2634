package space

// Files is what stands below a .ai folder that lies on no disk, such as that
// of a revision. Paths are relative to .ai, slash-separated, "." is .ai itself.
type Files interface {
	// Read returns a file's bytes, at most limit. A missing file satisfies
	// IsMissing.
	Read(rel string, limit int64) ([]byte, error)
	// Exists reports whether a file or a folder stands at rel.
	Exists(rel string) bool
	// Executable reports whether the file at rel is one that the system runs.
	Executable(rel string) bool
	// Walk calls fn for everything at or below the folder rel that is no
	// folder, sorted by path. A missing folder is empty.
	Walk(rel string, fn func(Entry) error) error
}

// NewFiles returns a root over files. It is no embedded root: nothing compiled
// in vouches for it.
func NewFiles(name Name, files Files) *Root { return &Root{Space: name, files: files} }

// OnDisk reports whether the root's files have paths.
func (r *Root) OnDisk() bool { return r.files == nil && !r.Embedded() }

// Executable reports whether the file at rel is marked as a program, for a root
// that is not on disk.
func (r *Root) Executable(rel string) bool { return r.files != nil && r.files.Executable(rel) }
