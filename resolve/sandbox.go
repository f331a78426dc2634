package resolve

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Confinement is what an item states about the sandbox of its program.
type Confinement struct {
	Stated  bool           // the item has the key sandbox
	Profile policy.Profile // the key sandbox
	Calls   policy.Set     // what the program may call through the broker
}

// Confinement decodes the keys sandbox and calls of an item. A key that is wrong is a
// finding, and the profile then lacks it.
func (it *Item) Confinement() (Confinement, []diag.Finding) {
	r := tree.NewReader(
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
		diag.ValidationFailed,
	)
	c := Confinement{Stated: r.Has("sandbox")}
	if _, text := r.Value("sandbox").(string); text {
		r.Reject("sandbox", "must be a mapping, not a string: for example {net: none}")
	} else if _, set := it.Meta.Fields["sandbox"]; set {
		c.Profile = policy.ReadProfile(r.Map("sandbox"))
	}
	for _, s := range r.Texts("calls", checkCap) {
		c.Calls = append(c.Calls, policy.Cap(s))
	}
	broker := c.Profile.Broker != nil && *c.Profile.Broker
	switch {
	case broker && len(c.Calls) == 0 && !r.Has("calls"):
		r.Map("sandbox").Reject("broker", "needs the key calls, the list of capabilities that the program may use")
	case r.Has("calls") && !broker:
		r.Reject("calls", "has no effect without sandbox.broker: true")
	}
	return c, diag.WithPath(r.Findings(), it.Path())
}

func checkCap(s string) error {
	_, err := policy.Parse(s)
	return err
}

// sandbox returns findings about the keys sandbox and calls, and about a sandbox that
// exceeds the risk class that the item declares. An item that declares none gets its
// class where it runs.
//
// The lock has what an item states: hosts without ports, writes, reads outside of the project,
// programs and the class. It has no limits. A removed key gets the default of its class, which
// the user's configuration defines, so no update asks about that.
func (r *Resolver) sandbox(ctx context.Context, it *Item) []diag.Finding {
	if it.Ref.Kind != item.Tool || it.Support() {
		return nil
	}
	c, found := it.Confinement()
	if it.Declared() == "" || !c.Stated {
		return found
	}
	class, err := policy.ParseTier(it.Declared())
	if err != nil {
		return found
	}
	risk, err := Risk(ctx, r)
	if err != nil {
		return found // reported where the configuration is checked
	}
	if err := CheckClass(risk, class, c.Profile); err != nil {
		pos := (&tree.Doc{Pos: it.Meta.Pos}).At("sandbox")
		e := diag.Typed(err)
		f := diag.Errorf(
			e.Code,
			max(pos.Line, 1),
			pos.Column,
			"%s",
			e.Message,
		).
			WithReason(e.Reason)
		f.Facts = e.Details
		found = append(found, f)
	}
	return found
}

// CheckClass returns POLICY_DENIED if the sandbox that an item states exceeds the
// ceiling of its risk class. The detail "needs" is the lowest class that permits it.
func CheckClass(risk *policy.Risk, t policy.Tier, p policy.Profile) error {
	class, confined := risk.Class(t)
	if !confined {
		return nil
	}
	more := class.Exceeds(p)
	if len(more) == 0 {
		return nil
	}
	texts := make([]string, len(more))
	for i, x := range more {
		texts[i] = fmt.Sprintf(
			"sandbox.%s: %s, where the class permits %s",
			x.Key,
			shown(x.Wants),
			shown(x.Allows),
		)
	}
	needs := t + 1
	for ; needs < policy.T4; needs++ {
		class, _ := risk.Class(needs)
		if len(class.Exceeds(p)) == 0 {
			break
		}
	}
	return diag.New(
		diag.PolicyDenied,
		"the sandbox exceeds risk class %s (%s): %s",
		t,
		t.Name(),
		strings.Join(texts, "; "),
	).
		WithReason("class_ceiling").
		WithDetail("class", t.String()).
		WithDetail("key", more[0].Key).
		WithDetail("needs", needs.String())
}

// shown returns a value of an Excess as texts show it.
func shown(v any) string {
	switch v := v.(type) {
	case []string:
		if len(v) == 0 {
			return "nothing"
		}
		return strings.Join(v, ", ")
	case string:
		return cmp.Or(v, "nothing")
	}
	return fmt.Sprint(v)
}
