package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/ryeos/rye/diag"
)

// Keys returns the public key of a fingerprint. It must return only keys that
// passed CheckKey when they became known; Verify repeats the cheap part of that
// check.
type Keys func(Fingerprint) (ed25519.PublicKey, bool)

// OnlyKey returns a Keys with one key.
func OnlyKey(pub ed25519.PublicKey) Keys {
	fp := FingerprintOf(pub)
	return func(f Fingerprint) (ed25519.PublicKey, bool) {
		return pub, f == fp
	}
}

// Verify checks an inline signature in a fixed order and returns the first
// failure: the line (UNSIGNED, SIG_MALFORMED, LEGACY), duplicates
// (SIG_MULTIPLE), the hash (HASH_MISMATCH), the key by its full fingerprint
// (KEY_UNKNOWN), the key itself (KEY_WEAK), the signature over the statement
// (SIG_INVALID). The caller checked encoding and size before, and checks scope,
// time and revocation after. The returned line is also given with HASH_MISMATCH
// and later failures, so that a report can name the signer.
func Verify(file []byte, s Style, sub Subject, keys Keys) (Line, error) {
	if s.Detached() {
		return Line{}, diag.New(diag.Internal, "verifying: the bare style needs a detached signature")
	}
	sp, err := SplitFile(file, s)
	if err != nil {
		return Line{}, err
	}
	if !sp.Signed {
		return Line{}, unsigned()
	}
	return sp.Line, sp.verify(sub, keys, nil)
}

// VerifyDetached checks a signature file in the order of Verify. The signature
// file has one bare line about the whole file. A file that looks signed itself is
// SIG_MULTIPLE. A nil sigfile is UNSIGNED.
func VerifyDetached(file, sigfile []byte, sub Subject, keys Keys) (Line, error) {
	return verifyDetached(file, sigfile, sub, keys, nil)
}

func verifyDetached(file, sigfile []byte, sub Subject, keys Keys, proofs Proofs) (Line, error) {
	if sigfile == nil {
		return Line{}, unsigned()
	}
	line := firstLine(sigfile)
	l, err := ParseLine(line, StyleBare)
	if err != nil {
		return Line{}, atLine(err, 1)
	}
	if rest := sigfile[len(line):]; lookAlike(firstLine(rest)) {
		return Line{}, multiple("reading the signature file: it has a second line")
	} else if len(rest) > 0 {
		return Line{}, atLine(malformed("end", "the signature file has text after it"), 2)
	}
	sp, err := SplitFile(file, StyleBare)
	if err != nil {
		return Line{}, err
	}
	sp.Line = l
	return l, sp.verify(sub, keys, proofs)
}

// VerifyBoth checks a file with an inline or a detached signature. sigfile is the
// content of its signature file, nil if there is none. A style that is not bare
// requires the inline line; a signature file in addition to it is SIG_MULTIPLE,
// and a signature file without it is not used. proofs can be nil.
func VerifyBoth(file, sigfile []byte, s Style, sub Subject, keys Keys, proofs Proofs) (Line, error) {
	if s.Detached() {
		return verifyDetached(file, sigfile, sub, keys, proofs)
	}
	sp, err := SplitFile(file, s)
	switch {
	case sigfile != nil && err == nil && !sp.Signed:
		return Line{}, unsigned().WithReason("detached_not_used")
	case sigfile != nil:
		return Line{}, multiple("verifying: the file has a signature line and a .rye-sig file")
	case err != nil:
		return Line{}, err
	case !sp.Signed:
		return Line{}, unsigned()
	}
	return sp.Line, sp.verify(sub, keys, proofs)
}

// Proofs know which signatures are valid and which keys are sound, so that this need not
// be computed. They know these mathematical facts and no others: whether a key is trusted
// is judged each time.
type Proofs interface {
	// Known reports whether a signature is valid. False states nothing.
	Known(s Signature) bool
	// Valid is called for every signature that was computed and is valid.
	Valid(s Signature)
	// KnownKey reports whether a key passes CheckKey. False states nothing.
	KnownKey(pub [ed25519.PublicKeySize]byte) bool
	// ValidKey is called for every key that was checked and passed.
	ValidKey(pub [ed25519.PublicKeySize]byte)
}

