package doc

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// fields reads one table of a document strictly: it remembers which fields were
// read, and finish reports all others. Every finding has a position.
type fields struct {
	*tree.Reader
	known  []string
	proofs sign.Proofs
}

// sub returns the table under key. An absent table is empty.
func (f *fields) sub(key string) *fields {
	f.known = append(f.known, key)
	return &fields{Reader: f.Map(key), proofs: f.proofs}
}

// finish reports the fields that were not read.
func (f *fields) finish() {
	f.Only(f.known...)
}

// present records that a field was read and reports whether the document has it.
func (f *fields) present(key string, required bool) bool {
	f.known = append(f.known, key)
	if !f.Has(key) && required {
		f.Reject(key, "is missing")
	}
	return f.Has(key)
}

func (f *fields) str(key string, required bool) (string, bool) {
	if !f.present(key, required) {
		return "", false
	}
	s := f.Text(key)
	_, ok := f.Value(key).(string)
	return s, ok
}

// word reads a required string that must be one of the allowed values. It returns
// a string that is not allowed, too.
func (f *fields) word(key string, allowed ...string) string {
	if !f.present(key, true) {
		return ""
	}
	f.Enum(key, "", allowed...)
	s, _ := f.Value(key).(string)
	return s
}

func (f *fields) label(key string, required bool, maxBytes int) string {
	s, ok := f.str(key, required)
	if ok && len(s) > maxBytes {
		f.Reject(key, "has %d bytes, at most %d are allowed", len(s), maxBytes)
	}
	if ok && required && s == "" {
		f.Reject(key, "is empty")
	}
	return s
}

// integer reads a required whole number. If it is out of range, the minimum is
// returned.
func (f *fields) integer(key string, minimum, maximum int) int {
	if !f.present(key, true) {
		return 0
	}
	// A document has one spelling of a number: Reader also accepts 5.0.
	if _, whole := f.Value(key).(int64); !whole {
		f.Reject(key, "must be a whole number from %d to %d", minimum, maximum)
		return minimum
	}
	return int(f.Int(key, int64(minimum), int64(minimum), int64(maximum)))
}

func (f *fields) digest(key string) (d item.Digest) {
	s, ok := f.str(key, true)
	if !ok {
		return d
	}
	d, err := item.ParseDigest(s)
	if err != nil {
		f.Reject(key, "must be sha256: and 64 lower-case hexadecimal digits")
	}
	return d
}

func (f *fields) time(key string, required bool) time.Time {
	if !f.present(key, required) {
		return time.Time{}
	}
	t, ok := f.Value(key).(time.Time)
	if !ok {
		f.Reject(key, "must be a time such as 2026-11-20T00:00:00Z, without quotes")
		return time.Time{}
	}
	return t.UTC()
}

// list reads an optional list of strings. check returns why an entry is not
// valid, or "".
func (f *fields) list(key string, limit int, check func(string) string) []string {
	if !f.present(key, false) {
		return nil
	}
	raw, _ := f.Value(key).([]any)
	if len(raw) > limit {
		f.Reject(key, "has %d entries, at most %d are allowed", len(raw), limit)
		return nil
	}
	return f.Texts(key, func(entry string) error {
		if why := check(entry); why != "" {
			return errors.New(why)
		}
		return nil
	})
}

// fingerprint reads a required fingerprint of a key.
func (f *fields) fingerprint(key string) sign.Fingerprint {
	s, ok := f.str(key, true)
	if !ok {
		return sign.Fingerprint{}
	}
	fp, err := sign.ParseFingerprint(s)
	if err != nil {
		f.Reject(key, "must be a fingerprint, 64 lower-case hexadecimal digits")
	}
	return fp
}

// publicKey reads a required public key: 32 bytes in the only base64 form that
// encodes them.
func (f *fields) publicKey(key string) ed25519.PublicKey {
	s, ok := f.str(key, true)
	if !ok {
		return nil
	}
	raw := decodeKey(s)
	if raw == nil {
		f.Reject(key, "must be the 32 raw bytes of an Ed25519 public key in standard base64, padded")
	}
	return raw
}

// decodeKey returns the key, nil if the text is not exactly one.
func decodeKey(s string) ed25519.PublicKey {
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil ||
		len(raw) != ed25519.PublicKeySize ||
		base64.StdEncoding.EncodeToString(raw) != s {
		return nil
	}
	return raw
}

// signingKey reads the public key that must sign the document. weak is why it
// may not be used.
func (f *fields) signingKey(key string) (pub ed25519.PublicKey, fp sign.Fingerprint, weak error) {
	pub = f.publicKey(key)
	if pub == nil {
		return nil, fp, nil
	}
	if weak = sign.CheckKeyKnown(pub, f.proofs); weak != nil {
		f.RejectErr(key, diag.New(diag.KeyWeak, "the public key may not be used: %w", weak))
	}
	return pub, sign.FingerprintOf(pub), weak
}

// validity reads the required table validity, which spans at most that many years.
func (f *fields) validity(years int) (notBefore, notAfter time.Time) {
	v := f.sub("validity")
	notBefore = v.time("not-before", true)
	notAfter = v.time("not-after", true)
	switch {
	case notBefore.IsZero() || notAfter.IsZero():
	case !notAfter.After(notBefore):
		v.Reject("not-after", "is not later than not-before")
	case notAfter.After(notBefore.AddDate(years, 0, 0)):
		v.Reject("not-after", "is more than %d years after not-before", years)
	}
	v.finish()
	return notBefore, notAfter
}

// scope reads the table scope. An absent one permits nothing.
func (f *fields) scope() Scope {
	s := f.sub("scope")
	out := Scope{
		Kinds:      s.list("kinds", 64, checkKind),
		Namespaces: s.list("namespaces", 256, checkNamespace),
		May:        s.list("may", 16, checkUse),
	}
	s.finish()
	return out
}
