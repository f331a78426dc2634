package diag

import (
	"regexp"
	"strings"
	"sync"
)

// Patterns of credentials in addresses. A slash may be missing: an address that was
// cleaned as a path has one.
var (
	inURL = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("([A-Za-z][A-Za-z0-9+.-]*):(/{1,2})([^/\\s\"'`<>]+)@")
	})
	inQuoted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("([\"'`])([^\\s\"'`/@:]+)@([^\\s\"'`/@]+/)")
	})
)

// hiddenPart replaces credentials.
const hiddenPart = "***"

// Redact replaces the credentials of all addresses in a text: what precedes @ in
// https://TOKEN@host. The user of ssh without a password is not a secret and is kept.
// Messages, findings and details of errors are redacted when they are made.
func Redact(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	text = inURL().ReplaceAllStringFunc(text, func(s string) string {
		m := inURL().FindStringSubmatch(s)
		if strings.HasSuffix(strings.ToLower(m[1]), "ssh") && !strings.Contains(m[3], ":") {
			return s
		}
		return m[1] + ":" + m[2] + hiddenPart + "@"
	})
	return inQuoted().ReplaceAllStringFunc(text, func(s string) string {
		m := inQuoted().FindStringSubmatch(s)
		if m[2] == "git" {
			return s
		}
		return m[1] + hiddenPart + "@" + m[3]
	})
}

// redacted returns a detail or fact without credentials.
func redacted(value any) any {
	switch v := value.(type) {
	case string:
		return Redact(v)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = Redact(s)
		}
		return out
	}
	return value
}
