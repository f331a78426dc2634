package trust

import (
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// RuntimeWord is the result of Word for a file that the runtime key of this account
// has signed.
const RuntimeWord = "runtime"

// Records returns the namespaces of knowledge in which rye writes down what runs and
// threads did. The runtime key signs items nowhere else.
// Records for search and list are knowledge of the project below graphs/ and threads/ that a
// runtime key of this account signed. What a person keeps there is found as any item.
func Records() []string {
	return []string{"graphs/", "threads/"}
}

// IsRecord reports whether an item is in a namespace of records.
func IsRecord(ref item.Ref) bool {
	if ref.Kind != item.Knowledge {
		return false
	}
	for _, ns := range Records() {
		if strings.HasPrefix(ref.ID, ns) {
			return true
		}
	}
	return false
}

// runtimeKey returns the document of a runtime key of this account, nil if the key is
// not one. A key for which another document gives trust is not one either.
func (s *Store) runtimeKey(fp sign.Fingerprint) *doc.Key {
	if s.runtime == nil || s.blind != "" {
		return nil
	}
	e := s.keys[fp]
	if e != nil && (len(e.bases) > 0 || e.weak || e.embeddedOnly) {
		return nil
	}
	k := s.runtime(fp)
	if k == nil ||
		k.KeyKind != doc.KeyRuntime ||
		k.Fingerprint != fp ||
		k.Weak != nil ||
		k.Invalid != nil {
		return nil
	}
	return k
}

// judgeRecord is judge for a signature of a runtime key. The result is trusted, and
// marked so that no verb uses the item as one that a person has signed.
func (s *Store) judgeRecord(v Verdict, k *doc.Key, in Input, now time.Time) Verdict {
	// Without an end: nothing relies on a record, so an old one can always be read.
	b := &basis{
		tier:      TierUser,
		document:  quoted(k.Path),
		owner:     hidden.Visible(k.Owner),
		owned:     true,
		notBefore: k.NotBefore,
	}
	v.Owner = b.owner
	v.Document = b.document
	v.Tier = b.tier
	use := in.Use
	if use == "" {
		use = doc.DefaultUse
	}
	ref := item.Ref{Kind: item.Kind(in.Subject.Kind), ID: in.Subject.ID}
	if use != doc.DefaultUse ||
		in.Subject.Use != sign.UseItem ||
		!IsRecord(ref) ||
		in.Embedded {
		return v.Refuse(diag.Scope, fmt.Sprintf(
			"key %s is a runtime key: of items it signs the records of runs only, knowledge below %s",
			v.Signer.Short(),
			strings.Join(Records(), " and "),
		))
	}
	if late, reason := s.clock(now); late != "" {
		return v.Refuse(late, reason)
	}
	if code, why := b.window(v.Time, now); code != "" {
		return v.Refuse(code, why)
	}
	if e := s.keys[v.Signer]; e != nil {
		if r := e.revokedAt(v.Time); r != nil {
			return v.Refuse(diag.Revoked, revokedReason(r))
		}
	}
	v.Status = Trusted
	v.Agent = true
	v.Runtime = true
	if !in.Text {
		return v
	}
	return v.readable(in)
}
