package adopt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/treehash"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/review"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// VerifyParams is what the adopted sources of a lock are compared with.
type VerifyParams struct {
	Files   lock.Files // of the project: on disk, in a commit or in the index
	Lock    *lock.Lock
	Project *lock.ProjectFile // nil: it has no rules
	Rules   packages.Rules    // of the user and the machine
	Trust   *trust.Store
	Base    string // the project on disk, whose install directories are compared; "": none
}

// Source is the state of one adopted source.
type Source struct {
	Entry    lock.Adopted
	Results  []review.Result
	Findings []diag.Finding
}

// Verify judges every adopted source of the lock.
func Verify(p VerifyParams) []Source {
	if p.Lock == nil {
		return nil
	}
	if p.Trust == nil {
		p.Trust = &trust.Store{}
	}
	out := make([]Source, len(p.Lock.Adopted))
	for i, a := range p.Lock.Adopted {
		out[i] = p.source(a)
	}
	return out
}

// Findings returns the findings of all sources, sorted.
func Findings(list []Source) []diag.Finding {
	var out []diag.Finding
	for _, s := range list {
		out = append(out, s.Findings...)
	}
	diag.Sort(out)
	return out
}

func (p VerifyParams) source(a lock.Adopted) Source {
	s := Source{Entry: a}
	dir, err := Dir(a)
	if err != nil {
		s.fail(lock.LockFile, err)
		return s
	}
	rules := slices.Clone(p.Rules)
	if p.Project != nil {
		rules = append(rules, packages.RuleFile{
			Path:        lock.ProjectFileName,
			ProjectFile: p.Project,
		})
	}
	err = permits(rules, a.Module())
	if err != nil {
		s.fail(lock.LockFile, err)
	}
	list, err := readList(p.Files, a)
	if err != nil {
		s.fail(path.Join(dir, review.FilesName), err)
		return s
	}
	reviews, err := readReviews(p.Files, a)
	if err != nil {
		s.fail(dir, err)
		return s
	}
	s.compare(list)
	s.compareReviews(dir, reviews)
	s.Results = review.Judge(review.Params{
		Trust:      p.Trust,
		Source:     a.ID.String(),
		Components: list,
		Reviews:    reviews,
		Rules:      reviewRules(rules, a.ID.String()),
		Locked: func(fp sign.Fingerprint, d item.Digest) bool {
			return slices.Contains(a.Reviews, lock.Reviewed{
				Key:    packages.SignerText(fp),
				Digest: d,
			})
		},
	})
	for _, r := range s.Results {
		if !r.Verdict.OK() {
			s.add(
				dir,
				r.Verdict.Code,
				"%s of %s is not usable: %s",
				r.Component.ID(),
				a.ID,
				r.Verdict.Reason(),
			)
		}
	}
	if p.Base != "" {
		p.installed(&s)
	}
	return s
}

func (s *Source) add(path string, code diag.Code, format string, args ...any) {
	f := diag.Errorf(code, 0, 0, format, args...)
	f.Path = path
	s.Findings = append(s.Findings, f)
}

func (s *Source) fail(path string, err error) {
	if fs := diag.FindingsOf(err); len(fs) > 0 {
		s.Findings = append(s.Findings, fs...)
		return
	}
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.FileSystemError
	}
	s.add(path, code, "%s", err)
}

// compare compares the list of files with the lock: the selection, the hash of the install
// directory, and its executables.
func (s *Source) compare(list []review.Component) {
	a := s.Entry
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID())
		if !Selects(a.Use, c.ID()) {
			s.add(
				lock.LockFile,
				diag.LockMismatch,
				"the list of files of %s has %s, which use does not select",
				a.ID,
				c.ID(),
			)
		}
	}
	for _, pattern := range a.Use {
		if !slices.ContainsFunc(ids, func(id string) bool { return Selects([]string{pattern}, id) }) {
			s.add(
				lock.LockFile,
				diag.LockMismatch,
				"use of %s names %s, and its list of files has none",
				a.ID,
				pattern,
			)
		}
	}
	now, err := describe(a, list)
	switch {
	case err != nil:
		s.fail(lock.LockFile, err)
	case now.Sum != a.Sum:
		s.add(
			lock.LockFile,
			diag.LockMismatch,
			"the list of files of %s has the hash %s, the lock names %s",
			a.ID,
			now.Sum,
			a.Sum,
		)
	case !slices.Equal(now.Exec, a.Exec):
		s.add(
			lock.LockFile,
			diag.LockMismatch,
			"the entry of %s does not list exactly its executables below exec",
			a.ID,
		)
	}
}

// compareReviews compares the files of the reviews with the lock.
func (s *Source) compareReviews(dir string, reviews []review.File) {
	a := s.Entry
	found := map[lock.Reviewed]bool{}
	for _, f := range reviews {
		fp, _ := review.ParseFileName(path.Base(f.Path))
		x := lock.Reviewed{
			Key:    packages.SignerText(fp),
			Digest: item.DigestOf(f.Bytes),
		}
		found[x] = true
		switch {
		// A review of the same key with other bytes replaces the one that was locked.
		case slices.Contains(a.Reviews, x):
		case slices.ContainsFunc(a.Reviews, func(y lock.Reviewed) bool { return y.Key == x.Key }):
			s.add(f.Path, diag.LockMismatch, "the review has other bytes than the lock names")
		default:
			s.add(f.Path, diag.LockStale, "the review is not in the lock")
		}
	}
	for _, x := range a.Reviews {
		changed := slices.ContainsFunc(reviews, func(f review.File) bool {
			fp, _ := review.ParseFileName(path.Base(f.Path))
			return packages.SignerText(fp) == x.Key
		})
		if !found[x] && !changed {
			s.add(dir, diag.LockMismatch, "the review by %s that the lock names is missing", x.Key)
		}
	}
}

