package sign

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Use is the first line of a statement. A signature for one use is not valid for
// another.
type Use string

// The uses a signature can have.
const (
	UseItem        Use = "rye.dev/sig/v1"
	UseTrust       Use = "rye.dev/trust/v1"
	UseEndorsement Use = "rye.dev/endorsement/v1"
	UseRevocation  Use = "rye.dev/revocation/v1"
	UseRotation    Use = "rye.dev/rotation/v1"
	UseManifest    Use = "rye.dev/manifest/v1"
	UseThread      Use = "rye.dev/thread/v1"
	UseCheckpoint  Use = "rye.dev/checkpoint/v1"
	UseToken       Use = "rye.dev/token/v1"
	UseLog         Use = "rye.dev/log/v1"
	UsePublish     Use = "rye.dev/publish/v1"
	UseReview      Use = "rye.dev/review/v1"
)

func (u Use) known() bool {
	switch u {
	case UseItem, UseTrust, UseEndorsement, UseRevocation, UseRotation,
		UseManifest, UseThread, UseCheckpoint, UseToken, UseLog, UsePublish, UseReview:
		return true
	}
	return false
}

// Subject is what a signature is about. Kind and ID come from the path of the
// file, never from its content.
type Subject struct {
	Use      Use
	Kind, ID string
}

// Check returns an error if the subject cannot be part of a statement: the use is
// unknown, or the kind or id is empty, too long, or has a byte that is not
// printable ASCII. A line feed in it could forge lines of the statement.
func (s Subject) Check() error {
	if !s.Use.known() {
		return diag.New(diag.Internal, "naming a subject: unknown use %q", s.Use)
	}
	if !plainWord(s.Kind) {
		return diag.New(diag.Usage, "naming a subject: %q cannot be a kind", s.Kind)
	}
	if !plainWord(s.ID) {
		return diag.New(diag.Usage, "naming a subject: %q cannot be an id", s.ID)
	}
	return nil
}

func plainWord(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= item.MaxID
}

// Statement returns the bytes that are signed: the use, the subject, and the
// fields of the signature line, each on its own line. The subject must have
// passed Check.
func Statement(sub Subject, t time.Time, key Fingerprint, size int, sum [32]byte) []byte {
	b := make(
		[]byte,
		0,
		len(sub.Use)+len(sub.Kind)+len(sub.ID)+256,
	)
	b = append(b, sub.Use...)
	b = append(append(b, "\nkind "...), sub.Kind...)
	b = append(append(b, "\nid "...), sub.ID...)
	b = t.UTC().AppendFormat(append(b, "\ntime "...), timeLayout)
	b = hex.AppendEncode(append(b, "\nkey "...), key[:])
	b = strconv.AppendInt(append(b, "\nsize "...), int64(size), 10)
	b = hex.AppendEncode(append(b, "\nsha256 "...), sum[:])
	return append(b, '\n')
}

// Fingerprint is the SHA-256 of a raw Ed25519 public key. Programs compare all of
// it; Short is only for people.
type Fingerprint [sha256.Size]byte

// FingerprintOf returns the fingerprint of a raw public key.
func FingerprintOf(pub ed25519.PublicKey) Fingerprint {
	return sha256.Sum256(pub)
}

// String renders 64 lower-case hexadecimal digits.
func (f Fingerprint) String() string {
	return hex.EncodeToString(f[:])
}

// Short renders the first 16 digits, for people only.
func (f Fingerprint) Short() string {
	return hex.EncodeToString(f[:8])
}

// MarshalText renders as String does.
func (f Fingerprint) MarshalText() ([]byte, error) {
	return []byte(f.String()), nil
}

// UnmarshalText parses as ParseFingerprint does.
func (f *Fingerprint) UnmarshalText(b []byte) (err error) {
	*f, err = ParseFingerprint(string(b))
	return err
}

// ParseFingerprint reads 64 lower-case hexadecimal digits and nothing else.
func ParseFingerprint(s string) (Fingerprint, error) {
	var f Fingerprint
	if len(s) != 2*len(f) ||
		!decodeHex(f[:], []byte(s)) {
		return Fingerprint{}, diag.New(diag.ParsingError, "reading fingerprint %q: want 64 lower-case hexadecimal digits", s).
			WithReason("fingerprint")
	}
	return f, nil
}

// decodeHex fills dst from lower-case digits of exactly twice its length.
func decodeHex(dst, src []byte) bool {
	for i := range dst {
		hi := hexDigit(src[2*i])
		lo := hexDigit(src[2*i+1])
		if hi > 15 || lo > 15 {
			return false
		}
		dst[i] = hi<<4 | lo
	}
	return true
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}
