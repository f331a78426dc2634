package sign

import (
	"bytes"

	"github.com/ryeos/rye/diag"
)

// Legacy is a signature line of the earlier format: 16 digits of a
// fingerprint, and a padded URL-alphabet signature over only the hash. It is
// recognised so that a refusal can name it. It is never trusted.
type Legacy struct {
	Key      string // 16 hexadecimal digits, or "" when the line has another shape
	Hash     string // 64 hexadecimal digits, or ""
	Complete bool   // the whole line is a well-formed earlier signature and nothing else
}

func (g Legacy) refusal() *diag.Error {
	e := diag.New(diag.Legacy, "reading the signature line: it has the earlier format")
	if g.Key != "" {
		e = e.WithDetail("key", g.Key)
	}
	return e
}

// ParseLegacy reports whether the line, with or without its line feed, is a
// signature of the earlier format in one of its comment styles. The marks that
// were used before there were signatures are included, without a key.
func ParseLegacy(line []byte) (Legacy, bool) {
	text := bytes.TrimSuffix(line, []byte("\n"))
	rest, closer, ok := cutLegacyStyle(text)
	if !ok {
		return Legacy{}, false
	}
	for _, m := range [...]string{"kiwi-mcp:signed:", "kiwi-mcp:validated:", "rye:validated:"} {
		rest, ok := bytes.CutPrefix(rest, []byte(m))
		if ok {
			rest, closed := bytes.CutSuffix(rest, []byte(closer))
			return Legacy{Complete: closed && onlySigLineBytes(rest)}, true
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(mark)); !ok {
		return Legacy{}, false
	}
	return parseLegacyFields(rest, closer)
}

// cutLegacyStyle removes the opening of a comment and returns its closing mark.
// Later versions of the original wrote "//" in JavaScript.
func cutLegacyStyle(text []byte) (rest []byte, closer string, ok bool) {
	for _, s := range [...]Style{{"#", "# ", ""}, {"<!--", "<!-- ", " -->"}, {"//", "// ", ""}} {
		if rest, ok = bytes.CutPrefix(text, []byte(s.Open)); ok {
			return rest, s.Close, true
		}
	}
	return nil, "", false
}

// WithoutForeignLegacy returns file for a parser of its language. If line 1, or 2
// after a "#!" line, has the earlier format in a comment of another language than
// s, as the original wrote into JavaScript and YAML, spaces replace the line.
// Otherwise it returns file itself. All positions stay the same.
func WithoutForeignLegacy(file []byte, s Style) []byte {
	sp, line := candidate(file)
	text := bytes.TrimRight(line, "\r\n")
	_, old := ParseLegacy(text)
	if !old ||
		bytes.HasPrefix(text, []byte(s.Open)) ||
		bytes.IndexByte(text, '\r') >= 0 {
		return file
	}
	out := bytes.Clone(file)
	for i := range text {
		out[len(sp.Head)+i] = ' '
	}
	return out
}

// parseLegacyFields recognises time:hash:88 characters ending in "==":16
// digits. The padding distinguishes it from a damaged line of the current format.
func parseLegacyFields(rest []byte, closer string) (Legacy, bool) {
	const oldSig, oldKey = 88, 16
	const size = timeLen + 1 + hashLen + 1 + oldSig + 1 + oldKey
	if len(rest) < size {
		return Legacy{}, false
	}
	hash := rest[timeLen+1:][:hashLen]
	sig := rest[timeLen+hashLen+2:][:oldSig]
	key := rest[size-oldKey:][:oldKey]
	if rest[timeLen] != ':' || rest[timeLen+1+hashLen] != ':' || rest[size-oldKey-1] != ':' ||
		!allHex(hash) || !allHex(key) || !bytes.HasSuffix(sig, []byte("==")) || bytes.ContainsAny(sig[:oldSig-2], "=:+/ ") {
		return Legacy{}, false
	}
	tail := rest[size:]
	if len(tail) > 0 && hexDigit(tail[0]) <= 15 {
		return Legacy{}, false
	}
	return Legacy{Key: string(key), Hash: string(hash), Complete: legacyEnd(tail, closer)}, true
}

// legacyEnd reports whether tail is the closing mark, after an optional
// |provider@user.
func legacyEnd(tail []byte, closer string) bool {
	tail, ok := bytes.CutSuffix(tail, []byte(closer))
	if !ok {
		return false
	}
	if len(tail) == 0 {
		return true
	}
	provider, user, ok := bytes.Cut(tail[1:], []byte("@"))
	return tail[0] == '|' && ok && oldName(provider) && oldName(user)
}

func oldName(b []byte) bool {
	for _, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return len(b) > 0
}

func onlySigLineBytes(b []byte) bool {
	for _, c := range b {
		if !sigLineByte(c) {
			return false
		}
	}
	return true
}

func allHex(b []byte) bool {
	for _, c := range b {
		if hexDigit(c) > 15 {
			return false
		}
	}
	return true
}
