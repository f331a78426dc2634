package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/consent"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// sudoUser returns the id of the user who started rye with sudo, "" if there is
// none. Package owner uses it for root only.
func (e *Env) sudoUser() string {
	return e.Getenv("SUDO_UID")
}

// foreign are the users other than this one who own what makes a directory a
// project: the id of each with the first path that he owns.
type foreign map[string]string

// ids returns the users as the file of consents records them.
func (f foreign) ids() string {
	var out []string
	for uid := range f {
		out = append(out, uid)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// foreignOwners examines a project's directory and the files in it that decide
// what runs. Links are not followed: the owner of a link decides where it leads.
func (e *Env) foreignOwners(dir string) (foreign, error) {
	out := foreign{}
	note := func(path string, fi fs.FileInfo, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if err != nil {
			return diag.New(diag.FileSystemError, "reading the owner of %s: %w", path, err)
		}
		uid := owner.Other(fi, e.sudoUser())
		if uid != "" && out[uid] == "" {
			out[uid] = path
		}
		return nil
	}
	fi, err := os.Stat(dir)
	if err := note(dir, fi, err); err != nil {
		return nil, err
	}
	for _, name := range []string{
		space.Dir, filepath.Join(space.Dir, "trust"), filepath.Join(space.Dir, "trusted_keys"), lock.ProjectFileName, lock.LockFile, lock.SumFile,
	} {
		path := filepath.Join(dir, name)
		fi, err := os.Lstat(path)
		if err := note(path, fi, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkOwner refuses a project of another user that this user did not accept, as
// git does (safe.directory): its author would choose what runs, and rye sign '*'
// would sign his files.
func (p *Project) checkOwner(dir string) error {
	owners, err := p.Env.foreignOwners(dir)
	if err != nil || len(owners) == 0 {
		return err
	}
	accepted := strings.Fields(consent.Record(p.Dirs.State).Read(consent.Directories)[Resolved(dir)])
	for uid, path := range owners {
		if !slices.Contains(accepted, uid) {
			return diag.New(diag.ConsentRequired, "opening project %s: %s belongs to %s, another user of this machine", dir, path, owner.Name(uid)).
				WithReason("directory").
				WithDetail("path", dir).
				WithDetail("owner", owner.Name(uid))
		}
	}
	return nil
}

// checkProjectOwner is checkOwner for the project that was found. A directory that
// is only named (a bare repository, a directory for rye init) is not read.
func (p *Project) checkProjectOwner() error {
	if dir := p.Spaces.ProjectDir; dir != "" && space.IsProject(dir) {
		return p.checkOwner(dir)
	}
	return nil
}

// AcceptDirectory records that this user accepts a project's directory that other
// users own, and returns the names of these users. The acceptance ends when another
// user owns it.
func (e *Env) AcceptDirectory(dir string) ([]string, error) {
	fi, err := os.Stat(dir)
	if err != nil || !fi.IsDir() {
		return nil, diag.New(diag.Usage, "accepting %q: not a directory", dir)
	}
	p := &Project{Env: e, Dirs: e.UserDirs()}
	if err := p.checkUserDirs(); err != nil {
		return nil, err
	}
	owners, err := e.foreignOwners(dir)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	given := consent.Record(p.Dirs.State)
	all := given.Read(consent.Directories)
	all[Resolved(dir)] = owners.ids()
	var names []string
	for uid := range owners {
		names = append(names, owner.Name(uid))
	}
	slices.Sort(names)
	return names, given.Write(consent.Directories, all)
}

// checkUserDirs refuses directories of rye that another user owns or can write:
// settings, keys, consents and what rye remembers are in them. A directory that
// cannot be examined is an error of the code that reads it.
func (p *Project) checkUserDirs() error {
	for _, d := range []struct{ path, variable string }{
		{p.Dirs.Config, "XDG_CONFIG_HOME"}, {p.Dirs.Trust(), "XDG_CONFIG_HOME"},
		{p.Dirs.Data, "XDG_DATA_HOME"}, {p.Dirs.Keys(), "XDG_DATA_HOME"},
		{p.Dirs.State, "XDG_STATE_HOME"}, {stateTrust(p.Dirs), "XDG_STATE_HOME"},
	} {
		if d.path == "" {
			continue
		}
		err := owner.Private(d.path, p.Env.sudoUser())
		u := (*owner.Unsafe)(nil)
		if errors.As(err, &u) {
			return diag.New(diag.ConfigError, "opening rye's directory: %w", u).WithReason("user_directory").
				WithDetail("path", d.path).WithDetail("variable", d.variable)
		}
	}
	return nil
}

// stateTrust returns the directory of what this user accepted and of revocations
// that were seen, "" if it is unknown.
func stateTrust(dirs userdirs.Dirs) string {
	if dirs.State == "" {
		return ""
	}
	return filepath.Join(dirs.State, "trust")
}
