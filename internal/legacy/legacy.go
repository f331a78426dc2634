// Package legacy checks signatures of the earlier format by the rules of the
// program that made them: what it hashed of a file, what it signed and how it
// named keys.
//
// Those rules leave out text, ids and dates, so a good result is no trust. It
// tells a person who moves items over whether they are what the old key once
// signed, and which parts nobody ever signed. The package reads no disk, trusts
// no key and writes no signature.
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

// Outcome is the verdict of the earlier rules, in one word.
type Outcome string

// The outcomes. None of them is trust.
const (
	Good       Outcome = "legacy-good"        // the old key signed what the rules cover
	Altered    Outcome = "legacy-altered"     // what they cover, or the line, is not what was signed
	UnknownKey Outcome = "legacy-unknown-key" // what they cover is unchanged, but nobody says whose key it is
	Malformed  Outcome = "malformed"          // the rules see no signature, or nothing that one could cover
)

// Verdict is what the earlier rules say about one file. The texts quote the
// file and are not safe to print as they are.
type Verdict struct {
	Outcome   Outcome
	Reason    string
	Line      Line   // zero when malformed
	Owner     string // of the key, when it is known
	Found     string // the hash of what is there, when it differs from the line's
	Uncovered []Part // what the signature says nothing about
}

// Part is a part of a file that no earlier signature covers.
type Part struct {
	Line int // where it begins
	What string
}

// Check judges a file of a kind. directive and knowledge have rules of their
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
		return malformed("it holds no <directive> element, which is all that a signature could cover")
	}
	v := Verdict{Line: line, Uncovered: uncovered(kind, text, line)}
	if sum := sha256.Sum256([]byte(content)); hex.EncodeToString(sum[:]) != line.Hash {
		v.Found = hex.EncodeToString(sum[:])
		return v.as(Altered, "what the signature covers was changed after it was made")
	}
	return v.byKey(keys)
}

// byKey is the half of Check that needs keys.
func (v Verdict) byKey(keys Keys) Verdict {
	found := keys.find(v.Line.Key)
	if len(found) == 0 {
		return v.as(UnknownKey, "the content is unchanged, but no public key with the fingerprint %s is at hand", v.Line.Key)
	}
	for _, k := range found {
		if verifies(k.Public, v.Line) {
			v.Owner = k.Owner
			return v.as(Good, "the earlier key %s%s signed what its signature covers", v.Line.Key, k.label())
		}
	}
	return v.as(Altered, "the content is unchanged, but key %s did not make this signature", v.Line.Key)
}

// verifies checks the signature, which is over the digits of the hash. The
// spelling of base64 was never checked.
func verifies(pub ed25519.PublicKey, l Line) bool {
	sig, err := base64.URLEncoding.DecodeString(l.Sig)
	return err == nil && len(sig) == ed25519.SignatureSize && ed25519.Verify(pub, []byte(l.Hash), sig)
}

func malformed(reason string) Verdict { return Verdict{Outcome: Malformed, Reason: reason} }

func (v Verdict) as(o Outcome, format string, args ...any) Verdict {
	v.Outcome, v.Reason = o, fmt.Sprintf(format, args...)
	return v
}

// universal turns every line end into a line feed, as the earlier program read
// its files.
func universal(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