// Signature is what a verification depends on.
type Signature struct {
	Key    Fingerprint
	Digest [sha256.Size]byte // of the statement, which names the key, and the signature
	File   bool              // Digest covers a whole file, its style and its subject instead
}

// ByFile are Proofs for a caller that has the digest of the file: whether its signature
// line is valid, the hash in it included, follows from the bytes of the file, its style and
// its subject. A file that is known is not hashed a second time.
type ByFile struct {
	Proofs
	Digest [sha256.Size]byte // SHA-256 of the whole file
}

// signature returns the Signature of a file with a signature line.
func (p ByFile) signature(sp Split, sub Subject) Signature {
	in := append(make([]byte, 0, 256), p.Digest[:]...)
	for _, s := range [...]string{sp.style, string(sub.Use), sub.Kind, sub.ID} {
		in = append(binary.LittleEndian.AppendUint32(in, uint32(len(s))), s...)
	}
	return Signature{sp.Line.Key, sha256.Sum256(in), true}
}

// of returns the Signature over a statement.
func (l Line) of(statement []byte) Signature {
	return Signature{Key: l.Key, Digest: sha256.Sum256(append(statement, l.Sig[:]...))}
}

func unsigned() *diag.Error {
	return diag.New(diag.Unsigned, "reading the signature line: there is none")
}

// verify checks the parts that inline and detached signatures have in common.
// R of small order is refused, although the equation may be satisfied: no correct signer makes
// one.
func (sp Split) verify(sub Subject, keys Keys, proofs Proofs) error {
	if err := sub.Check(); err != nil {
		return err
	}
	file, byFile := proofs.(ByFile)
	byFile = byFile && sp.style != "" // a detached signature is not in the file
	known := byFile && file.Known(file.signature(sp, sub))
	var sum [sha256.Size]byte
	if !known {
		if sum = sp.Digest(); sum != sp.Line.Body {
			return sp.mismatch(sum)
		}
	}
	pub, ok := keys(sp.Line.Key)
	if !ok {
		return byKey(
			diag.New(diag.KeyUnknown, "verifying: key %s is not known here", sp.Line.Key.Short()),
			sp.Line.Key,
		)
	}
	if err := selfCheck(pub, sp.Line.Key); err != nil {
		return byKey(err, sp.Line.Key)
	}
	if known {
		return nil
	}
	msg := Statement(sub, sp.Line.Time, sp.Line.Key, sp.Size(), sum)
	proof := func() Signature { return sp.Line.of(msg) }
	if byFile {
		proof = func() Signature { return file.signature(sp, sub) }
	}
	// A correct signer never produces an R of small order. Refusing it closes the
	// last choice that the verification equation leaves open.
	switch {
	case smallOrder(sp.Line.Sig[:32]):
	case proofs != nil && !byFile && proofs.Known(proof()):
		return nil
	case used.valid(pub, msg, sp.Line.Sig[:]):
		if proofs != nil {
			proofs.Valid(proof())
		}
		return nil
	}
	return byKey(
		diag.New(
			diag.SigInvalid,
			"verifying: key %s did not sign this content as %s:%s",
			sp.Line.Key.Short(),
			sub.Kind,
			sub.ID,
		),
		sp.Line.Key,
	)
}

func byKey(e *diag.Error, fp Fingerprint) *diag.Error {
	return e.WithDetail("key", fp.String())
}

// mismatch returns HASH_MISMATCH, with a reason if only the line ends differ.
func (sp Split) mismatch(found [32]byte) error {
	e := diag.New(diag.HashMismatch, "verifying: the content is not what was signed").
		WithDetail("expected", hex.EncodeToString(sp.Line.Body[:])).
		WithDetail("found", hex.EncodeToString(found[:]))
	unix := func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	}
	if (Split{Head: unix(sp.Head), Tail: unix(sp.Tail)}).Digest() == sp.Line.Body {
		e.Message = "verifying: the file has CRLF line ends, LF was signed; nothing else differs"
		e = withCRLF(e)
	}
	return byKey(e, sp.Line.Key)
}
