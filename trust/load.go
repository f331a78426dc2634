package trust

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/trust/doc"
)

// Load reads every document that Params names and returns the store that uses
// them. The findings are about documents and directories that are not used; the
// store is never nil. Load fails closed: if a directory of the system or the user
// exists and cannot be read, it may contain a revocation, and no key is trusted
// except those compiled in for the embedded space.
func Load(p Params) (*Store, []diag.Finding) {
	b := newBuilder(p)
	for _, dir := range p.SystemDirs {
		b.readDir(origin{tier: TierSystem}, dir)
	}
	for _, file := range p.System {
		b.parse(origin{tier: TierSystem}, file.Name, file.Data)
	}
	b.readDir(origin{tier: TierUser}, p.UserDir)
	for _, path := range p.RootPaths {
		b.readRoot(path)
	}
	b.readSeen()
	b.readLegacyKeys(p.LegacyDir)
	b.readDir(origin{tier: TierProject, inProject: true}, p.ProjectDir)
	if p.ProjectDir != "" {
		b.readLegacy(filepath.Join(filepath.Dir(filepath.Clean(p.ProjectDir)), "trusted_keys"))
	}
	return b.build(), b.findings
}

// readDir parses the documents of one directory. Names without .toml are not
// documents.
func (b *builder) readDir(from origin, dir string) {
	tier := from.tier
	if dir == "" {
		return
	}
	names, err := documentNames(tier, dir)
	if err != nil {
		b.unreadable(tier, dir, err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if tier == TierProject && b.projectBytes > MaxProject {
			b.unreadable(tier, path, diag.New(diag.TooLarge, "this and what follows is not read: the project's trust documents have more than %d bytes", MaxProject))
			return
		}
		b.readFile(from, path)
	}
}

// readFile parses one document.
func (b *builder) readFile(from origin, path string) {
	data, err := readDocument(from.tier, path)
	if err != nil && gone(path) {
		return
	}
	if err != nil {
		b.unreadable(from.tier, path, err)
		return
	}
	if from.tier == TierProject {
		b.projectBytes += len(data)
	}
	b.parse(from, path, data)
}

func (b *builder) parse(from origin, path string, data []byte) {
	d, fs := doc.Read(path, data, b.p.Proofs)
	b.add(d, from, fs)
}

// readRoot reads a document, or a directory of them, that the caller named. If
// the path does not exist the store is blind: the caller relies on it.
func (b *builder) readRoot(path string) {
	from := origin{tier: TierUser, root: true}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		b.unreadable(TierUser, path, err)
	case info.IsDir():
		b.readDir(from, path)
	default:
		b.readNamed(from, path)
	}
}

// readNamed parses a document whose file may have any name.
// If a document cannot be read, no key is trusted: it might be a revocation.
func (b *builder) readNamed(from origin, path string) {
	data, err := readDocument(TierUser, path)
	if err != nil {
		b.unreadable(TierUser, path, err)
		return
	}
	d, fs := doc.ReadAnyName(path, data)
	d.Head().Path = path
	for i := range fs {
		fs[i].Path = path
	}
	b.add(d, from, fs)
}

// add keeps a parsed document and its findings.
func (b *builder) add(d doc.Document, from origin, fs []diag.Finding) {
	b.findings = append(b.findings, fs...)
	if from.inProject {
		b.propose(d, fs)
		h := d.Head()
		if h.Kind == doc.KindKey &&
			h.Named &&
			slices.Contains(b.p.Roots, d.About()) {
			from.tier = TierUser
			from.root = true
		}
	}
	b.docs.add(d, from)
}

// unreadable reports a directory or file that could not be read. Outside the
// project it makes the store blind.
func (b *builder) unreadable(tier Tier, path string, err error) {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.FileSystemError
	}
	f := diag.Errorf(code, 0, 0, "reading trust documents: %v", err)
	var typed *diag.Error
	if errors.As(err, &typed) {
		f = f.WithReason(typed.Reason)
	}
	b.report(path, f)
	if tier == TierProject {
		b.broken = append(b.broken, path)
	} else if b.store.blind == "" {
		b.store.blind = path
	}
}

// documentNames returns the names of the documents in a directory, in order. An
// absent directory has none.
func documentNames(tier Tier, dir string) ([]string, error) {
	return fileNames(tier, dir, ".toml")
}

// fileNames returns the names of the files in a directory with one of the
// extensions.
func fileNames(tier Tier, dir string, exts ...string) ([]string, error) {
	info, err := stat(tier, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, diag.New(diag.NotRegular, "it is not a directory")
	}
	if err := private(tier, info); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		if slices.Contains(exts, filepath.Ext(n)) && !strings.HasPrefix(n, ".") {
			names = append(names, n)
		}
	}
	if len(names) > MaxDocuments {
		return nil, diag.New(diag.TooLarge, "it has %d documents, at most %d are read", len(names), MaxDocuments)
	}
	return names, nil
}

// stat follows a link of the system or the user. It does not follow a project's,
// which could point to any file.
func stat(tier Tier, path string) (fs.FileInfo, error) {
	if tier == TierProject {
		return os.Lstat(path)
	}
	return os.Stat(path)
}

// readDocument reads at most one byte more than a document may have. In a
// project the opened file must be the one that stat returned, so that the file
// cannot be replaced by a link in between.
func readDocument(tier Tier, path string) ([]byte, error) {
	before, err := stat(tier, path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, diag.New(diag.NotRegular, "it is not a regular file")
	}
	f, err := openat.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if tier == TierProject && !os.SameFile(before, info) {
		return nil, diag.New(diag.PathEscape, "it was replaced while it was read")
	}
	if !info.Mode().IsRegular() {
		return nil, diag.New(diag.NotRegular, "it is not a regular file")
	}
	if err := private(tier, info); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, doc.MaxDocument+1))
}

// gone reports whether a listed file has been removed since, as another process
// may do. A dangling link is not gone.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
