package glob

// Overlaps reports whether some text may match both patterns. It knows no
// segments and treats a set as any text, so it can be true for patterns without
// a common text, and is never false for patterns that have one.
func Overlaps(a, b string) bool {
	x := elements(a)
	y := elements(b)
	// reach[j] is whether some text matches the elements of x so far and the
	// first j elements of y.
	reach := make([]bool, len(y)+1)
	reach[0] = true
	for j := 0; j < len(y) && y[j] == anyText; j++ {
		reach[j+1] = true
	}
	for _, p := range x {
		next := make([]bool, len(y)+1)
		next[0] = reach[0] && p == anyText
		for j, q := range y {
			if p == anyText || q == anyText {
				next[j+1] = reach[j+1] || next[j]
				continue
			}
			next[j+1] = reach[j] && (p == q || p == anyChar || q == anyChar)
		}
		reach = next
	}
	return reach[len(y)]
}

// The special elements of a pattern; the others are characters.
const (
	anyText = -1 - iota
	anyChar
)

func elements(s string) []rune {
	var out []rune
	inSet := false
	for _, r := range s {
		switch {
		case inSet:
			inSet = r != ']'
		case r == '*':
			out = append(out, anyText)
		case r == '?':
			out = append(out, anyChar)
		case r == '[':
			out = append(out, anyText) // any text and not one character: the set may not be closed
			inSet = true
		default:
			out = append(out, r)
		}
	}
	return out
}
