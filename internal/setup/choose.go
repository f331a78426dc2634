package setup

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Named returns the service with a name: one that was found, else a provider item. A server
// whose item does not have the wanted model gets an item of its own.
func (f *Found) Named(name, model string) *Choice {
	choice, ok := f.ByName(name)
	if ok && (choice.Provider == "" || model == "" || slices.Contains(choice.Models, model)) {
		return &choice
	}
	return &Choice{Provider: name, Name: name}
}

// IsAddress reports whether a person wrote the address of a service, and not a name.
func IsAddress(answer string) bool {
	return strings.ContainsAny(answer, ".:")
}

// Tier returns the tier for which a provider has a model: general if it is that one. tiers maps
// a tier to its model, and provider is named in the error.
func Tier(provider string, tiers map[string]string, model string) (string, error) {
	for _, tier := range []string{"general", "fast", "high", "max"} {
		has := tiers[tier]
		if has != "" && (has == model || tier == model) {
			return tier, nil
		}
	}
	var has []string
	for _, tier := range []string{"fast", "general", "high", "max"} {
		m := tiers[tier]
		if m != "" && !slices.Contains(has, m) {
			has = append(has, m)
		}
	}
	return "", diag.New(diag.Usage, "choosing the model %s: no tier of %s has it; those are %s", model, provider, strings.Join(has, ", ")).
		WithReason("setup_model")
}

// KeyVariable returns the name of the variable for the key of a service.
func KeyVariable(address string) string {
	h := host(address)
	if i := strings.LastIndexByte(h, ':'); i > 0 {
		h = h[:i]
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, h)
	return "KEY_OF_" + strings.Trim(name, "_")
}