// installed compares the install directory with the lock, if it exists.
func (p VerifyParams) installed(s *Source) {
	if there, same := p.state(s.Entry); there && !same {
		rel, _ := s.Entry.ID.Dir(s.Entry.Version)
		show := path.Join(space.Dir, space.BundlesFolder, rel)
		s.add(show, diag.HashMismatch, "the installed files of %s differ from the lock", s.Entry.ID)
	}
}

// state reports whether the install directory of an entry exists, and whether it has exactly
// the locked files.
func (p VerifyParams) state(a lock.Adopted) (there, same bool) {
	rel, err := a.ID.Dir(a.Version)
	if err != nil {
		return false, false
	}
	dir := filepath.Join(p.Base, space.Dir, space.BundlesFolder, filepath.FromSlash(rel))
	_, err = os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false
	}
	sum, err := sumOf(dir, a.Exec)
	return true, err == nil && sum == a.Sum
}

// sumOf hashes an install directory.
func sumOf(dir string, exec []string) (string, error) {
	d, err := openat.Open(dir)
	if err != nil {
		return "", diag.New(diag.FileSystemError, "opening %s: %w", dir, err)
	}
	defer d.Close()
	var list []treehash.File
	err = d.Walk(".", func(rel string, x openat.Entry) error {
		if x.IsDir() && x.Err == nil {
			return nil
		}
		if x.Err != nil {
			return x.Err
		}
		b, info, err := d.Read(rel, treehash.MaxFile)
		if err != nil {
			return err
		}
		f := treehash.File{
			Path:   rel,
			Mode:   treehash.Regular,
			Size:   int64(len(b)),
			Digest: item.DigestOf(b),
		}
		executable := info.Mode&0o111 != 0
		// Windows has no executable bit; there the lock decides.
		if runtime.GOOS == "windows" {
			executable = slices.Contains(exec, rel)
		}
		if executable {
			f.Mode = treehash.Executable
		}
		list = append(list, f)
		return nil
	})
	if err != nil {
		return "", err
	}
	return treehash.Of(list)
}

// reviewRules returns the rules of the files about the reviews of a source.
func reviewRules(rules packages.Rules, id string) (out []review.Rule) {
	for _, f := range rules {
		if f.ProjectFile == nil {
			continue
		}
		for _, r := range f.ReviewRules(id) {
			rule := review.Rule{Reviews: r.Reviews}
			// A rule with unreadable keys accepts no key, not every key.
			if r.Reviewers != nil {
				rule.Reviewers = []sign.Fingerprint{}
			}
			for _, text := range r.Reviewers {
				if fp, err := packages.ParseSigner(text); err == nil {
					rule.Reviewers = append(rule.Reviewers, fp)
				}
			}
			out = append(out, rule)
		}
	}
	return out
}

// listed returns the components in the list of files of an entry.
func (e *Engine) listed(a lock.Adopted) ([]review.Component, error) {
	return readList(lock.Dir(e.p.Base), a)
}

func readList(files lock.Files, a lock.Adopted) ([]review.Component, error) {
	dir, err := Dir(a)
	if err != nil {
		return nil, err
	}
	name := path.Join(dir, review.FilesName)
	b, err := files.ReadFile(name, review.MaxFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(
			diag.LockMismatch,
			"reading %s: it does not exist, and %s has %s",
			name,
			lock.LockFile,
			a.ID,
		)
	}
	if err != nil {
		return nil, diag.Doing("reading "+name, err)
	}
	list, found := review.ParseFiles(b)
	return list, diag.FromFindings("reading "+name, diag.WithPath(found, name))
}

// readReviews returns the reviews of an entry, sorted by name.
func readReviews(files lock.Files, a lock.Adopted) ([]review.File, error) {
	dir, err := Dir(a)
	if err != nil {
		return nil, err
	}
	names, err := files.Glob(dir + "/review-by-*.yaml")
	if err != nil {
		return nil, diag.Doing("listing the reviews of "+a.ID.String(), err)
	}
	slices.Sort(names)
	// Each review is a signature to compute.
	if len(names) > maxReviews {
		return nil, diag.New(
			diag.TooLarge,
			"listing the reviews of %s: there are %d, at most %d are allowed",
			a.ID,
			len(names),
			maxReviews,
		)
	}
	var out []review.File
	for _, name := range names {
		b, err := files.ReadFile(name, review.MaxReview)
		if err != nil {
			return nil, diag.Doing(fmt.Sprintf("reading %s", name), err)
		}
		out = append(out, review.File{
			Path:  name,
			Bytes: b,
		})
	}
	return out, nil
}

// maxReviews is the number of reviews of one source.
const maxReviews = 64
