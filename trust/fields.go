package trust

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// fields reads one table of a document strictly: what it does not ask for is
// an error, what has another type is an error, and every error has a line.
type fields struct {
	doc   *tree.Doc
	path  string // of the table, "" for the root
	table map[string]any
	known []string
	out   *[]diag.Finding
}

func rootFields(doc *tree.Doc, out *[]diag.Finding) *fields {
	return &fields{doc: doc, table: doc.Root, out: out}
}

// sub returns the table under key; an absent one is empty.
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

// maxUnknown is how many unknown fields are named.
const maxUnknown = 20

// finish reports the fields that nobody asked for.
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
			at := f.doc.At(f.path)
			*f.out = append(*f.out, diag.Errorf(diag.ValidationFailed, at.Line, at.Column, "and %d more unknown fields", len(keys)-i))
			return
		}
		at := f.doc.At(tree.Join(f.path, k))
		d := diag.Errorf(diag.ValidationFailed, at.Line, at.Column, "unknown field %q", tree.Join(f.path, k))
		if near := suggest.Nearest(k, f.known); near != "" {
			d.Fix = "did you mean " + near + "?"
		}
		*f.out = append(*f.out, d)
	}
}

func (f *fields) bad(key, format string, args ...any) {
	at := f.doc.At(tree.Join(f.path, key))
	*f.out = append(*f.out, diag.Errorf(diag.ValidationFailed, at.Line, at.Column, format, args...))
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

// word reads a required string that must be one of a closed set.
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

// integer reads a required whole number.
func (f *fields) integer(key string, least, most int) int {
	v, ok := f.get(key, true)
	n, whole := v.(int64)
	if ok && (!whole || n < int64(least) || n > int64(most)) {
		f.bad(key, "%s must be a whole number from %d to %d", tree.Join(f.path, key), least, most)
		return least
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

// list reads an optional list of strings, each checked by ok, which returns
// what is wrong or "".
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
	at := f.doc.At(path)
	s, ok := e.(string)
	why := "it must be a string"
	if ok {
		why = check(s)
	}
	if why != "" {
		*f.out = append(*f.out, diag.Errorf(diag.ValidationFailed, at.Line, at.Column, "entry %d of %s: %s", i+1, tree.Join(f.path, key), why))
	}
	return s, why == ""
}

// publicKey reads 32 bytes in the one base64 spelling that encodes them.
func (f *fields) publicKey(key string) []byte {
	s, ok := f.str(key, true)
	if !ok {
		return nil
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != 32 || base64.StdEncoding.EncodeToString(raw) != s {
		f.bad(key, "%s must be the 32 raw bytes of an Ed25519 public key in standard base64, padded", tree.Join(f.path, key))
		return nil
	}
	return raw
}
