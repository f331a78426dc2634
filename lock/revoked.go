package lock

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Revoked is the state of a project's revocations. None may be removed, and no list
// may become older. The zero Revoked has none.
type Revoked struct {
	Documents []item.Digest // of revocations
	Lists     []RevokedList // one for each signer
}

// RevokedList is the time of a list of revocations: the time of its signature, which is
// the same on every machine.
type RevokedList struct {
	Signer string // ed25519: and the fingerprint
	At     time.Time
}

// IsZero reports whether nothing is recorded.
func (r Revoked) IsZero() bool {
	return len(r.Documents)+len(r.Lists) == 0
}

// Behind returns the revocations of r that are missing or older in now.
func (r Revoked) Behind(now Revoked) []string {
	var out []string
	for _, d := range r.Documents {
		if !slices.Contains(now.Documents, d) {
			out = append(out, "the revocation "+d.String()+" is gone")
		}
	}
	for _, l := range r.Lists {
		i := slices.IndexFunc(now.Lists, func(x RevokedList) bool {
			return x.Signer == l.Signer
		})
		switch {
		case i < 0:
			out = append(out, "the list of revocations of "+l.Signer+" is gone")
		case now.Lists[i].At.Before(l.At):
			out = append(
				out,
				"the list of revocations of "+l.Signer+" was signed "+stamp(now.Lists[i].At)+", older than "+stamp(l.At),
			)
		}
	}
	return out
}

// CheckRevoked returns a ROLLBACK error if a recorded revocation is missing or
// older: removing one would make a revoked key valid again.
func (l *Lock) CheckRevoked(now Revoked) error {
	var fs []diag.Finding
	for _, why := range l.Revoked.Behind(now) {
		f := diag.Errorf(diag.Rollback, 0, 0, "%s", why)
		f.Path = LockFile
		fs = append(fs, f.WithReason("revocations"))
	}
	err := diag.FromFindings("checking the revocations in "+LockFile, fs)
	e := (*diag.Error)(nil)
	if errors.As(err, &e) {
		return e.WithReason("revocations")
	}
	return err
}

// StaleRevoked returns a LOCK_STALE error if now has revocations that the lock does
// not record.
func (l *Lock) StaleRevoked(now Revoked) error {
	if len(now.Behind(l.Revoked)) == 0 {
		return nil
	}
	return diag.New(diag.LockStale, "checking %s: the project has revocations that it does not record", LockFile)
}

func stamp(t time.Time) string {
	return t.UTC().Format(time.RFC3339)
}

// words returns the elements of the field.
func (r Revoked) words() [][]string {
	var out [][]string
	for _, d := range r.Documents {
		out = append(out, []string{d.String()})
	}
	for _, l := range r.Lists {
		out = append(out, []string{l.Signer, stamp(l.At)})
	}
	slices.SortFunc(out, func(a, b []string) int {
		return cmp.Compare(strings.Join(a, " "), strings.Join(b, " "))
	})
	return slices.CompactFunc(out, slices.Equal)
}

func (f *fieldReader) revoked() (r Revoked) {
	elements, pos := f.elements("revocations")
	for _, words := range elements {
		switch len(words) {
		case 1:
			d, err := item.ParseDigest(words[0])
			if err != nil {
				f.p.fault(diag.ParsingError, pos, "revocations: %s", err)
			}
			r.Documents = append(r.Documents, d)
		case 2:
			t, err := time.Parse(time.RFC3339, words[1])
			if err = errors.Join(err, checkSigner(words[0])); err == nil &&
				stamp(t) != words[1] {
				err = errors.New("write the time as " + stamp(t))
			}
			if err != nil {
				f.p.fault(diag.ParsingError, pos, "revocations: %s", err)
			}
			r.Lists = append(r.Lists, RevokedList{words[0], t})
		default:
			f.p.fault(diag.ParsingError, pos, "revocations: %q is not a digest or a signer and a time", strings.Join(words, " "))
		}
	}
	for i, l := range r.Lists {
		if slices.ContainsFunc(r.Lists[:i], func(x RevokedList) bool { return x.Signer == l.Signer }) {
			f.p.fault(diag.ParsingError, pos, "revocations: %s is repeated", l.Signer)
		}
	}
	return r
}
