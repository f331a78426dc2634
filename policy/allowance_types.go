package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/item"
)

// USD is an amount of money in billionths of a US dollar.
type USD int64

const dollar USD = 1_000_000_000

// ParseUSD reads a decimal number such as 5.00, with at most 9 decimals.
func ParseUSD(s string) (USD, error) {
	bad := fmt.Errorf("%q is not an amount of US dollars, such as \"5.00\"", s)
	whole, part, point := strings.Cut(s, ".")
	if !isDigits(whole) ||
		len(whole) > 9 ||
		point && !isDigits(part) ||
		len(part) > 9 {
		return 0, bad
	}
	n, err := strconv.ParseInt(whole+(part + "000000000")[:9], 10, 64)
	if err != nil {
		return 0, bad
	}
	return USD(n), nil
}

// MaxUSD is the largest amount that ParseUSD reads.
const MaxUSD USD = 1_000_000_000*dollar - 1

// Plus returns the sum of two amounts, at most MaxUSD: a log cannot keep a larger one.
func (u USD) Plus(v USD) USD {
	if u > MaxUSD-v {
		return MaxUSD
	}
	return u + v
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String renders the amount with at least two decimals.
func (u USD) String() string {
	part := strings.TrimRight(fmt.Sprintf("%09d", u%dollar), "0")
	return fmt.Sprintf("%d.%s", u/dollar, part+"00"[min(2, len(part)):])
}

// MarshalText renders as String does.
func (u USD) MarshalText() ([]byte, error) {
	return []byte(u.String()), nil
}

// UnmarshalText reads what ParseUSD reads, and an amount beyond it that MarshalText wrote: see Kept.
func (u *USD) UnmarshalText(b []byte) (err error) {
	if *u, err = ParseUSD(string(b)); err == nil {
		return nil
	}
	whole, part, _ := strings.Cut(string(b), ".")
	n, nerr := strconv.ParseInt(whole+(part + "000000000")[:9], 10, 64)
	if nerr == nil && n >= 0 && USD(n).String() == string(b) {
		*u = USD(n)
		return nil
	}
	return err
}

// Kept reports whether ParseUSD reads the amount. Logs of earlier versions have others, from counts that no service means.
func (u USD) Kept() bool {
	return u >= 0 && u < 1_000_000_000*dollar
}

// Patterns permits a text if each of its lists has a pattern that matches. Lists are
// not merged, because two patterns that overlap can lack a common pattern. No list
// permits everything.
type Patterns [][]string

// Match reports whether each list has a pattern that matches.
func (p Patterns) Match(match func(pattern string) bool) bool {
	for _, list := range p {
		if !slices.ContainsFunc(list, match) {
			return false
		}
	}
	return true
}

// MarshalJSON renders one list as a list, and several as a list of lists.
func (p Patterns) MarshalJSON() ([]byte, error) {
	if len(p) == 1 {
		return json.Marshal(p[0])
	}
	return json.Marshal([][]string(p))
}

// within returns p with one more list, without lists that have no effect. wider is
// true if the new list has a pattern that exceeds p.
func (p Patterns) within(list []string, covers func(a, b string) bool) (out Patterns, wider bool) {
	below := func(a, b []string) bool { // every pattern of a is below one of b
		return !slices.ContainsFunc(a, func(x string) bool {
			return !slices.ContainsFunc(b, func(y string) bool {
				return covers(y, x)
			})
		})
	}
	for _, above := range p {
		wider = wider || !below(list, above)
		if below(above, list) {
			return p, wider // the list restricts nothing
		}
	}
	for _, above := range p {
		if !below(list, above) {
			out = append(out, above)
		}
	}
	return append(out, list), wider
}

// AllowsProvider reports whether a provider item may be used.
func (a Allowance) AllowsProvider(id string) bool {
	return a.Providers != nil &&
		a.Providers.Match(func(p string) bool {
			return glob.Match(p, id)
		})
}

// AllowsModel reports whether a model may be used. In its name "/" is a character like
// any other.
func (a Allowance) AllowsModel(name string) bool {
	return a.Models != nil &&
		a.Models.Match(func(p string) bool {
			return glob.Text(p, name)
		})
}

// AllowsDraft reports whether a directive may ask for the capability.
func (a Allowance) AllowsDraft(c Cap) bool {
	return a.Drafts != nil &&
		a.Drafts.Match(func(p string) bool {
			return Cap(p).Covers(c)
		})
}

// coversIDs reports whether the pattern of ids a includes everything that b includes. It
// may be false for patterns for which it is true.
func coversIDs(a, b string) bool {
	dir, below := strings.CutSuffix(a, "**")
	if below && !glob.IsPattern(dir) && strings.HasPrefix(b, dir) && b != dir {
		return true
	}
	return a == b || !glob.IsPattern(b) && glob.Match(a, b)
}

// coversNames is coversIDs for names in which "/" is a character.
func coversNames(a, b string) bool {
	start, open := strings.CutSuffix(a, "*")
	if open && !glob.IsPattern(start) && strings.HasPrefix(b, start) {
		return true
	}
	return a == b || !glob.IsPattern(b) && glob.Text(a, b)
}

// coversCaps is coversIDs for capabilities.
func coversCaps(a, b string) bool {
	return a == b ||
		Cap(a).Covers(Cap(b)) && !strings.HasSuffix(b, "*") ||
		coversBelow(a, b)
}

func coversBelow(a, b string) bool {
	start, open := strings.CutSuffix(a, "*")
	return open &&
		strings.HasSuffix(start, ".") &&
		!strings.ContainsAny(start, "*?[") &&
		strings.HasPrefix(b, start)
}

// ToolTiers changes the tiers of items by patterns.
type ToolTiers struct {
	move  map[string]Tier   // of the sources that may widen: the tier of what matches
	raise []map[string]Tier // of the others: at least this tier
}

// of returns the tier of an item in place of own. raised is the part of it that
// nothing lowers.
func (t ToolTiers) of(ref item.Ref, declared, raised Tier) Tier {
	if moved, ok := highest(t.move, ref); ok {
		declared = moved
	}
	for _, m := range t.raise {
		if tier, ok := highest(m, ref); ok {
			declared = max(declared, tier)
		}
	}
	return max(declared, raised)
}

// highest returns the highest tier of the patterns that include a ref. A mapping has no
// order, so no pattern can be the first.
func highest(m map[string]Tier, ref item.Ref) (tier Tier, ok bool) {
	for pattern, t := range m {
		if MatchRef(pattern, ref) {
			tier = max(tier, t)
			ok = true
		}
	}
	return tier, ok
}

// MarshalJSON renders what may move a tier, with the raised ones of other sources.
func (t ToolTiers) MarshalJSON() ([]byte, error) {
	all := maps.Clone(t.move)
	if all == nil {
		all = map[string]Tier{}
	}
	for _, m := range t.raise {
		for pattern, tier := range m {
			all[pattern] = max(all[pattern], tier)
		}
	}
	return json.Marshal(all)
}

// Unconfined names items that may run without a sandbox and without a question.
type Unconfined struct {
	Ref    string `json:"ref"`    // a pattern as MatchRef reads it
	Signer string `json:"signer"` // ed25519: and the fingerprint of the key that signed the item
	Until  string `json:"until,omitempty"`
}

// Names reports whether an item that signer signed may run without a sandbox.
func (s SandboxBounds) Names(ref item.Ref, signer string, now time.Time) bool {
	return slices.ContainsFunc(s.Unconfined, func(u Unconfined) bool {
		return u.names(ref, signer, now)
	})
}

// names reports whether the entry includes an item at a time.
func (u Unconfined) names(ref item.Ref, signer string, now time.Time) bool {
	if u.Until != "" {
		end, err := time.Parse(time.DateOnly, u.Until)
		if err != nil || !now.Before(end.AddDate(0, 0, 1)) {
			return false
		}
	}
	return MatchRef(u.Ref, ref) && u.Signer == signer && signer != ""
}
