package doc

import (
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// fields reads one table of a document strictly. A field that is not read and a
// value of another type are errors. Every error has a line.
type fields struct {
	doc   *tree.Doc
	path  string // of the table, "" for the root
	table map[string]any
	known []string
	out   *[]diag.Finding
}

// sub returns the table under key. An absent table is empty.
func (f *fields) sub(key string) *fields {
	s := &fields{doc: f.doc, path: tree.Join(f.path, key), out: f.out}
	f.known = append(f.known, key)
	v, ok := f.table[key]
	if !ok {
		return s
	}
	if s.table, ok = v.(map[string]any); !ok {
		f.bad(key, "%s must be a table", s.path)
	}
	return s
}

// maxUnknown is the number of unknown fields that are reported by name.
const maxUnknown = 20

// finish reports the fields that were not read.
func (f *fields) finish() {
	keys := make([]string, 0, len(f.table))
	for k := range f.table {
		if !slices.Contains(f.known, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i == maxUnknown {
			f.reportAt(diag.ValidationFailed, f.path, "and %d more unknown fields", len(keys)-i)
			return
		}
		finding := f.reportAt(diag.ValidationFailed, tree.Join(f.path, k), "unknown field %q", tree.Join(f.path, k))
		if near := suggest.Nearest(k, f.known); near != "" {
			*finding = finding.WithReason("nearest", "nearest", near)
		}
	}
}

// bad reports an error in the value of key.
func (f *fields) bad(key, format string, args ...any) {
	f.reportAt(diag.ValidationFailed, tree.Join(f.path, key), format, args...)
}

// reportAt adds an error at the position of a path and returns it.
func (f *fields) reportAt(code diag.Code, path, format string, args ...any) *diag.Finding {
	at := f.doc.At(path)
	*f.out = append(*f.out, diag.Errorf(code, at.Line, at.Column, format, args...))
	return &(*f.out)[len(*f.out)-1]
}

func (f *fields) get(key string, required bool) (any, bool) {
	f.known = append(f.known, key)
	v, ok := f.table[key]
	if !ok && required {
		f.bad(key, "%s is missing", tree.Join(f.path, key))
	}
	return v, ok
}

func (f *fields) str(key string, required bool) (string, bool) {
	v, ok := f.get(key, required)
	if !ok {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		f.bad(key, "%s must be a string", tree.Join(f.path, key))
	}
	return s, ok
}

// word reads a required string that must be one of the allowed values.
func (f *fields) word(key string, allowed ...string) string {
	s, ok := f.str(key, true)
	if ok && !slices.Contains(allowed, s) {
		f.bad(key, "%s is %q, must be %s", tree.Join(f.path, key), s, strings.Join(allowed, " or "))
	}
	return s
}

func (f *fields) label(key string, required bool, maxBytes int) string {
	s, ok := f.str(key, required)
	if ok && len(s) > maxBytes {
		f.bad(key, "%s has %d bytes, at most %d are allowed", tree.Join(f.path, key), len(s), maxBytes)
	}
	if ok && required && s == "" {
		f.bad(key, "%s is empty", tree.Join(f.path, key))
	}
	return s
}

// integer reads a required whole number. If it is out of range, the minimum is
// returned.
func (f *fields) integer(key string, minimum, maximum int) int {
	v, ok := f.get(key, true)
	n, whole := v.(int64)
	if ok && (!whole || n < int64(minimum) || n > int64(maximum)) {
		f.bad(key, "%s must be a whole number from %d to %d", tree.Join(f.path, key), minimum, maximum)
		return minimum
	}
	return int(n)
}

func (f *fields) digest(key string) (d item.Digest) {
	s, ok := f.str(key, true)
	if !ok {
		return d
	}
	d, err := item.ParseDigest(s)
	if err != nil {
		f.bad(key, "%s must be sha256: and 64 lower-case hexadecimal digits", tree.Join(f.path, key))
	}
	return d
}

func (f *fields) time(key string, required bool) time.Time {
	v, ok := f.get(key, required)
	if !ok {
		return time.Time{}
	}
	t, ok := v.(time.Time)
	if !ok {
		f.bad(key, "%s must be a time such as 2026-11-20T00:00:00Z, without quotes", tree.Join(f.path, key))
		return time.Time{}
	}
	return t.UTC()
}

// list reads an optional list of strings. check returns why an entry is not
// valid, or "".
func (f *fields) list(key string, limit int, check func(string) string) []string {
	v, ok := f.get(key, false)
	if !ok {
		return nil
	}
	raw, ok := v.([]any)
	if !ok {
		f.bad(key, "%s must be a list of strings", tree.Join(f.path, key))
		return nil
	}
	if len(raw) > limit {
		f.bad(key, "%s has %d entries, at most %d are allowed", tree.Join(f.path, key), len(raw), limit)
		return nil
	}
	out := make([]string, 0, len(raw))
	for i, e := range raw {
		if s, ok := f.entry(key, i, e, check); ok {
			out = append(out, s)
		}
	}
	return out
}

func (f *fields) entry(key string, i int, e any, check func(string) string) (string, bool) {
	path := tree.Index(tree.Join(f.path, key), i)
	s, ok := e.(string)
	why := "it must be a string"
	if ok {
		why = check(s)
	}
	if why != "" {
		f.reportAt(diag.ValidationFailed, path, "entry %d of %s: %s", i+1, tree.Join(f.path, key), why)
	}
	return s, why == ""
}

// fingerprint reads a required fingerprint of a key.
func (f *fields) fingerprint(key string) sign.Fingerprint {
	s, ok := f.str(key, true)
	if !ok {
		return sign.Fingerprint{}
	}
	fp, err := sign.ParseFingerprint(s)
	if err != nil {
		f.bad(key, "%s must be a fingerprint, 64 lower-case hexadecimal digits", tree.Join(f.path, key))
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
		f.bad(key, "%s must be the 32 raw bytes of an Ed25519 public key in standard base64, padded", tree.Join(f.path, key))
	}
	return raw
}

// decodeKey returns the key, nil if the text is not exactly one.
func decodeKey(s string) ed25519.PublicKey {
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != ed25519.PublicKeySize || base64.StdEncoding.EncodeToString(raw) != s {
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
	if weak = sign.CheckKey(pub); weak != nil {
		f.reportAt(diag.KeyWeak, tree.Join(f.path, key), "the public key may not be used: %v", weak)
	}
	return pub, sign.FingerprintOf(pub), weak
}

// validity reads the required table validity.
func (f *fields) validity() (notBefore, notAfter time.Time) {
	v := f.sub("validity")
	notBefore = v.time("not-before", true)
	notAfter = v.time("not-after", true)
	switch {
	case notBefore.IsZero() || notAfter.IsZero():
	case !notAfter.After(notBefore):
		v.bad("not-after", "not-after is not later than not-before")
	case notAfter.After(notBefore.AddDate(MaxYears, 0, 0)):
		v.bad("not-after", "not-after is more than %d years after not-before", MaxYears)
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
