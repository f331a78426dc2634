package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
)

// States of a version.
const (
	StateOK       = "ok"
	StateYanked   = "yanked"
	StateUnlisted = "unlisted"
	StateDeleted  = "deleted"
)

// Line describes one version in the index of a bundle. Its canonical form is compact JSON
// with the fields in this order.
type Line struct {
	V         int      `json:"v"`
	ID        string   `json:"id"` // NS/NAME[/vN]
	Version   string   `json:"version"`
	Sum       string   `json:"sum"`     // of the tree
	Archive   string   `json:"archive"` // sha256: of the archive
	Size      int64    `json:"size"`    // of the archive
	Manifest  string   `json:"manifest"`
	Signers   []string `json:"signers"`
	Publisher string   `json:"publisher"` // the key of the request
	Requires  []string `json:"requires"`  // "ID VERSION", sorted
	Caps      []string `json:"caps"`
	Exec      []string `json:"exec"`
	Items     []string `json:"items"`
	Published string   `json:"published"`
	Log       int64    `json:"log"` // the number of its release entry
	State     string   `json:"state"`
	Reason    string   `json:"reason"`
	StateLog  *int64   `json:"state_log"` // the number of the entry of its state; nil: it never changed
}

// Render returns the line with its line feed.
func (l *Line) Render() []byte {
	c := *l
	for _, list := range []*[]string{&c.Signers, &c.Requires, &c.Caps, &c.Exec, &c.Items} {
		if *list == nil {
			*list = []string{}
		}
	}
	return marshal(&c)
}

// ParseLine reads one line, with its line feed. It accepts exactly what Render writes.
func ParseLine(b []byte) (*Line, error) {
	var l Line
	if err := unmarshal(b, &l, MaxLine, false); err != nil {
		return nil, malformed("an index line", err)
	}
	if !bytes.Equal(l.Render(), b) {
		return nil, malformed("an index line", errors.New("it is not in the canonical form"))
	}
	if why := l.wrong(); why != "" {
		return nil, malformed("an index line", errors.New(why))
	}
	return &l, nil
}

func (l *Line) wrong() string {
	id, err := ParseID(l.ID)
	switch {
	case l.V != 1:
		return fmt.Sprintf("it has version %d, this program reads version 1", l.V)
	case err != nil:
		return err.Error()
	case id.CheckVersion(l.Version) != nil:
		return fmt.Sprintf("%q is not a version of %s", l.Version, id)
	case !isSum(l.Sum):
		return "sum is not the sum of a tree"
	case !isDigest(l.Archive) || !isDigest(l.Manifest):
		return "a digest is not sha256: and 64 digits"
	case l.Size < 1 || l.Size > MaxArchive:
		return "size is not the size of an archive"
	case len(l.Signers) == 0 || !sortedUnique(l.Signers) || slices.ContainsFunc(append(slices.Clone(l.Signers), l.Publisher), func(s string) bool { _, err := ParseKey(s); return err != nil }):
		return "a signer is not ed25519: and 64 digits"
	case !sortedUnique(l.Requires) || !sortedUnique(l.Caps) || !sortedUnique(l.Exec) || !sortedUnique(l.Items):
		return "a list is not sorted"
	case l.Log < 0 || l.StateLog != nil && *l.StateLog <= l.Log:
		return "the numbers of its log entries are not in order"
	case l.StateLog == nil && (l.State != StateOK || l.Reason != ""):
		return "its state has no log entry"
	case !knownState(l.State):
		return fmt.Sprintf("the state %q is unknown", l.State)
	}
	if _, err := ParseTime(l.Published); err != nil {
		return "published is not a time"
	}
	return ""
}

func knownState(s string) bool {
	return slices.Contains([]string{StateOK, StateYanked, StateUnlisted, StateDeleted}, s)
}

// CheckVersion returns an error unless v can be a version of this bundle: complete,
// canonical, of its major, and not the version of a commit.
func (id ID) CheckVersion(v string) error {
	err := (lock.ID{Kind: lock.RegistryID, Repo: id.NS + "/" + id.Name, Major: id.Major}).CheckVersion(v)
	if err != nil {
		return err
	}
	if lock.IsPseudo(v) || strings.Contains(v, "+") {
		return diag.New(diag.VersionMismatch, "reading version %q of %s: a registry has releases, not commits or builds", v, id)
	}
	return nil
}

func isSum(s string) bool {
	text, ok := strings.CutPrefix(s, "h1:")
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	return ok && err == nil && len(b) == 32 && !strings.ContainsAny(s, "\r\n")
}

func isDigest(s string) bool {
	_, err := item.ParseDigest(s)
	return err == nil
}

// ParseIndex reads the index of a bundle, the oldest version first.
func ParseIndex(b []byte, id ID) ([]*Line, error) {
	if len(b) > MaxIndex {
		return nil, diag.New(diag.TooLarge, "reading the index of %s: it is longer than %d bytes", id, MaxIndex)
	}
	var out []*Line
	seen := map[string]bool{}
	for raw := range bytes.Lines(b) {
		l, err := ParseLine(raw)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading line %d of the index of %s: %w", len(out)+1, id, err)
		case l.ID != id.String():
			return nil, diag.New(diag.RegistryError, "reading line %d of the index of %s: it is about %q", len(out)+1, id, l.ID)
		case seen[l.Version]:
			return nil, diag.New(diag.RegistryError, "reading line %d of the index of %s: %s is listed twice", len(out)+1, id, l.Version)
		case len(out) > 0 && out[len(out)-1].Log >= l.Log:
			return nil, diag.New(diag.RegistryError, "reading line %d of the index of %s: it is older than the line before it", len(out)+1, id)
		}
		seen[l.Version] = true
		out = append(out, l)
	}
	return out, nil
}

// CheckUpdate returns an error unless an index that was read later may follow an earlier
// one: it keeps every line, and only state, reason and state_log differ, by a newer log
// entry.
func CheckUpdate(older, newer []*Line) error {
	if len(newer) < len(older) {
		return diag.New(diag.RegistryError, "comparing an index with its earlier state: %d of %d lines are missing", len(older)-len(newer), len(older))
	}
	for i, was := range older {
		is := *newer[i]
		same := is.State == was.State && is.Reason == was.Reason
		later := is.StateLog != nil && (was.StateLog == nil || *is.StateLog > *was.StateLog)
		equal := is.StateLog == was.StateLog ||
			is.StateLog != nil && was.StateLog != nil && *is.StateLog == *was.StateLog
		is.State = was.State
		is.Reason = was.Reason
		is.StateLog = was.StateLog
		switch {
		case !bytes.Equal(is.Render(), was.Render()):
			return diag.New(diag.RegistryError, "comparing an index with its earlier state: the line of %s %s is not the one that was served before", was.ID, was.Version)
		case !later && !(same && equal):
			return diag.New(diag.RegistryError, "comparing an index with its earlier state: the state of %s %s changed without a log entry", was.ID, was.Version)
		case was.State == StateDeleted && newer[i].State != StateDeleted:
			return diag.New(diag.RegistryError, "comparing an index with its earlier state: %s %s was deleted and is %s", was.ID, was.Version, newer[i].State)
		}
	}
	return nil
}

// NamespaceIndex lists the names of a namespace.
type NamespaceIndex struct {
	V     int      `json:"v"`
	Names []string `json:"names"` // NAME[/vN], sorted
}

// Render returns the bytes of the document.
func (n *NamespaceIndex) Render() []byte {
	c := *n
	if c.Names == nil {
		c.Names = []string{}
	}
	return marshal(&c)
}
