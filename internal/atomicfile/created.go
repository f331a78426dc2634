package atomicfile

import (
	"path"
	"slices"

	"github.com/ryeos/rye/internal/openat"
)

// Created is the directory, below a project, with copies of files that rye created while a
// confined program may have run. No confined program writes there. The sandbox compares: a
// file with the same content is not one that its program made.
const Created = spaceDir + "/" + cacheDir + "/created"

// CreatedNames are the files of a project that rye creates next to .ai and that confined
// programs may not create.
func CreatedNames() []string {
	return []string{"rye.yaml", "rye.lock", "rye.sum"}
}

// keep writes the copy of a file before the file itself. It does so for one that does not
// exist yet or that has a copy, if a confined program ever ran: the directory exists then. An
// error costs the file only if a program ends now.
func (b Base) keep(dir *openat.Folder, name string, data []byte) {
	if b.inner != path.Join(spaceDir, cacheDir, TempDir) ||
		dir.Path() != b.temp ||
		!slices.Contains(CreatedNames(), name) {
		return
	}
	root := Base{
		dir:   b.temp,
		temp:  b.temp,
		inner: b.inner,
		needs: b.needs,
		perm:  b.perm,
	}
	copies, err := root.existing(Created)
	if err != nil {
		return
	}
	defer copies.Close()
	if _, err := dir.Stat(name); err == nil {
		if _, err := copies.Stat(name); err != nil {
			return
		}
	}
	p, err := root.stage(copies, name, content{data: data, perm: 0o600})
	if err == nil {
		_ = p.Commit()
	}
}
