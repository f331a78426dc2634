package glob

import (
	"fmt"
	"strings"
)

// The limits of a pattern that CheckDotted accepts, and of a list of such patterns.
const (
	MaxDotted   = 512 // bytes
	MaxSegments = 32
	MaxPatterns = 1024
)

// CheckDotted returns an error if a text is not a pattern of segments joined by dots.
// A segment has letters, digits, "_", "-", "*", "?", and sets such as [ab], [a-z] or
// [!a-z]. A set is not empty and has no range from a higher to a lower character.
func CheckDotted(pattern string) error {
	if len(pattern) > MaxDotted {
		return fmt.Errorf("it has %d bytes, more than %d", len(pattern), MaxDotted)
	}
	segments := strings.Split(pattern, ".")
	if len(segments) > MaxSegments {
		return fmt.Errorf("it has %d segments, more than %d", len(segments), MaxSegments)
	}
	for _, s := range segments {
		if s == "" {
			return fmt.Errorf("it has an empty segment")
		}
		if err := dottedSegment(s); err != nil {
			return err
		}
	}
	return nil
}

func dottedSegment(s string) error {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[':
			set, _, closed := strings.Cut(s[i+1:], "]")
			if !closed {
				return fmt.Errorf("segment %q has an unclosed bracket", s)
			}
			if !setOK(strings.TrimPrefix(set, "!")) {
				return fmt.Errorf("segment %q has the set [%s]: a set has characters of ids and ranges such as a-z, and is not empty", s, set)
			}
			i += len(set) + 1
		case !idChar(c) && c != '*' && c != '?':
			return fmt.Errorf("segment %q has %q, which neither ids nor patterns have", s, s[i:i+1])
		}
	}
	return nil
}

// setOK reports whether a set has characters of ids, and ranges that are not empty.
func setOK(set string) bool {
	for i := 0; i < len(set); i++ {
		if !idChar(set[i]) {
			return false
		}
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] > set[i+2] || !idChar(set[i+2]) {
				return false
			}
			i += 2
		}
	}
	return set != ""
}

// idChar reports whether ids have the character.
func idChar(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' ||
		c >= '0' && c <= '9' ||
		c == '_' ||
		c == '-'
}
