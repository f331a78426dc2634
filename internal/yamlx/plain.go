package yamlx

import (
	"fmt"
	"strconv"
	"strings"
)

// problem is a finding about a plain scalar.
type problem struct {
	text   string
	refuse bool
}

// plain resolves an unquoted scalar. If YAML 1.1 and 1.2 give different values,
// the result is as in the Python version of rye, with a warning.
func plain(s string) (any, problem) {
	if s == "" {
		return nil, problem{}
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		return number(s)
	case len(s) <= 5:
		return word(s)
	}
	return s, problem{}
}

func word(s string) (any, problem) {
	switch s {
	case "~", "null", "Null", "NULL":
		return nil, problem{}
	case "true", "True", "TRUE":
		return true, problem{}
	case "false", "False", "FALSE":
		return false, problem{}
	case "yes", "Yes", "YES", "on", "On", "ON":
		return s, problem{text: s + " stays text here, but some parsers take it for true: write true, or quote it"}
	case "no", "No", "NO", "off", "Off", "OFF":
		return s, problem{text: s + " stays text here, but some parsers take it for false: write false, or quote it"}
	}
	return s, problem{}
}

// number resolves a scalar that begins like a number.
func number(s string) (any, problem) {
	body := strings.TrimLeft(s[:1], "+-") + s[1:]
	if body == ".inf" ||
		body == ".Inf" ||
		body == ".INF" ||
		s == ".nan" ||
		s == ".NaN" ||
		s == ".NAN" {
		return s, problem{s + " is not a finite number; quote it if it is text", true}
	}
	clean := strings.ReplaceAll(body, "_", "")
	sign := strings.TrimSuffix(s, body)
	if body == "" || body[0] == '_' {
		return s, problem{}
	}
	switch {
	case allOf(clean, '0', '9'):
		return decimal(s, sign, clean, clean != body)
	case len(clean) > 2 && clean[0] == '0' && strings.IndexByte("xob", clean[1]) >= 0:
		return based(s, sign, clean)
	case len(clean) > 2 && clean[0] == '0' && strings.IndexByte("XOB", clean[1]) >= 0:
		return s, problem{text: s + " stays text here, but some parsers take it for a number: quote it"}
	case isFloat(clean):
		return float(s, sign+clean, clean != body)
	case sexagesimal(clean), sexagesimalFloat(clean):
		return s, problem{text: s + " stays text here, but some parsers take it for a number: quote it"}
	}
	return s, problem{}
}

// decimal resolves digits only.
func decimal(s, sign, digits string, underscores bool) (any, problem) {
	if len(digits) > 1 && digits[0] == '0' {
		if !allOf(digits, '0', '7') {
			return s, problem{text: s + " stays text here, but some parsers take it for a number: quote it"}
		}
		return integer(s, sign+digits, 8, true)
	}
	return integer(s, sign+digits, 10, underscores)
}

// based resolves 0x, 0o and 0b; only 0x without underscores means the same to
// all parsers.
func based(s, sign, clean string) (any, problem) {
	base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[clean[1]]
	digits := clean[2:]
	if base == 16 && !allHex(digits) ||
		base == 8 && !allOf(digits, '0', '7') ||
		base == 2 && !allOf(digits, '0', '1') {
		return s, problem{}
	}
	return integer(s, sign+digits, base, s != clean || base != 16)
}

func integer(s, digits string, base int, differs bool) (any, problem) {
	n, err := strconv.ParseInt(digits, base, 64)
	switch {
	case err != nil:
		return s, problem{fmt.Sprintf("the integer %.40s does not fit 64 bits; quote it if it is text", s), true}
	case differs:
		return n, problem{text: fmt.Sprintf("%s is read as the number %d, but some parsers see another value: write %d, or quote it", s, n, n)}
	}
	return n, problem{}
}

func float(s, clean string, underscores bool) (any, problem) {
	f, err := strconv.ParseFloat(clean, 64)
	switch {
	case err != nil:
		return s, problem{fmt.Sprintf("the number %.40s is too large; quote it if it is text", s), true}
	case underscores || !strings.Contains(s, "."):
		return f, problem{text: fmt.Sprintf("%s is read as the number %g, but some parsers take it for text: write it with a point, or quote it", s, f)}
	case textInOld(s):
		return f, problem{text: fmt.Sprintf("%s is read as the number %g, but some parsers take it for text: write a digit before the point and a sign in the exponent, or quote it", s, f)}
	}
	return f, problem{}
}

// textInOld reports whether a number with a point is text in YAML 1.1: one with a sign
// directly before the point, or with an exponent without a sign.
func textInOld(s string) bool {
	_, exponent, has := strings.Cut(strings.ToLower(s), "e")
	return has && exponent[0] != '+' && exponent[0] != '-' ||
		len(s) > 1 && s[0] != '.' && s[1] == '.' && (s[0] < '0' || s[0] > '9')
}

// isFloat reports whether s is digits with a point or an exponent.
func isFloat(s string) bool {
	mantissa, exponent, has := strings.Cut(strings.ToLower(s), "e")
	if has {
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
		if !allOf(exponent, '0', '9') {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return (whole == "" || allOf(whole, '0', '9')) &&
		(fraction == "" || allOf(fraction, '0', '9')) &&
		whole+fraction != ""
}

// sexagesimal reports whether s is a number such as 12:30:45, which has base 60 in
// YAML 1.1.
func sexagesimal(s string) bool {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || s[0] == '0' {
		return false
	}
	for i, p := range parts {
		if !allOf(p, '0', '9') ||
			i > 0 && (len(p) > 2 || p[0] > '5' && len(p) == 2) {
			return false
		}
	}
	return true
}

// sexagesimalFloat reports whether s is a number such as 1:30.5, which has base 60 in
// YAML 1.1.
func sexagesimalFloat(s string) bool {
	whole, fraction, has := strings.Cut(s, ".")
	return has &&
		(fraction == "" || allOf(fraction, '0', '9')) &&
		strings.Contains(whole, ":") &&
		sexagesimal("1"+whole)
}

func allOf(s string, lo, hi byte) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < lo || s[i] > hi {
			return false
		}
	}
	return s != ""
}

func allHex(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		if !(s[i] >= '0' && s[i] <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return s != ""
}
