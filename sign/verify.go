package sign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"

	"github.com/ryeos/rye/diag"
)

// Keys returns the public key of a fingerprint. It hands out only keys that
// passed CheckKey when they became known; Verify repeats the cheap half of
// that check.
type Keys func(Fingerprint) (ed25519.PublicKey, bool)

// OnlyKey returns Keys that know one key.
func OnlyKey(pub ed25519.PublicKey) Keys {
	fp := FingerprintOf(pub)
	return func(f Fingerprint) (ed25519.PublicKey, bool) { return pub, f == fp }
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
	return sp.Line, sp.verify(sub, keys)
}

// VerifyDetached checks a signature file, which holds one bare line over the
// whole of file, in the order of Verify. A file that looks signed itself is
// SIG_MULTIPLE. A nil sigfile is UNSIGNED.
func VerifyDetached(file, sigfile []byte, sub Subject, keys Keys) (Line, error) {
	if sigfile == nil {
		return Line{}, unsigned()
	}
	line := firstLine(sigfile)
	l, err := ParseLine(line, StyleBare)
	if err != nil {
		return Line{}, atLine(err, 1)
	}
	if rest := sigfile[len(line):]; lookAlike(firstLine(rest)) {
		return Line{}, multiple("reading the signature file: it holds a second line")
	} else if len(rest) > 0 {
		return Line{}, atLine(malformed("end", "the signature file goes on after it"), 2)
	}
	sp, err := SplitFile(file, StyleBare)
	if err != nil {
		return Line{}, err
	}
	sp.Line = l
	return l, sp.verify(sub, keys)
}

// VerifyBoth checks a file of either sort and is what a walk over files calls:
// sigfile holds the bytes of the signature file beside it, nil when there is
// none. A style that is not bare asks for the inline line, and a signature
// file beside a signed file is SIG_MULTIPLE; alone it does not count.
func VerifyBoth(file, sigfile []byte, s Style, sub Subject, keys Keys) (Line, error) {
	if s.Detached() {
		return VerifyDetached(file, sigfile, sub, keys)
	}
	if sigfile == nil {
		return Verify(file, s, sub, keys)
	}
	sp, err := SplitFile(file, s)
	if err == nil && !sp.Signed {
		return Line{}, unsigned().WithHint("this kind of file carries its signature inside: remove the .rye-sig file, then rye sign PATH")
	}
	return Line{}, multiple("verifying: the file carries a signature and has a .rye-sig file beside it")
}

func unsigned() *diag.Error {
	return diag.New(diag.Unsigned, "reading the signature line: there is none")
}

// verify is the part that inline and detached signatures share.
func (sp Split) verify(sub Subject, keys Keys) error {
	if err := sub.Check(); err != nil {
		return err
	}
	sum := sp.Digest()
	if sum != sp.Line.Body {
		return sp.mismatch(sum)
	}
	pub, ok := keys(sp.Line.Key)
	if !ok {
		return byKey(diag.New(diag.KeyUnknown, "verifying: key %s is not known here", sp.Line.Key.Short()), sp.Line.Key)
	}
	if err := selfCheck(pub, sp.Line.Key); err != nil {
		return byKey(err, sp.Line.Key)
	}
	msg := Statement(sub, sp.Line.Time, sp.Line.Key, sp.Size(), sum)
	// A small-order R is never the work of a correct signer; refusing it
	// costs nothing and closes the last choice the equation leaves open.
	if smallOrder(sp.Line.Sig[:32]) || !ed25519.Verify(pub, msg, sp.Line.Sig[:]) {
		return byKey(diag.New(diag.SigInvalid, "verifying: key %s did not sign this content as %s:%s", sp.Line.Key.Short(), sub.Kind, sub.ID), sp.Line.Key)
	}
	return nil
}

func byKey(e *diag.Error, fp Fingerprint) *diag.Error { return e.WithDetail("key", fp.String()) }

// mismatch tells changed content from changed line ends.
func (sp Split) mismatch(found [32]byte) error {
	e := diag.New(diag.HashMismatch, "verifying: the content is not what was signed").
		WithDetail("expected", hex.EncodeToString(sp.Line.Body[:])).
		WithDetail("found", hex.EncodeToString(found[:]))
	unix := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
	if (Split{Head: unix(sp.Head), Tail: unix(sp.Tail)}).Digest() == sp.Line.Body {
		e.Message = "verifying: the file has CRLF line ends, LF was signed; nothing else differs"
		e = withCRLFHint(e)
	}
	return byKey(e, sp.Line.Key)
}
