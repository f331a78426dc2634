// Package legacy checks signatures of the earlier format by the rules of the
// program that made them: which part of a file it hashed, what it signed and how
// it named keys.
//
// Those rules do not cover all text, ids or dates, so a good result does not
// make an item trusted. It informs a user who migrates items whether they are
// what the old key signed, and which parts were never signed. The package reads
// no files, trusts no keys and makes no signatures.
package legacy

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Outcome is the verdict of the earlier rules.
type Outcome string

// The outcomes. None of them makes an item trusted.
const (
	Good       Outcome = "legacy-good"        // the old key signed the covered part
	Altered    Outcome = "legacy-altered"     // the covered part or the line was changed after signing
	UnknownKey Outcome = "legacy-unknown-key" // the covered part is unchanged, but no public key matches
	Malformed  Outcome = "malformed"          // the rules find no signature, or no part that one covers
)

// Verdict is the result of the earlier rules for one file. The texts quote the
// file and must be escaped before they are printed.
type Verdict struct {
	Outcome   Outcome
	Reason    string
	Line      Line   // zero when malformed
	Owner     string // of the key, if it is known
	Found     string // the hash of the file, if it differs from the hash in the line
	Uncovered []Part // parts that the signature does not cover
}

// Part is a part of a file that no earlier signature covers.
type Part struct {
	Line int // where it begins
	What string
}

// Check verifies a file of a kind. directive and knowledge have rules of their
// own; every other kind was signed as a tool.
func Check(kind string, file []byte, keys Keys) Verdict {
	if !utf8.Valid(file) {
		return malformed("the file is not UTF-8")
	}
	text := universal(string(file))
	line, ok := find(kind, text)
	if !ok {
		return malformed(whyNone(kind, text))
	}
	content, ok := covered(kind, text)
	if !ok {
		return malformed("it has no <directive> element, the only part that a signature covered")
	}
	v := Verdict{Line: line, Uncovered: uncovered(kind, text, line)}
	sum := sha256.Sum256([]byte(content))
	if hex.EncodeToString(sum[:]) != line.Hash {
		v.Found = hex.EncodeToString(sum[:])
		return v.as(Altered, "what the signature covers was changed after it was made")
	}
	return v.byKey(keys)
}

// byKey verifies the signature with the keys.
func (v Verdict) byKey(keys Keys) Verdict {
	found := keys.find(v.Line.Key)
	if len(found) == 0 {
		return v.as(UnknownKey, "the content is unchanged, but no public key with the fingerprint %s is known", v.Line.Key)
	}
	for _, k := range found {
		if verifies(k.Public, v.Line) {
			v.Owner = k.Owner
			return v.as(Good, "the earlier key %s%s signed what its signature covers", v.Line.Key, k.label())
		}
	}
	return v.as(Altered, "the content is unchanged, but key %s did not make this signature", v.Line.Key)
}

// verifies checks the signature, which is over the digits of the hash. As in the
// earlier program, base64 need not be canonical. Its last versions wrote no padding.
func verifies(pub ed25519.PublicKey, l Line) bool {
	sig, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(l.Sig, "="))
	return err == nil &&
		len(sig) == ed25519.SignatureSize &&
		ed25519.Verify(pub, []byte(l.Hash), sig)
}

func malformed(reason string) Verdict {
	return Verdict{Outcome: Malformed, Reason: reason}
}

func (v Verdict) as(o Outcome, format string, args ...any) Verdict {
	v.Outcome, v.Reason = o, fmt.Sprintf(format, args...)
	return v
}

// universal turns every line end into a line feed, as the earlier program read
// its files.
func universal(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
