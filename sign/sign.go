package sign

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// Signer makes Ed25519 signatures with one key. String returns where the key is,
// for people. Sign and SignDetached verify every signature before they return it,
// so that a faulty signer cannot produce an invalid file.
type Signer interface {
	Public() ed25519.PublicKey
	Sign(ctx context.Context, msg []byte) ([]byte, error)
	String() string
}

// Sign returns the file with one signature line by signer, and whether it differs
// from the given file. A line that already verifies for this body, subject and
// key is kept. A line of another key is replaced, and so is a malformed or earlier
// line that is one comment. Any other line that looks like a signature is
// SIG_MALFORMED, and one directly after the signature line is SIG_MULTIPLE.
func Sign(
	ctx context.Context,
	file []byte,
	s Style,
	sub Subject,
	signer Signer,
	now time.Time,
) (out []byte, changed bool, err error) {
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
		return nil, false, diag.New(diag.ValidationFailed, "signing: the #! line has no line feed, and the signature belongs on the line after it")
	}
	pub := signer.Public()
	if sp.Signed && sp.verify(sub, OnlyKey(pub), nil) == nil {
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
// the current one, nil if there is none. It is kept if it already verifies.
func SignDetached(
	ctx context.Context,
	file, existing []byte,
	sub Subject,
	signer Signer,
	now time.Time,
) (sigfile []byte, changed bool, err error) {
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
	return diag.New(diag.SigInvalid, "signing: %s returned a signature that does not verify: %w", signer, err)
}

// sign makes the line for the body.
func (sp Split) sign(
	ctx context.Context,
	sub Subject,
	signer Signer,
	now time.Time,
) (Line, error) {
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
	sig, err := signer.Sign(ctx, Statement(
		sub,
		l.Time,
		l.Key,
		sp.Size(),
		l.Body,
	))
	if err != nil {
		return Line{}, err
	}
	if len(sig) != ed25519.SignatureSize {
		return Line{}, diag.New(diag.SigInvalid, "signing: %s returned %d bytes, want %d", signer, len(sig), ed25519.SignatureSize)
	}
	copy(l.Sig[:], sig)
	return l, nil
}

// splitToSign is SplitFile, but it removes a refused line that Sign may replace.
func splitToSign(file []byte, s Style) (Split, error) {
	sp, err := SplitFile(file, s)
	code := diag.CodeOf(err)
	if code != diag.SigMalformed && code != diag.Legacy {
		return sp, err
	}
	sp, line := candidate(file)
	if !replaceable(line, s) {
		return Split{}, atLine(malformed("line", "it has code before or after the comment").WithReason("line_with_code"), sp.LineNo)
	}
	rest := sp.Tail
	if sp.LineNo == 2 {
		line = firstLine(rest)
	} else {
		sp, line = candidate(rest)
		sp.Tail = rest[len(sp.Head):]
	}
	if lookAlike(line) {
		return Split{}, multiple("signing: another line that looks like a signature follows the first")
	}
	return sp, nil
}

// replaceable reports whether Sign may replace a refused line: the whole line is one
// comment, of the style or of the earlier format. A line with code is not replaced,
// because the code would be lost.
func replaceable(line []byte, s Style) bool {
	text := bytes.TrimSpace(line)
	// Other characters may end a line for the language, or continue it.
	if bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) ||
		bytes.HasSuffix(text, []byte("\\")) {
		return false
	}
	for _, c := range [...]Style{s, {"#", "# ", ""}, {"//", "// ", ""}, {"<!--", "<!-- ", " -->"}} {
		rest, ok := bytes.CutPrefix(text, []byte(strings.TrimSpace(c.Open)))
		if !ok || c.Open == "" {
			continue
		}
		closer := []byte(strings.TrimSpace(c.Close))
		if len(closer) == 0 ||
			bytes.Index(rest, closer) == len(rest)-len(closer) && len(rest) >= len(closer) {
			return true
		}
	}
	return false
}

// Replaceable reports whether Sign replaces the malformed signature line of a file.
func Replaceable(file []byte, s Style) bool {
	_, line := candidate(file)
	return replaceable(line, s)
}

// Malformed returns the line that Sign replaces in a file although it has other text
// than a signature, with its number; nil if there is none.
func Malformed(file []byte, s Style) (line []byte, number int) {
	_, err := SplitFile(file, s)
	code := diag.CodeOf(err)
	if code != diag.SigMalformed && code != diag.Legacy {
		return nil, 0
	}
	sp, line := candidate(file)
	text := bytes.TrimRight(line, " \t\r\n")
	if old, ok := ParseLegacy(text); ok && old.Complete {
		return nil, 0
	}
	rest, ok := bytes.CutPrefix(text, []byte(s.Open+mark))
	if ok {
		if rest, ok = bytes.CutSuffix(rest, []byte(s.Close)); ok && onlySigLineBytes(rest) {
			return nil, 0
		}
	}
	return text, sp.LineNo
}

// WithPlainLine returns the file for a reader of its metadata. If Sign would replace a
// malformed line, a line that every reader skips is in its position; otherwise the
// result is file itself. The numbers of the lines stay the same.
func WithPlainLine(file []byte, s Style) []byte {
	_, err := SplitFile(file, s)
	code := diag.CodeOf(err)
	if code != diag.SigMalformed && code != diag.Legacy || s.Detached() {
		return file
	}
	if !Replaceable(file, s) {
		return file
	}
	sp, _ := candidate(file)
	return slices.Concat(
		sp.Head,
		[]byte(s.Open+mark+s.Close+"\n"),
		sp.Tail,
	)
}

func sigLineByte(c byte) bool {
	return c >= '0' && c <= '9' ||
		c >= 'A' && c <= 'Z' ||
		c >= 'a' && c <= 'z' ||
		c == ':' ||
		c == '+' ||
		c == '/' ||
		c == '=' ||
		c == '_' ||
		c == '-'
}

// CheckText returns ENCODING unless b is UTF-8 without a byte order mark and
// without NUL. It is step 3 of the verification order.
func CheckText(b []byte) error {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")),
		bytes.HasPrefix(b, []byte("\xff\xfe")),
		bytes.HasPrefix(b, []byte("\xfe\xff")):
		return diag.New(diag.Encoding, "reading text: it begins with a byte order mark")
	case bytes.IndexByte(b, 0) >= 0:
		return diag.New(diag.Encoding, "reading text: it contains a NUL byte")
	case !utf8.Valid(b):
		return diag.New(diag.Encoding, "reading text: it is not UTF-8")
	}
	return nil
}
