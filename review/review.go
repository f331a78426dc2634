// Package review has the signed statements with which people accept components of
// sources that have no signature for rye: it reads and writes reviews and the lists of
// files that they cover, and decides which components enough trusted reviewers accepted.
//
// A review states that its signer accepts exactly these bytes. It does not state who
// wrote them. The package does not fetch, install or show components, and writes no file.
package review

import (
	"cmp"
	"context"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/sign"
)

// Limits of the files.
const (
	MaxReview     = 2 << 20  // bytes of a review
	MaxFiles      = 16 << 20 // bytes of a list of files
	MaxComponents = 4096     // of one source
)

// FilesName is the name of the list of files in the directory of an adopted source.
const FilesName = "files"

// The kinds of components. A component of kind hooks or mcp is executed by other programs.
const (
	KindSkill   = "skill"
	KindAgent   = "agent"
	KindCommand = "command"
	KindRule    = "rule"
	KindHooks   = "hooks"
	KindMCP     = "mcp"
)

// Kinds returns the kinds of components, in the order in which reports list them.
func Kinds() []string {
	return []string{KindSkill, KindAgent, KindCommand, KindRule, KindHooks, KindMCP}
}

// Component is a part of a source that another program or rye can use.
type Component struct {
	Kind  string          `json:"kind"`
	Name  string          `json:"name"`
	From  string          `json:"from"`  // the directory in the source that the paths of Files are relative to; "." is its root
	Sum   string          `json:"sum"`   // treehash.Of of Files
	Files []treehash.File `json:"files"` // sorted by path
}

// ID returns kind:name.
func (c Component) ID() string {
	return c.Kind + ":" + c.Name
}

// NewComponent returns a component with the sum of its files.
func NewComponent(kind, name, from string, files []treehash.File) (Component, error) {
	c := Component{
		Kind:  kind,
		Name:  name,
		From:  from,
		Files: slices.Clone(files),
	}
	slices.SortFunc(c.Files, func(a, b treehash.File) int {
		return cmp.Compare(a.Path, b.Path)
	})
	if err := CheckID(c.ID()); err != nil {
		return Component{}, err
	}
	if err := checkFrom(from); err != nil {
		return Component{}, diag.New(diag.PathEscape, "reading %s: its directory: %w", c.ID(), err)
	}
	sum, err := treehash.Of(c.Files)
	c.Sum = sum
	return c, err
}

// CheckID returns nil if s is the kind and the name of a component.
func CheckID(s string) error {
	kind, name, found := strings.Cut(s, ":")
	if !found || !slices.Contains(Kinds(), kind) {
		kinds := strings.Join(Kinds(), ", ")
		return diag.New(diag.ValidationFailed, "reading component %q: want KIND:NAME with one of the kinds %s", s, kinds)
	}
	return item.CheckID(name)
}

func checkFrom(dir string) error {
	if dir == "." {
		return nil
	}
	return treehash.CheckPath(dir)
}

// The values of Review.Shown.
const (
	ShownFiles   = "files"   // the reviewer paged through the text of every file
	ShownSummary = "summary" // the reviewer saw the report
)

// Review is the content of a statement.
type Review struct {
	Source   string      // the id of the source, which the signature is bound to
	URL      string      // from which it was fetched
	Commit   string      //
	Shown    string      // ShownFiles or ShownSummary
	Report   item.Digest // of the canonical JSON of the report that was shown; zero: none
	Previous item.Digest // of the reviewer's review before, signature included; zero: none
	Accepts  []Accepted  // sorted by ID
}

// Accepted is one component that a review accepts.
type Accepted struct {
	ID   string // kind:name
	From string
	Sum  string
}

// Find returns the entry of a component, or nil.
func (r *Review) Find(id string) *Accepted {
	i := slices.IndexFunc(r.Accepts, func(a Accepted) bool {
		return a.ID == id
	})
	if i < 0 {
		return nil
	}
	return &r.Accepts[i]
}

// Accept returns the entries of components, sorted.
func Accept(components []Component) []Accepted {
	out := make([]Accepted, len(components))
	for i, c := range components {
		out[i] = Accepted{
			ID:   c.ID(),
			From: c.From,
			Sum:  c.Sum,
		}
	}
	slices.SortFunc(out, func(a, b Accepted) int {
		return cmp.Compare(a.ID, b.ID)
	})
	return out
}

// Subject returns the subject of the signatures of reviews of a source.
func Subject(source string) sign.Subject {
	return sign.Subject{Use: sign.UseReview, Kind: "review", ID: source}
}

// FileName returns the name of the file with the review of a key.
func FileName(key sign.Fingerprint) string {
	return filePrefix + key.String() + fileSuffix
}

const (
	filePrefix = "review-by-"
	fileSuffix = ".yaml"
)

// ParseFileName returns the key whose review a file has.
func ParseFileName(name string) (sign.Fingerprint, bool) {
	hex, ok := strings.CutPrefix(name, filePrefix)
	hex, ok2 := strings.CutSuffix(hex, fileSuffix)
	fp, err := sign.ParseFingerprint(hex)
	return fp, ok && ok2 && err == nil
}

