package workcopy

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
)

// Applied is what Apply wrote, or would write.
type Applied struct {
	Changes  []Change `json:"changes"`
	Withheld []Change `json:"withheld"` // that a person has not named
}

// Options are how Apply works.
type Options struct {
	Environ []string
	Judge   Judge
	Paths   []string // the changes at or below them, or all
	Check   bool     // change nothing
	Person  bool     // who named the paths; another caller does not get what is withheld
	Into    *Copy    // that the copy began with, nil for the project
}

// plan is a decided change.
// A conflict is also a file that was removed on one side and changed on the other, two different
// new files, and changed files that are not text.
type plan struct {
	Dir   string `json:"dir"` // that it changes
	Steps []step `json:"steps"`
}

// renamed returns the plan with the names that a function returns.
func (p plan) renamed(name func(string) string) plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Path, s.From.Target, s.To.Target = name(s.Path), name(s.From.Target), name(s.To.Target)
	}
	return p
}

// step is one write.
type step struct {
	Path string `json:"path"`
	From File   `json:"from"` // what the project has
	To   File   `json:"to"`
	data []byte
}

// Apply brings the changes of the copy to the project, or to the copy that it began with. A
// file that changed there too is merged. If one cannot be, nothing is written.
// The branch of a copy is not fetched: git would read a repository whose settings and objects a
// tool wrote, and commits that no person reviewed would enter the project.
func (c *Copy) Apply(ctx context.Context, o Options) (*Applied, error) {
	dir := c.Project
	if o.Into != nil {
		if c.From != o.Into.ID {
			return nil, diag.New(diag.ThreadState, "applying the working copy %s: it did not begin with the copy %s that the caller works in", c.ID, o.Into.ID)
		}
		dir = o.Into.Dir()
	}
	l, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	if err := c.finish(); err != nil {
		return nil, err
	}
	all, err := c.Diff(ctx, o.Environ, o.Judge)
	if err != nil {
		return nil, err
	}
	out, err := choose(all, o.Paths, o.Person)
	if err != nil {
		return nil, err
	}
	steps, err := c.steps(ctx, o.Environ, dir, out.Changes)
	if err != nil {
		return nil, err
	}
	out.Changes = slices.DeleteFunc(out.Changes, func(ch Change) bool { // the project has it already
		return !slices.ContainsFunc(steps, func(s step) bool {
			return s.Path == ch.Path
		})
	})
	if o.Check || len(steps) == 0 {
		return out, nil
	}
	if err := c.stage(dir, steps); err != nil {
		return nil, err
	}
	return out, c.finish()
}

// choose returns the changes at or below the paths. A withheld change is chosen only if a
// person named its own path.
func choose(all []Change, paths []string, person bool) (*Applied, error) {
	out := &Applied{Changes: []Change{}, Withheld: []Change{}}
	used := make([]bool, len(paths))
	for _, ch := range all {
		chosen := len(paths) == 0
		named := false
		for i, p := range paths {
			p = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(p)), "/")
			if p == ch.Path || p == "." || strings.HasPrefix(ch.Path, p+"/") {
				chosen, used[i], named = true, true, named || p == ch.Path
			}
		}
		switch {
		case !chosen:
		case ch.Why == whyLarge && named:
			return nil, diag.New(diag.TooLarge, "applying %s: %s", ch.Path, ch.Why).WithReason("copy_path")
		case (ch.Why == whyLink || ch.Why == whyModule || ch.Why == whyName) && named:
			return nil, diag.New(diag.PathEscape, "applying %s: %s", ch.Path, ch.Why).WithReason("copy_path")
		case ch.Why != "" && !(named && person):
			out.Withheld = append(out.Withheld, ch)
		default:
			ch.Why = ""
			out.Changes = append(out.Changes, ch)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, diag.New(diag.Usage, "applying %q: the working copy has no change there", paths[i])
	}
	return out, nil
}

// steps returns the writes that the changes need. The error names every conflict.
func (c *Copy) steps(
	ctx context.Context,
	environ []string,
	dir string,
	changes []Change,
) ([]step, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening the project: %w", err)
	}
	defer root.Close()
	var out []step
	var conflicts []string
	freed := map[string]bool{} // files that are removed first
	for _, ch := range changes {
		now, data, err := read(root, ch.Path)
		if err != nil {
			return nil, diag.New(diag.FileSystemError, "reading the project: %w", err)
		}
		if ch.is.Kind != Absent &&
			now.Kind == Folder &&
			emptied(root, ch.Path, freed) {
			now = File{}
		}
		s := step{Path: ch.Path, From: now, To: ch.is}
		switch {
		case now == ch.is || gone(now, ch.is):
			continue
		case now == ch.was && !linked(root, ch.Path) && !blocked(root, ch.Path, freed):
			if ch.is.Kind == Regular {
				s.data, err = c.content(&ch)
			}
		default:
			var clean bool
			if clean, err = c.merge(ctx, environ, &ch, data, &s); err == nil && !clean {
				conflicts = append(conflicts, ch.Path)
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		freed[ch.Path] = ch.is.Kind == Absent
		out = append(out, s)
	}
	if len(conflicts) > 0 {
		return nil, diag.New(diag.Conflict, "applying the working copy %s: the project has changed too: %s", c.ID, strings.Join(conflicts, ", ")).
			WithReason("copy").WithDetail("paths", conflicts).WithDetail("id", c.ID)
	}
	return slices.DeleteFunc(out, func(s step) bool {
		return s.From == s.To
	}), nil
}

// blocked reports whether the project has a file where a path needs a directory.
func blocked(root *os.Root, rel string, freed map[string]bool) bool {
	for dir := filepath.ToSlash(filepath.Dir(rel)); dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if fi, err := root.Lstat(dir); err == nil {
			return !fi.IsDir() && !freed[dir]
		}
	}
	return false
}

