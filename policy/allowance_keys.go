package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
)

// allowanceKey is one key of an Allowance: how it is read, and what two sources give
// together.
type allowanceKey struct {
	path       []string
	policyOnly bool // of policy files, not of the item
	// apply reads the key from r and sets it in a. A source that is not wide only
	// restricts. wider is true if it would permit more than a.
	apply func(a *Allowance, r *tree.Reader, key string, wide bool) (changed, wider bool)
	value func(a *Allowance) any // for people and JSON
}

func (k allowanceKey) name() string {
	return strings.Join(k.path, ".")
}

// reader reads the value of a key; ok is false if it is wrong.
type reader[T any] func(r *tree.Reader, key string) (v T, ok bool)

// narrower returns the value that both permit, and whether the second permits
// more than the first.
type narrower[T any] func(have, want T) (both T, wider bool)

func keyOf[T any](
	path string,
	field func(*Allowance) *T,
	read reader[T],
	narrow narrower[T],
) allowanceKey {
	return allowanceKey{
		path:  strings.Split(path, "."),
		value: func(a *Allowance) any { return *field(a) },
		apply: func(a *Allowance, r *tree.Reader, key string, wide bool) (changed, wider bool) {
			v, ok := read(r, key)
			if !ok {
				return false, false
			}
			to := field(a)
			if wide {
				*to = v
				return true, false
			}
			before := fmt.Sprint(*to)
			*to, wider = narrow(*to, v)
			return fmt.Sprint(*to) != before, wider
		},
	}
}

// allowanceKeys returns the keys in the order of the documentation.
func allowanceKeys() []allowanceKey {
	return slices.Concat(limitKeys(), approvalKeys(), sandboxKeys(), agentKeys())
}

func limitKeys() []allowanceKey {
	count := func(path string, low, high int64, field func(*Allowance) *int64) allowanceKey {
		return keyOf(path, field, whole(low, high), smaller[int64])
	}
	money := func(path string, field func(*Allowance) *USD) allowanceKey {
		return keyOf(path, field, readUSD, smaller[USD])
	}
	return []allowanceKey{
		count("limits.turns", 0, math.MaxInt64, func(a *Allowance) *int64 {
			return &a.Limits.Turns
		}),
		count("limits.tokens", 0, math.MaxInt64, func(a *Allowance) *int64 {
			return &a.Limits.Tokens
		}),
		money("limits.spend", func(a *Allowance) *USD {
			return &a.Limits.Spend
		}),
		count("limits.spawns", 0, math.MaxInt64, func(a *Allowance) *int64 {
			return &a.Limits.Spawns
		}),
		count("limits.depth", 0, 64, func(a *Allowance) *int64 {
			return &a.Limits.Depth
		}),
		count("limits.duration_seconds", 0, 86_100, func(a *Allowance) *int64 {
			return &a.Limits.DurationSeconds
		}),
		money("spend.per_day", func(a *Allowance) *USD {
			return &a.Spend.PerDay
		}),
		money("spend.per_month", func(a *Allowance) *USD {
			return &a.Spend.PerMonth
		}),
		keyOf(
			"spend.warn_at",
			func(a *Allowance) *float64 { return &a.Spend.WarnAt },
			func(r *tree.Reader, key string) (float64, bool) {
				n := r.Number(key, -1, 0, 1)
				return n, n >= 0
			},
			smaller[float64],
		),
		count("concurrency.threads", 1, 4096, func(a *Allowance) *int64 {
			return &a.Concurrency.Threads
		}),
		count("concurrency.children", 1, 4096, func(a *Allowance) *int64 {
			return &a.Concurrency.Children
		}),
		count("concurrency.tool_calls", 1, 4096, func(a *Allowance) *int64 {
			return &a.Concurrency.ToolCalls
		}),
	}
}

func approvalKeys() []allowanceKey {
	tier := func(path string, field func(*Allowance) *Tier) allowanceKey {
		return keyOf(path, field, tierValue, smaller[Tier])
	}
	return []allowanceKey{
		tier("approvals.auto_approve_up_to.sandboxed", func(a *Allowance) *Tier {
			return &a.Approvals.Sandboxed
		}),
		tier("approvals.auto_approve_up_to.unsandboxed", func(a *Allowance) *Tier {
			return &a.Approvals.Unsandboxed
		}),
		keyOf(
			"approvals.deny_from",
			func(a *Allowance) **Tier {
				return &a.Approvals.DenyFrom
			},
			tierOrNull,
			lowerTier,
		),
		keyOf(
			"approvals.timeout_seconds",
			func(a *Allowance) **int64 {
				return &a.Approvals.TimeoutSeconds
			},
			wholeOrNull(1, 3600),
			smallerOrNull,
		),
		keyOf(
			"approvals.headless",
			func(a *Allowance) *string { return &a.Approvals.Headless },
			oneOf("suspend", "deny"),
			stricter("suspend", "deny"),
		),
		keyOf(
			"approvals.suspended_timeout_seconds",
			func(a *Allowance) *int64 { return &a.Approvals.SuspendedTimeoutSeconds },
			whole(1, 30*86_400),
			smaller[int64],
		),
		toolsKey(),
		tier("children.auto_approve_up_to.sandboxed", func(a *Allowance) *Tier {
			return &a.Children.Sandboxed
		}),
		tier("children.auto_approve_up_to.unsandboxed", func(a *Allowance) *Tier {
			return &a.Children.Unsandboxed
		}),
		keyOf(
			"providers",
			func(a *Allowance) *Patterns { return &a.Providers },
			patterns(checkIDs),
			lists(coversIDs),
		),
		keyOf(
			"models",
			func(a *Allowance) *Patterns { return &a.Models },
			patterns(nil),
			lists(coversNames),
		),
	}
}

