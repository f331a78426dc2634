package cli

import "github.com/ryeos/rye/diag"

// appletHints are those of the applets, whose reasons begin with "tool:", and of
// policy, internal/search, internal/glob, internal/httpx and internal/httpfill.
func appletHints() map[situation]string {
	return map[situation]string{
		{diag.ExecutionFailed, "tool:settings"}:         "rye config show {config} --origin",
		{diag.ExecutionFailed, "tool:variable_missing"}: "set the variable in your environment; the tool lists it in env_config.pass",
	}
}
