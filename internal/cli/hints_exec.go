package cli

import "github.com/ryeos/rye/diag"

// execHints are those of packages exec, resolve and their leaves.
func execHints() map[situation]string {
	return map[situation]string{
		{diag.ExecutorNotFound, "no_executor"}:      "set executor_id to a runtime, for example rye/core/runtimes/python_script_runtime",
		{diag.ExecutorNotFound, "own_primitive"}:    "set executor_id to a runtime or to rye/core/primitives/subprocess",
		{diag.ExecutorNotFound, "static_edge"}:      "move the runtime to the {space} space or a space below it",
		{diag.ExecutionFailed, "not_installed"}:     "install {program} and add its directory to PATH",
		{diag.ExecutionFailed, "no_stderr"}:         "it wrote nothing to stderr; add --json to see everything it returned",
		{diag.ExecutionFailed, "tool_suggestion"}:   "{suggestion}",
		{diag.ConfigError, "nearest"}:               "did you mean {nearest}?",
		{diag.ConfigError, "credential_over_http"}:  "use https://, or list the address in config.allow_private if it is on your own network",
		{diag.AuthRequired, "credential_empty"}:     "set the variable in your environment; the tool lists it in env_config.pass",
		{diag.AuthFailed, "credential_refused"}:     "check {credential}",
		{diag.PermissionDenied, "installed_bundle"}: "copy the item: rye load REF --to project",
		{diag.PathEscape, "linked_bundle"}:          "name the directory itself in rye.yaml",
		{diag.BundleFileMissing, "not_installed"}:   "rye sync",
		{diag.BundleFileMissing, "not_committed"}:   "commit .ai/bundles, or exclude bundles from git with rye vendor --off",
		{diag.BundleFileMissing, "no_items"}:        "correct replace or workspace in rye.yaml, then run rye lock",
		{diag.ResourceExceeded, "max_bytes"}:        "raise max_bytes in the tool, or request less",
	}
}
