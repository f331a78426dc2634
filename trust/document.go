package trust

import (
	"crypto/ed25519"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Schema is what the field schema of every trust document says.
const Schema = "rye.trust/v1"

// The kinds of document that this room reads.
const (
	KindKey        = "key"        // a public key, signed by itself
	KindGrant      = "grant"      // an own key of the user vouches for a key document
	KindRevocation = "revocation" // a key takes itself back, or its successor or an anchor does

	KindEndorsement = "endorsement" // an anchor vouches for a key document, for everybody who has that anchor
	KindRotation    = "rotation"    // a key names its successor, and that one agrees
	KindRevocations = "revocations" // an anchor lists the revocations it knows, as of its signature

	KindPublisher         = "publisher"          // who must sign the releases of some bundles, signed by several
	KindReleaseRevocation = "release-revocation" // who signed a release of a bundle takes it back, or an anchor does
)

// Reason says why a key was revoked.
type Reason string

// The reasons. Only the first reaches back before the cut-off.
const (
	ReasonCompromised Reason = "compromised"
	ReasonSuperseded  Reason = "superseded"
	ReasonRetired     Reason = "retired"
)

// Document is one parsed trust document.
type Document struct {
	Path   string      `json:"path"`
	Tier   Tier        `json:"tier,omitempty"`
	Stem   string      `json:"stem"` // the file name without .toml: the id that was signed
	Kind   string      `json:"kind"`
	Digest item.Digest `json:"digest"` // of the whole file

	Fingerprint sign.Fingerprint  `json:"fingerprint"`          // of the key it speaks of
	Public      ed25519.PublicKey `json:"public,omitempty"`     // key, revocation
	Owner       string            `json:"owner,omitempty"`      // as written: escape before printing
	Identities  []string          `json:"identities,omitempty"` // as written
	NotBefore   time.Time         `json:"not_before,omitzero"`
	NotAfter    time.Time         `json:"not_after,omitzero"`
	Scope       Scope             `json:"scope"`

	Granted item.Digest `json:"granted,omitzero"` // grant, endorsement: the digest of the key document
	Reason  Reason      `json:"reason,omitempty"` // revocation
	CutOff  time.Time   `json:"cut_off,omitzero"` // revocation: signatures from here on are void; rotation: the old key is superseded then

	Successor ed25519.PublicKey `json:"successor,omitempty"` // rotation
	Listed    []item.Digest     `json:"listed,omitempty"`    // revocations: of every revocation known to the signer
	Release   *Release          `json:"release,omitempty"`   // release-revocation
	Publisher *Publisher        `json:"publisher,omitempty"` // publisher

	Signer sign.Fingerprint `json:"signer"` // as the signature line names it
	Signed time.Time        `json:"signed"` // as the signature line claims

	raw   []byte
	check error // KEY_WEAK, when the key may not be used
	bad   error // what is wrong with the signature, nil when it holds; what another key signs is checked later
	named bool  // the file name is the one that the content demands
	root  bool  // the call names it as an anchor
	seen  bool  // it is remembered from an earlier call

	brought bool // it lies in the project, whatever tier it counts for

	accepted string // rotation: the successor's signature line
}

// ParseDocument reads the document in a file of that name: strict TOML, the
// name that the content demands, a sound key and, where a key signs its own
// document, the signature. What another key must sign is left to Load, which
// knows the keys. The Document is nil exactly when a finding is an error.
func ParseDocument(name string, b []byte) (*Document, []diag.Finding) {
	d, fs := parse(name, b)
	if diag.Failed(fs) {
		return nil, fs
	}
	return d, fs
}

// ParseAnyName is ParseDocument for a document that arrived under any name: it
// is read under the one that its content demands, which Document.Name returns.
func ParseAnyName(b []byte) (*Document, []diag.Finding) {
	d, fs := parseAny("document.toml", b)
	if diag.Failed(fs) {
		return nil, fs
	}
	return d, fs
}

func parseAny(name string, b []byte) (*Document, []diag.Finding) {
	d, fs := parse(name, b)
	if d.Kind == "" || d.named {
		return d, fs
	}
	return parse(d.Name(), b)
}

// parse returns what could be read next to the findings.
func parse(name string, b []byte) (*Document, []diag.Finding) {
	d := &Document{Path: name, Digest: item.DigestOf(b), raw: b}
	stem, isTOML := strings.CutSuffix(filepath.Base(name), ".toml")
	d.Stem = stem
	fs := gate(b)
	if !isTOML {
		fs = append(fs, diag.Errorf(diag.ValidationFailed, 0, 0, "a trust document's name ends in .toml"))
	}
	if diag.Failed(fs) {
		return d, diag.WithPath(fs, name)
	}
	doc, more := tomlx.Parse(b)
	fs = append(fs, more...)
	if doc != nil && !diag.Failed(more) {
		d.readFields(rootFields(doc, &fs))
	}
	if !diag.Failed(fs) {
		fs = append(fs, d.prove()...)
	}
	return d, diag.WithPath(fs, name)
}

// gate refuses bytes that may not be a document at all.
func gate(b []byte) []diag.Finding {
	if len(b) > MaxDocument {
		return []diag.Finding{diag.Errorf(diag.TooLarge, 0, 0, "a trust document has at most %d bytes, this has %d", MaxDocument, len(b))}
	}
	if fs := hidden.Encoding(b); diag.Failed(fs) {
		return fs
	}
	return hidden.Scan(b)
}

func (d *Document) readFields(f *fields) {
	f.word("schema", Schema)
	d.Kind = f.word("kind", KindKey, KindGrant, KindRevocation, KindEndorsement, KindRotation, KindRevocations, KindReleaseRevocation, KindPublisher)
	switch d.Kind {
	case KindKey:
		d.readKey(f)
	case KindGrant, KindEndorsement:
		d.readGrant(f)
	case KindRevocation:
		d.readRevocation(f)
	case KindRotation:
		d.readRotation(f)
	case KindRevocations:
		d.readRevocations(f)
	case KindReleaseRevocation:
		d.readReleaseRevocation(f)
	case KindPublisher:
		d.readPublisher(f)
	default:
		return
	}
	f.finish()
}

func (d *Document) readKey(f *fields) {
	f.word("algorithm", "ed25519")
	d.readPublic(f)
	d.Owner = f.label("owner", true, 256)
	d.Identities = f.list("identities", 32, func(s string) string {
		if s == "" || len(s) > 512 {
			return "an identity has 1 to 512 bytes"
		}
		return ""
	})
	d.readValidity(f)
	d.readScope(f)
}

func (d *Document) readGrant(f *fields) {
	d.readKeyName(f)
	d.Granted = f.digest("document")
	d.readValidity(f)
	d.readScope(f)
}

func (d *Document) readKeyName(f *fields) {
	if s, ok := f.str("key", true); ok {
		fp, err := sign.ParseFingerprint(s)
		if err != nil {
			f.bad("key", "key must be a fingerprint, 64 lower-case hexadecimal digits")
		}
		d.Fingerprint = fp
	}
}

// readRevocation takes the whole key where it revokes itself, and its
// fingerprint where another does.
func (d *Document) readRevocation(f *fields) {
	if _, foreign := f.table["key"]; foreign {
		d.readKeyName(f)
	} else {
		f.word("algorithm", "ed25519")
		d.readPublic(f)
	}
	d.Reason = Reason(f.word("reason", string(ReasonCompromised), string(ReasonSuperseded), string(ReasonRetired)))
	d.CutOff = f.time("cut-off", d.Reason != ReasonCompromised)
}

func (d *Document) readRotation(f *fields) {
	f.word("algorithm", "ed25519")
	d.readPublic(f)
	d.Successor = f.publicKey("successor")
	if d.Successor != nil {
		if err := sign.CheckKey(d.Successor); err != nil {
			d.check = err
			at := f.doc.At("successor")
			*f.out = append(*f.out, diag.Errorf(diag.KeyWeak, at.Line, at.Column, "the successor may not be used: %v", err))
		}
		if slices.Equal(d.Successor, d.Public) {
			f.bad("successor", "a key cannot succeed itself")
		}
	}
	d.CutOff = f.time("from", true)
	d.accepted = f.label("accepted", true, 512)
}

func (d *Document) readRevocations(f *fields) {
	for _, s := range f.list("listed", MaxListed, checkDigest) {
		digest, _ := item.ParseDigest(s)
		d.Listed = append(d.Listed, digest)
	}
}

func checkDigest(s string) string {
	if _, err := item.ParseDigest(s); err != nil {
		return "it must be sha256: and 64 lower-case hexadecimal digits"
	}
	return ""
}

func (d *Document) readPublic(f *fields) {
	d.Public = f.publicKey("public-key")
	if d.Public == nil {
		return
	}
	d.Fingerprint = sign.FingerprintOf(d.Public)
	d.check = sign.CheckKey(d.Public)
	if d.check != nil {
		at := f.doc.At("public-key")
		*f.out = append(*f.out, diag.Errorf(diag.KeyWeak, at.Line, at.Column, "the public key may not be used: %v", d.check))
	}
}

func (d *Document) readValidity(f *fields) {
	v := f.sub("validity")
	d.NotBefore, d.NotAfter = v.time("not-before", true), v.time("not-after", true)
	switch {
	case d.NotBefore.IsZero() || d.NotAfter.IsZero():
	case !d.NotAfter.After(d.NotBefore):
		v.bad("not-after", "not-after is not later than not-before")
	case d.NotAfter.After(d.NotBefore.AddDate(MaxYears, 0, 0)):
		v.bad("not-after", "not-after lies more than %d years after not-before", MaxYears)
	}
	v.finish()
}

func (d *Document) readScope(f *fields) {
	s := f.sub("scope")
	d.Scope.Kinds = s.list("kinds", 64, checkKind)
	d.Scope.Namespaces = s.list("namespaces", 256, checkNamespace)
	d.Scope.May = s.list("may", 16, checkUse)
	s.finish()
}

func checkKind(s string) string {
	if s == "*" {
		return ""
	}
	if _, err := item.ParseRef(s+":x", ""); err != nil {
		return `a kind is a word such as "tool", or "*"`
	}
	return ""
}

func checkNamespace(s string) string {
	if len(s) > item.MaxID {
		return "a pattern over ids has at most 255 bytes"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "a pattern over ids holds visible ASCII alone, as ids do"
	}
	if strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") {
		return "a pattern over ids neither begins nor ends with /"
	}
	if fs := glob.Check(s); len(fs) > 0 {
		return fs[0].Message
	}
	return ""
}

func checkUse(s string) string {
	for _, u := range Uses() {
		if s == u {
			return ""
		}
	}
	return "must be one of " + strings.Join(Uses(), " ")
}
