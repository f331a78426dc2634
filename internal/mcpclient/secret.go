package mcpclient

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// secretName matches the names of parameters whose values are credentials.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[_.-])(api)?(key|token|secret|password|passwd|pwd|auth|authorization|credentials?|signature|sig|session|jwt|pat|bearer|code)$`)
})

// words returns a name with underscores between its words.
func words(name string) string {
	return regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "${1}_$2")
}

// secretParts returns the parts of an address that look like credentials: values of
// parameters by their name, and long mixtures of letters and digits. They must not be in
// an item, because items are shared. A variable in their position is not one of them.
func secretParts(address string) []string {
	u, err := url.Parse(address)
	if address == "" || err != nil {
		return nil
	}
	var out []string
	for _, segment := range strings.Split(u.Path, "/") {
		if random(segment) {
			out = append(out, "path")
			break
		}
	}
	query := u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if len(variables(value, true)) == 0 &&
				value != "" &&
				(secretName().MatchString(words(name)) || random(value)) {
				out = append(out, "parameter "+quoted(name))
				break
			}
		}
	}
	return out
}

// random reports whether a word looks like a generated credential: at least 24
// characters of capitals, small letters and digits. Names and UUIDs are not.
func random(word string) bool {
	var capital, small, digit bool
	for _, c := range word {
		switch {
		case c >= 'A' && c <= 'Z':
			capital = true
		case c >= 'a' && c <= 'z':
			small = true
		case c >= '0' && c <= '9':
			digit = true
		case !strings.ContainsRune("-_=+.~", c):
			return false
		}
	}
	return len(word) >= 24 && capital && small && digit
}