// Render returns the one text of a review, without a signature.
func (r *Review) Render() ([]byte, error) {
	head := yamlx.Map{
		{Key: "source", Value: r.Source},
		{Key: "url", Value: r.URL},
		{Key: "commit", Value: r.Commit},
		{Key: "shown", Value: r.Shown},
	}
	if r.Report != (item.Digest{}) {
		head = append(head, yamlx.Pair{Key: "report", Value: r.Report.String()})
	}
	if r.Previous != (item.Digest{}) {
		head = append(head, yamlx.Pair{Key: "previous", Value: r.Previous.String()})
	}
	var list yamlx.Map
	for _, a := range r.Accepts {
		entry := yamlx.Map{
			{Key: "from", Value: a.From},
			{Key: "sum", Value: a.Sum},
		}
		list = append(list, yamlx.Pair{Key: a.ID, Value: entry})
	}
	return yamlx.Marshal(yamlx.Map{
		{Key: "review", Value: head},
		{Key: "components", Value: list},
	})
}

// Sign returns the signed file of a review.
func (r *Review) Sign(
	ctx context.Context,
	key sign.Signer,
	now time.Time,
) ([]byte, error) {
	text, err := r.Render()
	if err != nil {
		return nil, err
	}
	// A text that no reader accepts is not signed.
	_, fs := Parse(text)
	if diag.Failed(fs) {
		return nil, diag.FromFindings("writing the review of "+r.Source, fs)
	}
	out, _, err := sign.Sign(
		ctx,
		text,
		sign.Hash(),
		Subject(r.Source),
		key,
		now,
	)
	return out, err
}

// Parse reads a review and ignores its signature. It accepts exactly the texts of Render.
// The Review is nil exactly when a finding is an error. Findings have no path.
func Parse(b []byte) (*Review, []diag.Finding) {
	if len(b) > MaxReview {
		f := diag.Errorf(diag.TooLarge, 0, 0, "the review has %d bytes, at most %d are allowed", len(b), MaxReview)
		return nil, []diag.Finding{f}
	}
	sp, err := sign.SplitFile(b, sign.Hash())
	if err != nil {
		f := diag.Errorf(diag.CodeOf(err), 1, 1, "%s", err)
		return nil, []diag.Finding{f}
	}
	doc, fs := yamlx.Parse(b)
	if diag.Failed(fs) {
		return nil, fs
	}
	r, found := read(doc)
	fs = append(fs, found...)
	fs = append(fs, hidden.Scan(b)...)
	// Two texts with one meaning would be two digests that the lock could name.
	if !diag.Failed(fs) {
		canonical, err := r.Render()
		if err != nil || string(canonical) != string(sp.Body()) {
			f := diag.Errorf(diag.ValidationFailed, 1, 1, "the text is not in the form that rye writes: order, quotes or blank lines differ")
			fs = append(fs, f)
		}
	}
	diag.Sort(fs)
	if diag.Failed(fs) {
		return nil, fs
	}
	return r, fs
}

func read(doc *tree.Doc) (*Review, []diag.Finding) {
	r := tree.NewReader(doc, diag.ValidationFailed)
	r.Only("review", "components")
	r.Require("review", "components")
	head := r.Map("review")
	head.Only("source", "url", "commit", "shown", "report", "previous")
	head.Require("source", "url", "commit", "shown")
	out := &Review{
		Source: head.TextFunc("source", checkSource),
		URL:    head.Text("url"),
		Commit: head.TextFunc("commit", checkCommit),
		Shown:  head.Enum("shown", "", ShownFiles, ShownSummary),
	}
	out.Report = digest(head, "report")
	out.Previous = digest(head, "previous")
	list := r.Map("components")
	keys := list.Keys()
	// Each of many keys would be a finding.
	if len(keys) > MaxComponents {
		list.RejectSelf("has %d entries, at most %d are allowed", len(keys), MaxComponents)
		return out, r.Findings()
	}
	for _, id := range keys {
		if err := CheckID(id); err != nil {
			list.RejectErr(id, err)
		}
		entry := list.Map(id)
		entry.Only("from", "sum")
		entry.Require("from", "sum")
		out.Accepts = append(out.Accepts, Accepted{
			ID:   id,
			From: entry.TextFunc("from", checkFrom),
			Sum:  entry.TextFunc("sum", lock.CheckSum),
		})
	}
	return out, r.Findings()
}

func checkSource(s string) error {
	id, err := lock.ParseID(s)
	if err != nil {
		return err
	}
	if id.String() != s {
		return fmt.Errorf("the canonical id is %s", id)
	}
	return nil
}

func checkCommit(s string) error {
	if !lock.IsCommit(s) {
		return fmt.Errorf("%q is not the full id of a commit", s)
	}
	return nil
}

func digest(r *tree.Reader, key string) (d item.Digest) {
	if !r.Has(key) {
		return d
	}
	r.TextFunc(key, func(s string) (err error) {
		d, err = item.ParseDigest(s)
		if err == nil && d == (item.Digest{}) {
			err = fmt.Errorf("it is zero")
		}
		return err
	})
	return d
}
