package trust

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// SetState is whether the user accepted a project's trust set.
type SetState string

// The states of a set.
const (
	SetEmpty    SetState = "empty"
	SetProposed SetState = "not accepted"
	SetAccepted SetState = "accepted"
	SetChanged  SetState = "changed since it was accepted"
)

// ProjectSet is every trust document of a project. A user can only accept the
// whole set. Its strings, except Name, are safe to print.
type ProjectSet struct {
	Project   string        `json:"project,omitempty"` // the directory, links resolved
	Digest    item.Digest   `json:"digest,omitzero"`
	State     SetState      `json:"state"`
	At        time.Time     `json:"accepted_at,omitzero"`
	Documents []SetDocument `json:"documents"`
	Before    []SetDocument `json:"before,omitempty"` // the set that was accepted last
	Broken    []string      `json:"broken,omitempty"` // paths that prevent its acceptance
}

// SetDocument is one document of a set.
type SetDocument struct {
	Name        string           `json:"name"`
	Kind        string           `json:"kind"`
	Digest      item.Digest      `json:"digest"`
	Fingerprint sign.Fingerprint `json:"fingerprint,omitzero"`
	Owner       string           `json:"owner,omitempty"`
	Scope       string           `json:"scope,omitempty"`
	NotAfter    time.Time        `json:"not_after,omitzero"`
}

// ProjectSet returns the project's trust set.
func (s *Store) ProjectSet() ProjectSet {
	p := s.set
	p.Documents, p.Before, p.Broken = slices.Clone(p.Documents), slices.Clone(p.Before), slices.Clone(p.Broken)
	return p
}

// addToSet adds a document of the project to its set.
func (b *builder) addToSet(d doc.Document, findings []diag.Finding) {
	h := d.Head()
	x := SetDocument{
		Name:        h.Stem + ".toml",
		Kind:        h.Kind,
		Digest:      h.Digest,
		Fingerprint: d.About(),
	}
	switch d := d.(type) {
	case *doc.Key:
		x.Owner, x.NotAfter, x.Scope = hidden.Visible(d.Owner), d.NotAfter, d.Scope.String()
	case *doc.Endorsement:
		x.NotAfter, x.Scope = d.NotAfter, d.Scope.String()
	case *doc.Grant:
		x.NotAfter = d.NotAfter
	}
	b.store.set.Documents = append(b.store.set.Documents, x)
	if diag.Failed(findings) {
		b.broken = append(b.broken, h.Path)
	}
}

// digestOf returns the digest of a set: of every name with the digest of its
// file, in order.
func digestOf(docs []SetDocument) item.Digest {
	var text strings.Builder
	text.WriteString("rye.dev/trust-set/v1\n")
	for _, d := range docs {
		fmt.Fprintf(&text, "%s %q\n", d.Digest, d.Name)
	}
	return item.DigestOf([]byte(text.String()))
}

// acceptance gives a basis to the project's key documents if the user accepted
// exactly this set. A set with a document that cannot be read or is not valid is
// never accepted.
func (b *builder) acceptance() {
	set := &b.store.set
	slices.SortFunc(set.Documents, func(x, y SetDocument) int {
		return cmp.Compare(x.Name, y.Name)
	})
	set.State, set.Project = SetEmpty, b.p.projectPath()
	for _, path := range b.broken {
		set.Broken = append(set.Broken, quoted(path))
	}
	if len(set.Documents) > 0 {
		set.Digest = digestOf(set.Documents)
		set.State = SetProposed
	}
	last := b.lastAccepted()
	if last == nil {
		return
	}
	set.At = last.At
	set.Before = last.Documents
	if set.State == SetEmpty || last.Digest != set.Digest || len(set.Broken) > 0 {
		set.State = SetChanged
		return
	}
	set.State = SetAccepted
	for _, d := range b.docs.keys {
		e := b.store.keys[d.Fingerprint]
		if d.tier == TierProject &&
			e != nil &&
			!e.conflict &&
			!e.weak &&
			!e.embeddedOnly &&
			slices.Contains(e.documents, d) {
			x := documentBasis(d)
			x.accepted = true
			e.bases = append(e.bases, x)
		}
	}
}

// changed returns that a key was trusted by an acceptance of an earlier set, or
// "".
func (s *Store) changed(fp sign.Fingerprint) string {
	if s.set.State != SetChanged {
		return ""
	}
	for _, d := range slices.Concat(s.set.Documents, s.set.Before) {
		if d.Kind == doc.KindKey && d.Fingerprint == fp {
			return fmt.Sprintf("the project's trust set changed since you accepted it on %s, so the acceptance no longer applies to its keys", stamp(s.set.At))
		}
	}
	return ""
}

func (p ProjectSet) line() string {
	switch p.State {
	case SetAccepted, SetChanged:
		return fmt.Sprintf("the project's trust set (%d documents): %s (%s)", len(p.Documents), p.State, stamp(p.At))
	case SetEmpty, "":
		return "the project has no trust documents"
	}
	return fmt.Sprintf("the project's trust set (%d documents): %s", len(p.Documents), p.State)
}

