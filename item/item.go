// Package item defines items: kind, id and ref, the digest of the bytes, and the
// typed metadata that all kinds have in common.
//
// It parses and prints names. It does not read files, check signatures or know
// spaces.
package item

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/winname"
)

// Kind is the kind of an item. Kinds are data: extractors may add some.
type Kind string

// The four kinds of the boot table.
const (
	Directive Kind = "directive"
	Tool      Kind = "tool"
	Knowledge Kind = "knowledge"
	Config    Kind = "config"
)

// Test is the kind of recorded threads, which an extractor of the system space declares.
const Test Kind = "test"

// MaxID is the maximum length of an id, in bytes.
const MaxID = 255

// Ref names one item: kind and id, without a space.
type Ref struct {
	Kind Kind
	ID   string
}

// String renders "kind:id".
func (r Ref) String() string {
	return string(r.Kind) + ":" + r.ID
}

// IsZero reports whether r is the zero Ref.
func (r Ref) IsZero() bool {
	return r == Ref{}
}

// Name returns the last segment of the id.
func (r Ref) Name() string {
	return r.ID[strings.LastIndexByte(r.ID, '/')+1:]
}

// Category returns the id without its last segment, "" at the root.
func (r Ref) Category() string {
	if i := strings.LastIndexByte(r.ID, '/'); i >= 0 {
		return r.ID[:i]
	}
	return ""
}

// Dotted returns the id as capabilities write it: "/" becomes ".".
func (r Ref) Dotted() string {
	return strings.ReplaceAll(r.ID, "/", ".")
}

// ParseRef reads "kind:id", or a bare id if def is its kind.
func ParseRef(s string, def Kind) (Ref, error) {
	kind, id, found := strings.Cut(s, ":")
	if !found {
		kind = string(def)
		id = s
	}
	if kind == "" {
		return Ref{}, diag.New(diag.Usage, "reading ref %q: no kind given", s).
			WithReason("no_kind").
			WithDetail("ref", s)
	}
	if err := CheckKind(Kind(kind)); err != nil {
		return Ref{}, diag.New(diag.Usage, "reading ref %q: %q is not a kind", s, kind).WithReason("kind_grammar")
	}
	if err := CheckID(id); err != nil {
		return Ref{}, err
	}
	return Ref{Kind(kind), id}, nil
}

// CheckKind returns nil if k can be the name of a kind: a lower-case letter,
// then lower-case letters, digits, - and _, at most 64 bytes.
func CheckKind(k Kind) error {
	if !validKind(string(k)) {
		return diag.New(diag.Usage, "reading kind %q: it is not a kind", k).WithReason("kind_grammar")
	}
	return nil
}

func validKind(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '_')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// CheckID returns nil if id follows the grammar: segments of
// [A-Za-z0-9_][A-Za-z0-9_-]* joined by "/", at most MaxID bytes, none of them the name
// of a device on Windows.
func CheckID(id string) error {
	bad := func(format string, args ...any) error {
		return diag.New(
			diag.Usage,
			"reading id %q: "+format,
			append([]any{id}, args...)...,
		).
			WithReason("id_grammar")
	}
	if id == "" {
		return bad("it is empty")
	}
	if len(id) > MaxID {
		return bad("it has %d bytes, at most %d are allowed", len(id), MaxID)
	}
	for seg := range strings.SplitSeq(id, "/") {
		if seg == "" {
			return bad("it has an empty segment")
		}
		for i := 0; i < len(seg); i++ {
			if !idByte(seg[i], i == 0) {
				_, n := utf8.DecodeRuneInString(seg[i:])
				return bad("segment %q contains %q", seg, seg[i:i+n])
			}
		}
		if winname.Device(seg) {
			return bad("segment %q is a device on Windows", seg)
		}
	}
	return nil
}

func idByte(c byte, first bool) bool {
	return c >= 'a' && c <= 'z' ||
		c >= 'A' && c <= 'Z' ||
		c >= '0' && c <= '9' ||
		c == '_' ||
		c == '-' && !first
}

// Digest is the SHA-256 of a whole file, signature line included.
type Digest [sha256.Size]byte

// DigestOf returns the digest of b.
func DigestOf(b []byte) Digest {
	return sha256.Sum256(b)
}

// Hex renders the 64 hexadecimal digits without a scheme.
func (d Digest) Hex() string {
	return hex.EncodeToString(d[:])
}

// String renders "sha256:" and the digits.
func (d Digest) String() string {
	return "sha256:" + d.Hex()
}

// MarshalText renders as String does.
func (d Digest) MarshalText() ([]byte, error) {
	return []byte(d.String()), nil
}

// UnmarshalText parses as ParseDigest does.
func (d *Digest) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDigest(string(b))
	return err
}

// ParseDigest reads "sha256:" and 64 lower-case hexadecimal digits.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	h, ok := strings.CutPrefix(s, "sha256:")
	if !ok ||
		len(h) != 2*len(d) ||
		strings.ContainsAny(h, "ABCDEF") {
		return d, diag.New(diag.ParsingError, "reading digest %q: want sha256: and 64 lower-case hexadecimal digits", s)
	}
	var digits [2 * len(d)]byte
	copy(digits[:], h)
	_, err := hex.Decode(d[:], digits[:])
	if err != nil {
		return d, diag.New(diag.ParsingError, "reading digest %q: %w", s, err)
	}
	return d, nil
}
