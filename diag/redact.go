package diag

import (
	"regexp"
	"strings"
	"sync"
)

// Patterns of addresses in texts. A slash may be missing: an address that was cleaned
// as a path has one, and a mistyped one has none or three.
var (
	scheme = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:([a-z][a-z0-9+.-]+):[/\\]+|(https?|ssh|git|ftp):)`)
	})
	inQuoted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("([\"'`])([^\\s\"'`/@:]+)@([^\\s\"'`/@]+/)")
	})
	query = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("\\?[A-Za-z0-9_.~%-]+=[^\\s\"`<>]*")
	})
	version = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^v[0-9]+(\.[0-9]+)*([-+][0-9A-Za-z.+-]*)?([:,;)/]|$)`)
	})
)

// hiddenPart replaces credentials.
const hiddenPart = "***"

// Redact replaces the credentials of all addresses in a text: what precedes @ in
// https://TOKEN@host, also if it has a slash, and what follows ? in an address. The
// user of ssh without a password is not a secret and is kept. Messages, findings and
// details of errors are redacted when they are made.
func Redact(text string) string {
	if !strings.ContainsAny(text, "@?") {
		return text
	}
	var out strings.Builder
	for {
		at := scheme().FindStringIndex(text)
		if at == nil {
			break
		}
		end := at[1] + addressEnd(text[:at[0]], text[at[1]:])
		out.WriteString(text[:at[1]])
		out.WriteString(redactAddress(
			text[at[0]:at[1]],
			text[at[1]:end],
		))
		text = text[end:]
	}
	out.WriteString(text)
	text = inQuoted().ReplaceAllStringFunc(out.String(), func(s string) string {
		m := inQuoted().FindStringSubmatch(s)
		if m[2] == "git" {
			return s
		}
		return m[1] + hiddenPart + "@" + m[3]
	})
	return query().ReplaceAllStringFunc(text, func(s string) string {
		return "?" + hiddenPart + punctuation(s)
	})
}

// addressEnd returns where an address ends: at the quote that precedes it, else at a
// space or a quote.
func addressEnd(before, text string) int {
	ends := " \t\r\n\"'`<>"
	n := len(before)
	if n > 0 &&
		strings.IndexByte("\"'`", before[n-1]) >= 0 &&
		strings.IndexByte(text, before[n-1]) >= 0 {
		ends = before[n-1:]
	}
	for i := range len(text) {
		if strings.IndexByte(ends, text[i]) >= 0 &&
			(i == 0 || text[i-1] != '\\') {
			return i
		}
	}
	return len(text)
}

// redactAddress redacts what follows the scheme and the slashes of an address.
func redactAddress(head, s string) string {
	name, slashes, _ := strings.Cut(strings.ToLower(head), ":")
	path := s
	if i := strings.IndexByte(s, '?'); i >= 0 {
		path = s[:i]
	}
	authority, _, _ := strings.Cut(path, "/")
	_, port, colon := strings.Cut(authority, ":")
	password := colon && strings.Trim(port, "0123456789") != "" && !strings.HasPrefix(authority, "[")
	at := strings.LastIndexByte(path, '@')
	if at < 0 {
		if last := strings.LastIndexByte(s, '@'); last >= 0 && password { // a password with ? in it
			return hiddenPart + "@" + redactAddress(head, s[last+1:])
		}
		if len(path) < len(s) {
			return path + "?" + hiddenPart + punctuation(s)
		}
		return s
	}
	user := s[:at]
	host := s[at+1:]
	switch {
	case version().MatchString(host):
		return redactAddress(head, user) + "@" + host
	case name == "file" && len(slashes) > 2: // a path
		return user + "@" + redactAddress("https://", host)
	case !strings.Contains(user, "/"):
		if strings.HasSuffix(name, "ssh") && !strings.Contains(user, ":") {
			return user + "@" + redactAddress(head, host)
		}
	case !password && len(slashes) < 3 && (strings.HasSuffix(user, "/") || !strings.ContainsAny(host, "./:")):
		return user + "@" + redactAddress(head, host) // https://host/@name, https://host/path@branch
	}
	return hiddenPart + "@" + redactAddress(head, host)
}

// punctuation returns the characters at the end of a query that belong to the
// sentence around it.
func punctuation(s string) string {
	return s[len(strings.TrimRight(s, ":,.;)'")):]
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