// projectPath returns the directory of the project with links resolved, "" if
// there is no project.
func (p Params) projectPath() string {
	if p.ProjectDir == "" {
		return ""
	}
	dir := filepath.Dir(filepath.Dir(filepath.Clean(p.ProjectDir)))
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return dir
}

// acceptedFile returns the path of the file with this account's acceptance of the
// project, "" if there is none.
func (p Params) acceptedFile() string {
	if p.StateDir == "" || p.ProjectDir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(p.projectPath() + "\x00" + p.Identity))
	return filepath.Join(p.StateDir, acceptedDir, hex.EncodeToString(sum[:])+".json")
}

const acceptedDir = "accepted" // below StateDir

// acceptedRel is acceptedFile below StateDir.
func (p Params) acceptedRel() string {
	return path.Join(acceptedDir, filepath.Base(p.acceptedFile()))
}

// acceptance is the file about an accepted set in the user's state directory.
type acceptance struct {
	Schema    string        `json:"schema"`
	Project   string        `json:"project"`
	Identity  string        `json:"identity"`
	Digest    item.Digest   `json:"digest"`
	At        time.Time     `json:"at"`
	Documents []SetDocument `json:"documents"`
}

const acceptedSchema = "rye.accepted/v1"

// maxAccepted bounds the record of an accepted set.
const maxAccepted = 16 << 20

// lastAccepted returns the last acceptance, or nil. A file that cannot be read,
// or that another account may write, is not an acceptance.
func (b *builder) lastAccepted() *acceptance {
	file := b.p.acceptedFile()
	if file == "" {
		return nil
	}
	a, err := b.p.readAccepted(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		f := diag.Warnf(diag.ConfigError, 0, 0, "ignoring an earlier acceptance: %v", err)
		b.report(file, f.WithReason("acceptance"))
		return nil
	}
	return a
}

func (p Params) readAccepted(file string) (*acceptance, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, diag.New(diag.NotRegular, "it is not a regular file")
	}
	if err := mine(info); err != nil {
		return nil, err
	}
	dir := filepath.Dir(file) // who may write there may put another file in its place
	if info, err = os.Lstat(dir); err != nil {
		return nil, err
	}
	if err := mine(info); err != nil {
		return nil, diag.New(diag.ConfigError, "its directory: %w", err)
	}
	data, err := openat.ReadRegular(file, maxAccepted)
	if err != nil {
		return nil, err
	}
	return p.parseAccepted(data)
}

func (p Params) parseAccepted(data []byte) (*acceptance, error) {
	a := &acceptance{}
	if _, fs := jsonx.Parse(data); diag.Failed(fs) { // the decoder below permits duplicate names and text after the end
		return nil, diag.FromFindings("reading it", fs)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(a); err != nil {
		return nil, err
	}
	switch {
	case a.Schema != acceptedSchema:
		return nil, diag.New(diag.ConfigError, "schema is %q, not %q", a.Schema, acceptedSchema)
	case a.Project != p.projectPath() || a.Identity != p.Identity:
		return nil, diag.New(diag.ConfigError, "it is about another project or account")
	case a.Digest != digestOf(a.Documents):
		return nil, diag.New(diag.ConfigError, "it was changed by another program")
	}
	return a, nil
}

// Accept records that the user accepted this set and returns the path of the
// record. The set is the one that was shown: a later change on disk is not
// accepted.
func Accept(p Params, set ProjectSet) (string, error) {
	const doing = "accepting the project's trust set"
	file := p.acceptedFile()
	switch {
	case p.ProjectDir == "" || set.Project != p.projectPath():
		return "", diag.New(diag.Usage, "%s: there is no project here", doing)
	case file == "":
		return "", diag.New(diag.FileSystemError, "%s: no directory for the user's state is known", doing).WithReason("no_state_directory")
	case len(set.Documents) == 0:
		return "", diag.New(diag.Usage, "%s: it has no documents", doing).WithReason("empty_set")
	case len(set.Broken) > 0:
		return "", diag.New(diag.ValidationFailed, "%s: %s is not valid, and only a whole set can be accepted", doing, strings.Join(set.Broken, ", ")).
			WithReason("invalid_set")
	}
	a := acceptance{
		Schema:    acceptedSchema,
		Project:   set.Project,
		Identity:  p.Identity,
		Digest:    set.Digest,
		At:        p.clock().UTC().Truncate(time.Second),
		Documents: set.Documents,
	}
	b, err := jsonx.MarshalIndent(a)
	if err != nil {
		return "", err
	}
	return file, atomicfile.Private(p.StateDir).Write(
		p.acceptedRel(),
		append(b, '\n'),
		0o600,
	)
}

// Forget removes the acceptance of a project and reports whether there was one.
func Forget(p Params) (bool, error) {
	file := p.acceptedFile()
	if file == "" {
		return false, nil
	}
	err := atomicfile.Private(p.StateDir).Remove(p.acceptedRel())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, diag.New(diag.FileSystemError, "forgetting an acceptance: %w", err)
	}
	return true, nil
}

func (p Params) clock() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}