// gone reports whether a file that is to be removed is not there: a directory can be.
func gone(now, to File) bool {
	return to.Kind == Absent && now.Kind == Folder
}

// emptied reports whether a path is a directory that is gone when files are removed.
func emptied(root *os.Root, rel string, freed map[string]bool) bool {
	if fi, err := root.Lstat(rel); err != nil || !fi.IsDir() {
		return false
	}
	err := fs.WalkDir(root.FS(), rel, func(at string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !freed[at] {
			return fs.ErrExist
		}
		if e.IsDir() {
			below, err := fs.ReadDir(root.FS(), at)
			if err != nil || len(below) == 0 {
				return fs.ErrExist
			}
		}
		return nil
	})
	return err == nil
}

// merge makes one file of the project's file, which has changed, and the copy's file. It
// reports whether that is possible.
func (c *Copy) merge(
	ctx context.Context,
	environ []string,
	ch *Change,
	ours []byte,
	s *step,
) (clean bool, err error) {
	if ch.was.Kind != Regular ||
		ch.is.Kind != Regular ||
		s.From.Kind != Regular {
		return false, nil
	}
	base, ok, err := c.base(ctx, environ, ch)
	if err != nil || !ok {
		return false, err
	}
	theirs, err := c.content(ch)
	if err != nil || !isText(base) || !isText(ours) || !isText(theirs) {
		return false, err
	}
	scratch, err := atomicfile.Private(c.dir).Scratch()
	if err != nil {
		return false, err
	}
	defer scratch.Close()
	v := gitcmd.Versions{}
	for _, f := range []struct {
		to   *string
		name string
		data []byte
	}{{&v.Base, "base", base}, {&v.Ours, "ours", ours}, {&v.Theirs, "theirs", theirs}} {
		*f.to = filepath.Join(scratch.Path(), f.name)
		err := os.WriteFile(*f.to, f.data, 0o600)
		if err != nil {
			return false, diag.New(diag.FileSystemError, "merging %s: %w", ch.Path, err)
		}
	}
	g, err := gitcmd.New(gitcmd.Params{Dir: c.Project, Environ: environ})
	if err != nil {
		return false, err
	}
	out, conflict, err := g.MergeFile(ctx, v, "7")
	if err != nil || conflict {
		return false, err
	}
	s.data, s.To = out, File{Kind: Regular, Digest: digest(out), Exec: s.From.Exec}
	if ch.is.Exec != ch.was.Exec {
		s.To.Exec = ch.is.Exec
	}
	return true, nil
}

// stage keeps what is to be written. With the plan, which is written last, the change is
// decided: finish makes it, here or after this process was stopped.
// The project is as before until the plan of all writes is on the disk. Then the next apply or
// drop completes it.
func (c *Copy) stage(dir string, steps []step) error {
	base := atomicfile.Private(c.dir)
	for i, s := range steps {
		if s.To.Kind != Regular {
			continue
		}
		err := base.Write(
			filepath.ToSlash(filepath.Join(applyDir, strconv.Itoa(i))),
			s.data,
			0o600,
		)
		if err != nil {
			return err
		}
	}
	b, err := json.Marshal(plan{dir, steps}.renamed(packed))
	if err != nil {
		return diag.New(diag.Internal, "recording a change: %w", err)
	}
	return base.Write(planFile, b, 0o600)
}

// finish makes a change that was decided. A file that was changed since is left as it is and
// named.
func (c *Copy) finish() error {
	base := atomicfile.Private(c.dir)
	b, err := openat.ReadRegular(filepath.Join(c.dir, planFile), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return base.RemoveAll(applyDir) // of a change that was not decided, or is complete
	}
	var p plan
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "reading an unfinished change, %s: %w", filepath.Join(c.dir, planFile), err)
	}
	p = p.renamed(unpacked)
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return diag.New(diag.FileSystemError, "opening the project: %w", err)
	}
	defer root.Close()
	var changed []string
	for i, s := range p.Steps {
		now, _, err := read(root, s.Path)
		switch {
		case err != nil:
		case now == s.To && now.Kind == Absent:
			prune(root, s.Path)
		case now == s.To || gone(now, s.To):
		case now != s.From:
			changed = append(changed, s.Path)
		default:
			err = c.write(root, i, s)
		}
		if err != nil {
			return diag.New(diag.FileSystemError, "applying %s: %w", s.Path, err)
		}
	}
	err = errors.Join(base.Remove(planFile), base.RemoveAll(applyDir))
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		return diag.New(diag.Conflict, "applying the working copy %s: changed while it was applied: %s", c.ID, strings.Join(changed, ", ")).
			WithReason("copy").WithDetail("paths", changed).WithDetail("id", c.ID)
	}
	return nil
}

// write makes a write of a change from what was staged.
func (c *Copy) write(root *os.Root, i int, s step) (err error) {
	var data []byte
	if s.To.Kind == Regular {
		if data, err = openat.ReadRegular(filepath.Join(c.dir, applyDir, strconv.Itoa(i)), maxFile); err != nil {
			return err
		}
		if digest(data) != s.To.Digest {
			return diag.New(diag.HashMismatch, "its content differs from the recorded one")
		}
	}
	return write(root, s.Path, s.To, data)
}
