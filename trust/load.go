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
)

// Load reads every document that Params names and returns the store that
// judges by them. Findings are the documents, or folders, that do not count;
// the store is never nil. It fails closed: where a folder of the system or the
// user exists and cannot be read, a revocation may hide in it, and no key
// counts but those compiled in for the embedded space.
func Load(p Params) (*Store, []diag.Finding) {
	b := newBuilder(p)
	for _, dir := range p.SystemDirs {
		b.readDir(TierSystem, dir)
	}
	b.readDir(TierUser, p.UserDir)
	for _, path := range p.RootPaths {
		b.readRoot(path)
	}
	b.readSeen()
	b.readLegacyKeys(p.LegacyDir)
	b.readDir(TierProject, p.ProjectDir)
	if p.ProjectDir != "" {
		b.readLegacy(filepath.Join(filepath.Dir(filepath.Clean(p.ProjectDir)), "trusted_keys"))
	}
	return b.build(), b.findings
}

// readDir parses the documents of one folder. Names without .toml are not
// documents.
func (b *builder) readDir(tier Tier, dir string) {
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
		b.readFile(tier, path)
	}
}

// readFile parses one document and returns it, nil when there is none.
func (b *builder) readFile(tier Tier, path string) *Document {
	data, err := readDocument(tier, path)
	if err != nil && gone(path) {
		return nil
	}
	if err != nil {
		b.unreadable(tier, path, err)
		return nil
	}
	if tier == TierProject {
		b.projectBytes += len(data)
	}
	doc, fs := parse(path, data)
	doc.Tier = tier
	b.take(doc, fs)
	return doc
}

// readRoot takes in a document, or a folder of them, that the call names: a
// path that is not there was meant to be, so the store is blind without it.
func (b *builder) readRoot(path string) {
	first := len(b.docs)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		b.unreadable(TierUser, path, err)
	case info.IsDir():
		b.readDir(TierUser, path)
	default:
		b.readNamed(path)
	}
	for _, d := range b.docs[first:] {
		d.root = true
	}
}

// readNamed parses a document that may have any name, under the one that its
// content demands.
func (b *builder) readNamed(path string) {
	data, err := readDocument(TierUser, path)
	if err != nil {
		b.unreadable(TierUser, path, err)
		return
	}
	doc, fs := parseAny(path, data)
	doc.Path = path
	for i := range fs {
		fs[i].Path = path
	}
	doc.Tier = TierUser
	b.take(doc, fs)
}

// unreadable reports a folder or file that could not be read. Above the
// project it blinds the store.
func (b *builder) unreadable(tier Tier, path string, err error) {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.FileSystemError
	}
	f := diag.Errorf(code, 0, 0, "reading trust documents: %v", err)
	f.Path = path
	var typed *diag.Error
	if errors.As(err, &typed) {
		f.Fix = typed.Hint
	}
	b.findings = append(b.findings, f)
	if tier == TierProject {
		b.broken = append(b.broken, path)
	} else if b.blind == "" {
		b.blind = path
	}
}

// documentNames lists the documents of a folder, in order. An absent folder
// holds none.
func documentNames(tier Tier, dir string) ([]string, error) { return fileNames(tier, dir, ".toml") }

// fileNames lists the files of a folder that end so.
func fileNames(tier Tier, dir string, exts ...string) ([]string, error) {
	info, err := stat(tier, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, diag.New(diag.NotRegular, "it is not a folder")
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
		if n := e.Name(); slices.Contains(exts, filepath.Ext(n)) && !strings.HasPrefix(n, ".") {
			names = append(names, n)
		}
	}
	if len(names) > MaxDocuments {
		return nil, diag.New(diag.TooLarge, "it holds %d documents, at most %d are read", len(names), MaxDocuments)
	}
	return names, nil
}

// stat follows a link only where the owner of the machine or of the account
// laid it; a project's links could lead anywhere.
func stat(tier Tier, path string) (fs.FileInfo, error) {
	if tier == TierProject {
		return os.Lstat(path)
	}
	return os.Stat(path)
}

// readDocument reads at most one byte more than a document may have. In a
// project the file opened must be the file looked at, so that no link slips in
// between.
func readDocument(tier Tier, path string) ([]byte, error) {
	before, err := stat(tier, path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, diag.New(diag.NotRegular, "it is not a regular file")
	}
	f, err := os.Open(path)
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
	return readLimited(f)
}

// gone reports whether a name that was listed has been removed since, as
// another rye may do; a link that leads nowhere is not gone.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func readLimited(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, MaxDocument+1))
}
