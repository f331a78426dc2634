package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// formats are the checked formats of texts; a format that is missing here is not
// checked.
func formats() map[string]func(string) bool {
	return map[string]func(string) bool{
		"date": func(s string) bool {
			return parses(time.DateOnly, s)
		},
		"time":      func(s string) bool { return isDateTime("2000-01-01T" + s) },
		"date-time": isDateTime,
		"duration":  isDuration,
		"email":     isEmail,
		"idn-email": isEmail,
		"hostname":  isHostname,
		"ipv4": func(s string) bool {
			a, err := netip.ParseAddr(s)
			return err == nil &&
				a.Is4()
		},
		"ipv6": func(s string) bool {
			a, err := netip.ParseAddr(s)
			return err == nil &&
				a.Is6() &&
				a.Zone() == ""
		},
		"uri": func(s string) bool {
			u, ok := reference(s)
			return ok &&
				u.IsAbs()
		},
		"iri": func(s string) bool {
			u, err := url.Parse(s)
			return err == nil &&
				u.IsAbs()
		},
		"uri-reference":         func(s string) bool { _, ok := reference(s); return ok },
		"iri-reference":         func(s string) bool { _, err := url.Parse(s); return err == nil },
		"uri-template":          isTemplate,
		"uuid":                  matcher(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`),
		"json-pointer":          matcher(`^(/([^~/]|~[01])*)*$`),
		"relative-json-pointer": matcher(`^(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)$`),
		"regex":                 func(s string) bool { _, err := regexp.Compile(s); return err == nil },
	}
}

// knownFormats builds the table at its first use.
var knownFormats = sync.OnceValue(formats)

// fitsFormat reports whether a value has a format. Formats are about texts only.
func fitsFormat(name string, v any) bool {
	s, isText := v.(string)
	check := knownFormats()[name]
	return !isText || check == nil || check(s)
}

func matcher(re string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(re)
	})
	return func(s string) bool { return compiled().MatchString(s) }
}

func parses(layout, s string) bool {
	_, err := time.Parse(layout, s)
	return err == nil
}

// isDateTime reports whether a text is a date and time of RFC 3339. Its grammar
// permits a lower-case t and z, and the second 60.
func isDateTime(s string) bool {
	if len(s) < 20 || strings.ContainsRune(s, ',') {
		return false
	}
	s = strings.ToUpper(s)
	zone := s[len(s)-6:]
	if strings.ContainsAny(zone[:1], "+-") &&
		(zone[1:3] > "23" || zone[4:] > "59") {
		return false
	}
	if s[17:19] == "60" {
		return leapSecond(s)
	}
	return parses(time.RFC3339, s)
}

// leapSecond reports whether a text with the second 60 is at the end of a day in UTC.
func leapSecond(s string) bool {
	t, err := time.Parse(time.RFC3339, s[:17]+"59"+s[19:])
	return err == nil && t.UTC().Format("15:04") == "23:59"
}

func isDuration(s string) bool {
	rest, ok := strings.CutPrefix(s, "P")
	if !ok || rest == "" || strings.HasSuffix(rest, "T") {
		return false
	}
	return durationShape()(rest)
}

var durationShape = sync.OnceValue(func() func(string) bool {
	return matcher(`^([0-9]+W|([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)?(T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S))?)$`)
})

func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return false
	}
	local := s[:at]
	domain := s[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		literal = strings.TrimPrefix(strings.TrimSuffix(literal, "]"), "IPv6:")
		if _, err := netip.ParseAddr(literal); err != nil {
			return false
		}
		domain = "example.com" // net/mail does not parse IPv6 addresses
	} else if !isHostname(domain) && isASCII(domain) {
		return false
	}
	a, err := mail.ParseAddress(local + "@" + domain)
	return err == nil &&
		a.Name == "" &&
		!strings.HasPrefix(s, "<") &&
		!strings.HasPrefix(s, " ")
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf
	})
}

func isHostname(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !hostLabel()(label) {
			return false
		}
	}
	return true
}

var hostLabel = sync.OnceValue(func() func(string) bool {
	return matcher(`^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$`)
})

// reference parses a URI or a relative reference, which is ASCII.
func reference(s string) (*url.URL, bool) {
	if strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' ||
			r >= 0x7f ||
			strings.ContainsRune("\"<>\\^`{|}", r)
	}) {
		return nil, false
	}
	u, err := url.Parse(s)
	return u, err == nil
}

func isTemplate(s string) bool {
	for s != "" {
		before, rest, open := strings.Cut(s, "{")
		if strings.ContainsRune(before, '}') {
			return false
		}
		if !open {
			return true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || name == "" || strings.ContainsAny(name, "{ ") {
			return false
		}
		s = after
	}
	return true
}