func sandboxKeys() []allowanceKey {
	rungs := []string{RungBasic, RungLandlock, RungStrict}
	out := []allowanceKey{
		keyOf(
			"sandbox.minimum",
			func(a *Allowance) *string { return &a.Sandbox.Minimum },
			oneOf(rungs...),
			stricter(rungs...),
		),
		keyOf(
			"sandbox.net",
			func(a *Allowance) *string { return &a.Sandbox.Net },
			oneOf(NetAny, NetHosts, NetLoopback, NetNone),
			func(have, want string) (string, bool) {
				both := commonNet(have, want)
				return both, both != want
			},
		),
		keyOf(
			"sandbox.hosts",
			func(a *Allowance) *[]string {
				return &a.Sandbox.Hosts
			},
			texts(CheckHostPattern),
			func(have, want []string) ([]string, bool) {
				wider := slices.ContainsFunc(want, func(s string) bool {
					return !hostIn(have, s)
				})
				return widestHosts(commonHosts(have, want)), wider
			},
		),
	}
	for i, limit := range new(Limits).All() {
		out = append(out, keyOf(
			"sandbox.limits."+limit.Name,
			func(a *Allowance) *int64 {
				return a.Sandbox.Limits.All()[i].Value
			},
			whole(limit.Low, limit.High),
			smaller[int64],
		))
	}
	return append(out,
		keyOf(
			"sandbox.unconfined",
			func(a *Allowance) *[]Unconfined {
				return &a.Sandbox.Unconfined
			},
			readUnconfined,
			common[Unconfined],
		),
		keyOf(
			"sandbox.protect_remove",
			func(a *Allowance) *[]string {
				return &a.Sandbox.ProtectRemove
			},
			texts(checkRemovable),
			common[string],
		),
	)
}

func agentKeys() []allowanceKey {
	registry := []string{"run", "ask", "deny"}
	sign := []string{"agent", "ask", "deny"}
	out := []allowanceKey{
		keyOf(
			"drafts",
			func(a *Allowance) *Patterns { return &a.Drafts },
			patterns(checkDraft),
			lists(coversCaps),
		),
		keyOf(
			"registry",
			func(a *Allowance) *string { return &a.Registry },
			oneOf(registry...),
			stricter(registry...),
		),
	}
	for _, k := range []allowanceKey{
		keyOf("sign", func(a *Allowance) *string { return &a.Sign }, oneOf(sign...), func(have, want string) (string, bool) {
			if have == "" { // agent/mcp decides
				return want, false
			}
			return stricter(sign...)(have, want)
		}),
		keyOf("capabilities", func(a *Allowance) *Patterns { return &a.Capabilities }, patterns(checkCap), lists(coversCaps)),
	} {
		k.policyOnly = true
		out = append(out, k)
	}
	return out
}

// toolsKey is approvals.tools: the user's own lowers and raises, all others raise.
func toolsKey() allowanceKey {
	return allowanceKey{
		path:  []string{"approvals", "tools"},
		value: func(a *Allowance) any { return a.Approvals.Tools },
		apply: func(a *Allowance, r *tree.Reader, key string, wide bool) (changed, wider bool) {
			m := r.Map(key)
			tiers := map[string]Tier{}
			to := &a.Approvals.Tools
			for _, pattern := range m.Keys() {
				if err := CheckRefPattern(pattern); err != nil {
					m.RejectErr(pattern, err)
					continue
				}
				tier := readTier(m, pattern, T4)
				have, listed := to.move[pattern]
				if !wide && (tier == T0 || listed && tier < have) {
					wider = true
					continue
				}
				tiers[pattern] = tier
			}
			switch {
			case !wide && len(tiers) > 0:
				to.raise = append(to.raise, tiers)
			case wide:
				if to.move == nil {
					to.move = map[string]Tier{}
				}
				for pattern, t := range tiers {
					to.move[pattern] = t
				}
			}
			return wide || len(tiers) > 0, wider
		},
	}
}

func smaller[T int64 | float64 | USD | Tier](have, want T) (T, bool) {
	return min(have, want), want > have
}

// smallerOrNull is smaller for values of which nil is without a bound.
func smallerOrNull(have, want *int64) (*int64, bool) {
	switch {
	case have == nil:
		return want, false
	case want == nil || *want > *have:
		return have, true
	}
	return want, false
}

