package policy

import "github.com/ryeos/rye/item"

// IsCompiled reports whether a digest belongs to the configuration RiskID from which the tables in
// risk_compiled.go were made. A start of the program reads no text of it: at the first command of
// a shell, that took as long as the rest of the decision about a run. A test makes the tables
// again from the signed configuration, which alone is edited.
func IsCompiled(d item.Digest) bool {
	return d.Hex() == compiledOf
}

// CompiledRisk returns the same Risk as ReadRisk of that configuration as the only layer, whose
// path is name. The caller has verified the bytes with the digest.
func CompiledRisk(d item.Digest, name string) (*Risk, bool) {
	if !IsCompiled(d) {
		return nil, false
	}
	k := &Risk{rules: make([]riskRule, len(compiledRules)), classes: compiledClasses()}
	for i, rule := range compiledRules {
		k.rules[i] = riskRule{rule.match, rule.tier, name}
	}
	return k.WithCommands(func() (*Risk, error) {
		all := *k
		all.patterns = compiledPatterns
		all.table = shellTable{
			programs:  compiledPrograms,
			variables: compiledVariables,
			settings:  compiledSettings,
			paths:     compiledPaths,
			values:    compiledValues,
			numbers:   compiledNumbers,
		}
		all.table.index()
		return &all, nil
	}), true
}
