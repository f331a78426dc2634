package policy

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
)

// Tier is a risk class: how far the effects of a call may reach. It selects a sandbox
// and decides whether a person is asked. It permits nothing that a capability or the
// sandbox refuses.
type Tier int

// The tiers, from the lowest risk to the highest. The zero value is T0.
const (
	T0 Tier = iota // safe: reads the project
	T1             // low: reads elsewhere
	T2             // write: changes files of the project
	T3             // elevated: starts any program
	T4             // critical: runs without a sandbox
)

// tierNames returns the second spelling of each tier, in order.
func tierNames() []string {
	return []string{"safe", "low", "write", "elevated", "critical"}
}

// ParseTier reads T0 to T4, or the name of a tier. The detail "nearest" of the error
// is the tier that was probably meant.
func ParseTier(s string) (Tier, error) {
	var known []string
	for t := T0; t <= T4; t++ {
		if s == t.String() || s == t.Name() {
			return t, nil
		}
		known = append(known, t.String(), t.Name())
	}
	err := diag.New(diag.ValidationFailed, "%q is not a risk class: use T0 to T4, or %s", s, strings.Join(tierNames(), ", "))
	near := suggest.Nearest(s, known)
	if near == "" {
		near = tierByNumber(s)
	}
	if near != "" {
		err.WithReason("nearest").WithDetail("nearest", near)
	}
	return T3, err
}

// tierByNumber returns the tier that is nearest to a number, with or without a T, ""
// for other texts.
func tierByNumber(s string) string {
	digit := strings.TrimLeft(s, "Tt")
	if len(digit) != 1 || digit[0] < '0' || digit[0] > '9' {
		return ""
	}
	return min(Tier(digit[0]-'0'), T4).String()
}

// String returns T0 to T4.
func (t Tier) String() string {
	return fmt.Sprintf("T%d", int(t))
}

// Name returns the word for the tier.
func (t Tier) Name() string {
	if t < T0 || t > T4 {
		return ""
	}
	return tierNames()[t]
}

// MarshalText renders as String does.
func (t Tier) MarshalText() ([]byte, error) {
	return []byte(t.String()), nil
}

// UnmarshalText parses as ParseTier does.
func (t *Tier) UnmarshalText(b []byte) (err error) {
	*t, err = ParseTier(string(b))
	return err
}