func lowerTier(have, want *Tier) (*Tier, bool) {
	switch {
	case have == nil:
		return want, false
	case want == nil || *want > *have:
		return have, true
	}
	return want, false
}

// stricter orders words from the most permissive to the strictest.
func stricter(order ...string) narrower[string] {
	return func(have, want string) (string, bool) {
		if slices.Index(order, want) < slices.Index(order, have) {
			return have, true
		}
		return want, false
	}
}

func lists(covers func(a, b string) bool) narrower[Patterns] {
	return func(have, want Patterns) (Patterns, bool) {
		if len(want) == 0 {
			return have, false
		}
		return have.within(want[0], covers)
	}
}

// common returns the entries that both lists have.
func common[T comparable](have, want []T) ([]T, bool) {
	out := []T{}
	for _, x := range want {
		if slices.Contains(have, x) {
			out = append(out, x)
		}
	}
	return out, len(out) < len(want)
}

func whole(low, high int64) reader[int64] {
	return func(r *tree.Reader, key string) (int64, bool) {
		n := r.Int(key, low-1, low, high)
		return n, n >= low
	}
}

func wholeOrNull(low, high int64) reader[*int64] {
	return func(r *tree.Reader, key string) (*int64, bool) {
		if r.Value(key) == nil {
			return nil, true
		}
		n, ok := whole(low, high)(r, key)
		return &n, ok
	}
}

func oneOf(words ...string) reader[string] {
	return func(r *tree.Reader, key string) (string, bool) {
		s := r.Enum(key, "", words...)
		return s, s != ""
	}
}

func readUSD(r *tree.Reader, key string) (out USD, ok bool) {
	s, isText := r.Value(key).(string)
	if isText || r.Value(key) == nil {
		r.TextFunc(key, func(string) (err error) {
			out, err = ParseUSD(s)
			ok = err == nil
			return err
		})
		return out, ok
	}
	r.Reject(key, "must be an amount in quotes, such as \"5.00\", not %s", tree.TypeName(r.Value(key)))
	return 0, false
}

func tierValue(r *tree.Reader, key string) (Tier, bool) {
	t := readTier(r, key, T4+1)
	return t, t <= T4
}

func tierOrNull(r *tree.Reader, key string) (*Tier, bool) {
	if r.Value(key) == nil {
		return nil, true
	}
	t, ok := tierValue(r, key)
	return &t, ok
}

func texts(check func(string) error) reader[[]string] {
	return func(r *tree.Reader, key string) ([]string, bool) {
		list := r.Texts(key, check)
		return list, list != nil
	}
}

func patterns(check func(string) error) reader[Patterns] {
	return func(r *tree.Reader, key string) (Patterns, bool) {
		list := r.Texts(key, check)
		return Patterns{list}, list != nil
	}
}

func checkIDs(s string) error {
	if fs := glob.Check(s); len(fs) > 0 {
		return fmt.Errorf("%q is not a pattern of ids: %s", s, fs[0].Message)
	}
	return nil
}

func checkCap(s string) error {
	_, err := Parse(s)
	return err
}

func checkDraft(s string) error {
	if !strings.HasPrefix(s, "rye."+string(Draft)+".") {
		return fmt.Errorf("%q does not begin with rye.draft.", s)
	}
	return checkCap(s)
}

// checkRemovable accepts rows of the protected paths that the user may remove.
func checkRemovable(s string) error {
	var removable []string
	for _, row := range ProtectedPaths() {
		if row.Path == s && row.Removable {
			return nil
		}
		if row.Removable {
			removable = append(removable, row.Path)
		}
	}
	err := fmt.Errorf("%q is not a protected path that can be removed", s)
	if near := suggest.Nearest(s, removable); near != "" {
		return fmt.Errorf("%w: did you mean %s?", err, near)
	}
	return fmt.Errorf("%w: these are %s", err, strings.Join(removable, ", "))
}

func readUnconfined(r *tree.Reader, key string) ([]Unconfined, bool) {
	out := []Unconfined{}
	for _, m := range r.Maps(key) {
		m.Only("ref", "signer", "until")
		m.Require("ref", "signer")
		out = append(out, Unconfined{
			Ref: m.TextFunc("ref", CheckRefPattern), Signer: m.TextFunc("signer", checkSigner),
			Until: readDate(m, "until"),
		})
	}
	_, ok := r.Value(key).([]any)
	return out, ok
}

func checkSigner(s string) error {
	digits, ok := strings.CutPrefix(s, "ed25519:")
	if !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a signer: want ed25519: and the 64 digits of the key", s)
	}
	return nil
}

// readDate returns a day, which YAML reads as a time unless it is in quotes.
func readDate(r *tree.Reader, key string) string {
	if t, ok := r.Value(key).(time.Time); ok {
		return t.Format(time.DateOnly)
	}
	return r.TextFunc(key, func(s string) error {
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return fmt.Errorf("%q is not a day, such as 2027-01-31", s)
		}
		return nil
	})
}
