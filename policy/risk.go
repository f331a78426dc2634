package policy

import (
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// RiskID is the id of the configuration of risk classes.
const RiskID = "agent/capability_risk"

// Risk gives items and calls their risk class.
type Risk struct {
	rules []riskRule   // of the user, then of the system: the first match applies
	raise [][]riskRule // of each layer that only raises: its first match

	classes map[Tier]Class
	// This Risk may have been made without these two. Use the fields of the Risk that whole returns.
	patterns []shellPattern
	table    shellTable
	// commands returns the Risk with patterns and table, nil if this one has them.
	commands func() (*Risk, error)
}

// WithCommands returns a Risk with the rules and classes of k, whose patterns and table are made
// once, when the first text of a shell is examined.
func (k *Risk) WithCommands(read func() (*Risk, error)) *Risk {
	out := *k
	out.commands = sync.OnceValues(read)
	return &out
}

// whole returns the Risk with patterns and table.
func (k *Risk) whole() (*Risk, error) {
	if k.commands == nil {
		return k, nil
	}
	return k.commands()
}

// riskRule gives the items that a pattern includes a class.
type riskRule struct {
	match string
	tier  Tier
	from  string // the file
}

// Rating is the risk of an item or of one call of it.
type Rating struct {
	// Class selects the sandbox. Nothing that a project or the parameters of a call
	// contain changes it: a higher class has a wider sandbox.
	Class Tier
	// Tier decides about questions. It is at least Class.
	Tier Tier
	Why  string // what decided Tier, as texts name it
}

// ReadRisk reads the layers of RiskID, the farthest first. A layer that may not widen
// only raises the tiers of items and tightens the sandboxes of classes.
func ReadRisk(layers []Layer) (*Risk, error) {
	k := &Risk{classes: map[Tier]Class{}}
	var found []diag.Finding
	for _, l := range layers {
		r := l.reader()
		r.Only(append(
			itemKeys(),
			"items",
			"patterns",
			"classes",
			"programs",
			"variables",
			"settings",
			"values",
			"numbers",
			"path_variables",
		)...)
		rules := readRiskRules(r, l.Name)
		if l.Wide {
			k.rules = append(rules, k.rules...)
		} else if len(rules) > 0 {
			k.raise = append(k.raise, rules)
		}
		k.readClasses(r, l.Wide)
		k.patterns = readPatterns(r, k.patterns, l.Wide)
		k.table.read(r, l.Wide)
		found = append(found, diag.WithPath(r.Findings(), l.Name)...)
	}
	return k, diag.FromFindings("reading config:"+RiskID, found)
}

func readRiskRules(r *tree.Reader, from string) []riskRule {
	var out []riskRule
	for _, m := range r.Maps("items") {
		m.Only("match", "tier")
		m.Require("match", "tier")
		rule := riskRule{match: m.TextFunc("match", CheckRefPattern), tier: readTier(m, "tier", T3), from: from}
		out = append(out, rule)
	}
	return out
}

// readTier returns a tier, or def.
func readTier(r *tree.Reader, key string, def Tier) Tier {
	out := def
	r.TextFunc(key, func(s string) error {
		t, err := ParseTier(s)
		if err == nil {
			out = t
		}
		return err
	})
	return out
}

// Rate returns the risk of an item. declared is its own key risk, "" without one; it
// applies before the patterns. An item without either has the class T3.
func (k *Risk) Rate(ref item.Ref, declared string) (Rating, error) {
	out := Rating{Class: T3, Why: "no class is declared for it"}
	switch rule, ok := firstRule(k.rules, ref); {
	case declared != "":
		t, err := ParseTier(declared)
		if err != nil {
			return Rating{Class: T4, Tier: T4}, diag.New(diag.ValidationFailed, "reading risk of %s: %w", ref, err)
		}
		out.Class, out.Why = t, "it declares risk "+t.String()
	case ok:
		out.Class, out.Why = rule.tier, rule.why()
	}
	out.Tier = out.Class
	for _, rules := range k.raise {
		if rule, ok := firstRule(rules, ref); ok {
			out = out.Raise(rule.tier, rule.why())
		}
	}
	return out, nil
}

func (r riskRule) why() string {
	return r.match + " of " + r.from
}

func firstRule(rules []riskRule, ref item.Ref) (riskRule, bool) {
	for _, r := range rules {
		if MatchRef(r.match, ref) {
			return r, true
		}
	}
	return riskRule{}, false
}

// Raise returns the rating with at least the tier. The class stays.
func (r Rating) Raise(t Tier, why string) Rating {
	if t > r.Tier {
		r.Tier = t
		r.Why = why
	}
	return r
}
