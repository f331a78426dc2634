package packages

// meet reports whether any text fits both patterns, in which * is any text, ? one
// character and [...] is taken for any one: when in doubt they meet.
func meet(a, b string) bool {
	x, y := wild(a), wild(b)
	// now[j]: what was read of x and the first j of y can be the same text.
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

// What is special in a pattern, beyond every byte.
const (
	star = iota + 256
	anyOne
)

func wild(s string) []int {
	var out []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*':
			out = append(out, star)
		case '?':
			out = append(out, anyOne)
		case '[':
			out = append(out, star) // a set that may not even end
			for i+1 < len(s) && s[i] != ']' {
				i++
			}
		default:
			out = append(out, int(s[i]))
		}
	}
	return out
}
