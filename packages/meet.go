package packages

// meet reports whether a text can match both patterns: * matches any text, ? one
// character. A set [...] counts as any text, so the answer errs towards true.
func meet(a, b string) bool {
	x := parsePattern(a)
	y := parsePattern(b)
	// now[j]: the part of x that was read, and the first j of y, can match one text.
	now := make([]bool, len(y)+1)
	now[0] = true
	for j := 0; j < len(y) && y[j] == star; j++ {
		now[j+1] = true
	}
	for _, p := range x {
		next := make([]bool, len(y)+1)
		next[0] = now[0] && p == star
		for j, q := range y {
			if p == star || q == star {
				next[j+1] = now[j+1] || next[j]
				continue
			}
			next[j+1] = now[j] && (p == q || p == anyOne || q == anyOne)
		}
		now = next
	}
	return now[len(y)]
}

// Wildcards, above the values of bytes.
const (
	star = iota + 256
	anyOne
)

func parsePattern(s string) []int {
	var out []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*':
			out = append(out, star)
		case '?':
			out = append(out, anyOne)
		case '[':
			out = append(out, star) // also a set without an end
			for i+1 < len(s) && s[i] != ']' {
				i++
			}
		default:
			out = append(out, int(s[i]))
		}
	}
	return out
}
