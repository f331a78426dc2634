package bundle

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/privatekey"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Params describes a new manifest. ID and Version are required.
type Params struct {
	ID          string
	Version     string
	Type        string // "" is package
	Description string
	Entrypoint  string
	Requires    map[string]string
	// SourceDateEpoch is the value of SOURCE_DATE_EPOCH, whole seconds; it
	// becomes created_at. "" writes none. A manifest never contains the time of the
	// clock, so that creating it again gives the same bytes.
	SourceDateEpoch string
	// Executable reports which files are executable, for trees without modes. Nil:
	// none.
	Executable func(path string) bool
	// LeftOut returns which files are not part of the bundle, such as those that git
	// ignores. Nil: all files are.
	LeftOut LeftOut
	// Converted returns the files that git stores with other bytes than the tree has, and
	// the attribute that makes it do so. Users get the bytes of git, so such a file is
	// refused. Nil: none.
	Converted func(ctx context.Context, paths []string) (map[string]string, error)
}

// LeftOut returns which paths of an author's project belong to no bundle.
type LeftOut func(ctx context.Context, paths []string) (map[string]bool, error)

// ParamsOf returns the parameters that create m again from the same files.
func ParamsOf(m *Manifest) Params {
	p := Params{
		ID:          m.ID,
		Version:     m.Version,
		Type:        m.Type,
		Description: m.Description,
		Entrypoint:  m.Entrypoint,
		Requires:    m.Requires,
	}
	t, err := time.Parse(time.RFC3339, m.CreatedAt)
	if err == nil {
		p.SourceDateEpoch = strconv.FormatInt(t.Unix(), 10)
	}
	var exec []string
	for _, f := range m.Files {
		if f.Executable {
			exec = append(exec, f.Path)
		}
	}
	p.Executable = func(path string) bool {
		return slices.Contains(exec, path)
	}
	return p
}

// Create lists and hashes the files of t and returns the manifest, rendered
// and unsigned. The error lists every file that cannot be in a bundle.
func Create(ctx context.Context, t Tree, p Params) ([]byte, error) {
	m, err := p.manifest()
	if err != nil {
		return nil, err
	}
	paths, bad, err := list(t)
	if err != nil {
		return nil, err
	}
	if p.LeftOut != nil {
		left, err := p.LeftOut(ctx, paths)
		if err != nil { // a file that must not be published may be among the others
			return nil, diag.Doing("creating the manifest of "+p.ID, err)
		}
		paths = slices.DeleteFunc(paths, func(path string) bool { return left[path] })
	}
	var converted map[string]string
	if p.Converted != nil {
		if converted, err = p.Converted(ctx, paths); err != nil {
			return nil, err
		}
	}
	if len(paths) > MaxFiles {
		return nil, diag.New(diag.TooLarge, "creating the manifest of %q: there are %d files, at most %d are allowed", p.ID, len(paths), MaxFiles)
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := p.file(t, path)
		if err != nil {
			bad = append(bad, finding(path, err))
		}
		if attribute := converted[path]; attribute != "" {
			bad = append(bad, ConvertedFile(path, attribute))
		}
		m.Files = append(m.Files, f)
	}
	if err := diag.FromFindings("creating the manifest of "+p.ID, bad); err != nil {
		return nil, err
	}
	return m.rendered()
}

// ConvertedFile returns the finding about a file that git stores with other bytes, because
// of an attribute.
func ConvertedFile(path, attribute string) diag.Finding {
	f := diag.Errorf(diag.HashMismatch, 0, 0, "git does not store the bytes of this file: its attributes (%s) change them, so users do not get what was signed", attribute)
	f.Path = path
	return f.WithReason("converted", "value", path)
}

// rendered returns the bytes of a manifest that Parse accepts.
func (m *Manifest) rendered() ([]byte, error) {
	slices.SortFunc(m.Files, func(a, b File) int {
		return strings.Compare(a.Path, b.Path)
	})
	if len(m.Files) == 0 {
		return nil, diag.New(diag.Usage, "creating the manifest of %q: there are no files", m.ID)
	}
	b := m.Render()
	if _, fs := Parse(b); diag.Failed(fs) {
		return nil, diag.FromFindings("creating the manifest of "+m.ID, fs)
	}
	return b, nil
}

func (p Params) manifest() (*Manifest, error) {
	m := &Manifest{
		ID:          p.ID,
		Version:     p.Version,
		Type:        p.Type,
		Description: p.Description,
		Entrypoint:  p.Entrypoint,
		Requires:    p.Requires,
	}
	if m.Type == "" {
		m.Type = defaultType
	}
	if p.ID == "" || p.Version == "" {
		return nil, diag.New(diag.Usage, "creating a manifest: id and version are required")
	}
	if p.SourceDateEpoch != "" {
		n, err := strconv.ParseInt(p.SourceDateEpoch, 10, 64)
		if err != nil || n < 0 || n > 253402300799 {
			return nil, diag.New(diag.Usage, "reading SOURCE_DATE_EPOCH %q: it is not a number of seconds", p.SourceDateEpoch)
		}
		m.CreatedAt = time.Unix(n, 0).UTC().Format(time.RFC3339)
	}
	var fs []diag.Finding
	for _, f := range m.headerFaults() {
		fs = append(fs, diag.Errorf(
			diag.Usage,
			0,
			0,
			"%s: %s",
			strings.TrimSpace(f.key+" "+f.id),
			f.err,
		))
	}
	return m, diag.FromFindings("creating the manifest of "+p.ID, fs)
}

func (p Params) file(t Tree, path string) (File, error) {
	b, executable, err := t.Read(path, MaxFile)
	if err != nil {
		return File{Path: path}, err
	}
	if err := intact(b); err != nil {
		return File{Path: path}, err
	}
	if err := keyless(b); err != nil {
		return File{Path: path}, err
	}
	if !t.Modes() {
		executable = p.Executable != nil && p.Executable(path)
	}
	return File{
		Path:       path,
		Digest:     item.DigestOf(b),
		Size:       int64(len(b)),
		Executable: executable,
		Signed:     inlineSigned(b),
	}, nil
}

// keyless returns an error if a file of a bundle has a private key in it.
func keyless(b []byte) error {
	line := privatekey.Line(b, true)
	if line == 0 {
		return nil
	}
	return diag.New(diag.PolicyDenied, "line %d begins a private key, and each user of the bundle can read it", line).WithReason("private_key_listed")
}

// intact returns an error if a file has a signature line that does not match its
// bytes: a manifest must not be signed over a change without a signature. It verifies
// no signature, because the keys are not known here.
func intact(b []byte) error {
	for _, s := range sign.Styles() {
		sp, err := sign.SplitFile(b, s)
		if err == nil &&
			sp.Signed &&
			!s.Detached() &&
			sp.Digest() != sp.Line.Body {
			return diag.New(diag.HashMismatch, "the content is not what was signed").WithReason("create")
		}
	}
	return nil
}

// inlineSigned reports whether a file has a signature line in any style. It does
// not verify the signature.
func inlineSigned(b []byte) bool {
	return slices.ContainsFunc(sign.Styles(), func(s sign.Style) bool {
		sp, err := sign.SplitFile(b, s)
		return err == nil && sp.Signed && !s.Detached()
	})
}
