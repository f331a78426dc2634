package sign

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// Signer makes Ed25519 signatures with one key, wherever that key lives.
// String says where, for people. What it returns is never believed: Sign
// verifies every signature before it hands it on.
type Signer interface {
	Public() ed25519.PublicKey
	Sign(ctx context.Context, msg []byte) ([]byte, error)
	String() string
}

// Sign returns the file with one signature line by signer, and whether that
// differs from what came in. A line that already verifies for this body,
// subject and key stays as it is. A line of another key, and a damaged or
// earlier line that holds nothing but a signature, is replaced; any other line
// that looks like a signature is refused with SIG_MALFORMED, and one directly
// after the place of the line with SIG_MULTIPLE.
func Sign(ctx context.Context, file []byte, s Style, sub Subject, signer Signer, now time.Time) (out []byte, changed bool, err error) {
	if s.Detached() {
		return nil, false, diag.New(diag.Internal, "signing: the bare style needs a detached signature")
	}
	if err := CheckText(file); err != nil {
		return nil, false, err
	}
	sp, err := splitToSign(file, s)
	if err != nil {
		return nil, false, err
	}
	if len(sp.Head) > 0 && sp.Head[len(sp.Head)-1] != '\n' {
		return nil, false, diag.New(diag.ValidationFailed, "signing: the #! line has no line feed").
			WithHint("end the first line with a line feed; the signature follows on the second")
	}
	pub := signer.Public()
	if sp.Signed && sp.verify(sub, OnlyKey(pub)) == nil {
		return file, false, CheckKey(pub)
	}
	line, err := sp.sign(ctx, sub, signer, now)
	if err != nil {
		return nil, false, err
	}
	out = slices.Concat(sp.Head, []byte(line.Render(s)), sp.Tail)
	if _, err := Verify(out, s, sub, OnlyKey(pub)); err != nil {
		return nil, false, selfVerify(signer, err)
	}
	return out, true, nil
}

// SignDetached returns the content of the signature file for file. existing is
// the present one, nil when there is none; it stays when it already verifies.
func SignDetached(ctx context.Context, file, existing []byte, sub Subject, signer Signer, now time.Time) (sigfile []byte, changed bool, err error) {
	sp, err := SplitFile(file, StyleBare)
	if err != nil {
		return nil, false, err
	}
	pub := signer.Public()
	if _, err := VerifyDetached(file, existing, sub, OnlyKey(pub)); err == nil {
		return existing, false, CheckKey(pub)
	}
	line, err := sp.sign(ctx, sub, signer, now)
	if err != nil {
		return nil, false, err
	}
	out := []byte(line.Render(StyleBare))
	if _, err := VerifyDetached(file, out, sub, OnlyKey(pub)); err != nil {
		return nil, false, selfVerify(signer, err)
	}
	return out, true, nil
}

func selfVerify(signer Signer, err error) error {
	return diag.New(diag.SigInvalid, "signing: %s returned a signature that does not verify: %w", signer, err).
		WithHint("nothing was written; check the signer")
}

// sign makes the line for the body.
func (sp Split) sign(ctx context.Context, sub Subject, signer Signer, now time.Time) (Line, error) {
	if err := sub.Check(); err != nil {
		return Line{}, err
	}
	pub := signer.Public()
	if err := CheckKey(pub); err != nil {
		return Line{}, err
	}
	l := Line{Time: now.UTC().Truncate(time.Second), Body: sp.Digest(), Key: FingerprintOf(pub)}
	if y := l.Time.Year(); y < 0 || y > 9999 {
		return Line{}, diag.New(diag.Usage, "signing: the year %d cannot be written", y)
	}
	sig, err := signer.Sign(ctx, Statement(sub, l.Time, l.Key, sp.Size(), l.Body))
	if err != nil {
		return Line{}, err
	}
	if len(sig) != ed25519.SignatureSize {
		return Line{}, diag.New(diag.SigInvalid, "signing: %s returned %d bytes, want %d", signer, len(sig), ed25519.SignatureSize).
			WithHint("nothing was written; check the signer")
	}
	copy(l.Sig[:], sig)
	return l, nil
}

// splitToSign is SplitFile that also lets go of a line that is to be replaced.
func splitToSign(file []byte, s Style) (Split, error) {
	sp, err := SplitFile(file, s)
	if code := diag.CodeOf(err); code != diag.SigMalformed && code != diag.Legacy {
		return sp, err
	}
	sp, line := place(file)
	if !replaceable(line, s) {
		return Split{}, err
	}
	rest := sp.Tail
	if sp.LineNo == 2 {
		line = firstLine(rest)
	} else {
		sp, line = place(rest)
		sp.Tail = rest[len(sp.Head):]
	}
	if lookAlike(line) {
		return Split{}, multiple("signing: another line that looks like a signature follows the first")
	}
	return sp, nil
}

// replaceable reports whether a refused line may be dropped by signing anew:
// it is a complete line of the earlier format, or begins and ends as the style
// demands and holds only characters of which signature lines are made. No
// content can be lost with it, whatever its language.
func replaceable(line []byte, s Style) bool {
	text := bytes.TrimRight(line, " \t\r\n")
	if old, ok := ParseLegacy(text); ok {
		return old.Complete
	}
	rest, ok := bytes.CutPrefix(text, []byte(s.Open+mark))
	if !ok {
		return false
	}
	if rest, ok = bytes.CutSuffix(rest, []byte(s.Close)); !ok {
		return false
	}
	return onlySigLineBytes(rest)
}

func sigLineByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == ':' || c == '+' || c == '/' || c == '=' || c == '_' || c == '-'
}

// CheckText returns ENCODING unless b is UTF-8 without a byte order mark and
// without NUL. It is step 3 of the verification order.
func CheckText(b []byte) error {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")), bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return diag.New(diag.Encoding, "reading text: it begins with a byte order mark")
	case bytes.IndexByte(b, 0) >= 0:
		return diag.New(diag.Encoding, "reading text: it holds a NUL byte")
	case !utf8.Valid(b):
		return diag.New(diag.Encoding, "reading text: it is not UTF-8")
	}
	return nil
}
