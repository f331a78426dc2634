package cli

import "github.com/ryeos/rye/diag"

const lockedHint = "rye sync installs the locked files; rye update selects another version"

// execHints are those of packages exec, resolve and their leaves.
func execHints() map[situation]string {
	return map[situation]string{
		{diag.ExecutorNotFound, "no_executor"}:      "set executor_id to a runtime, for example rye/core/runtimes/python_script_runtime",
		{diag.ExecutorNotFound, "own_primitive"}:    "set executor_id to a runtime or to rye/core/primitives/subprocess",
		{diag.ExecutorNotFound, "static_edge"}:      "move the runtime to the {space} space or a space below it",
		{diag.ExecutionFailed, "not_installed"}:     "install {program} and add its directory to PATH",
		{diag.ExecutionFailed, "no_stderr"}:         "it wrote nothing to stderr; add --json to see everything it returned",
		{diag.ExecutionFailed, "tool_suggestion"}:   "{suggestion}",
		{diag.ConfigError, "anchor_too_wide"}:       "move the tool and its files into a directory of their own",
		{diag.ConfigError, "nearest"}:               "did you mean {nearest}?",
		{diag.ConfigError, "credential_over_http"}:  "use https://, or list the address in config.allow_private if it is on your own network",
		{diag.AuthRequired, "credential_empty"}:     "set the variable in your environment; the tool lists it in env_config.pass",
		{diag.AuthFailed, "credential_refused"}:     "check {credential}",
		{diag.PermissionDenied, "installed_bundle"}: "copy the item: rye load REF --to project",
		{diag.PathEscape, "linked_bundle"}:          "name the directory itself in rye.yaml",
		{diag.BundleFileMissing, "not_installed"}:   "rye sync",
		{diag.BundleFileMissing, "not_committed"}:   "commit .ai/bundles, or run rye vendor --off to keep bundles out of git",
		{diag.BundleFileMissing, "no_items"}:        "correct replace or workspace in rye.yaml, then run rye lock",
		{diag.ToolNotFound, "nearest"}:              "did you mean {nearest}?",
		{diag.ItemNotFound, "nearest"}:              "did you mean {nearest}?",
		{diag.ExecutorNotFound, "nearest"}:          "did you mean {nearest}?",
		{diag.AmbiguousItem, "kind"}:                "name the kind, for example {ref}",
		{diag.AmbiguousItem, "prefer"}:              "add \"{ref}\": {bundle} under prefer in rye.yaml, then run rye lock",
		{diag.HashMismatch, "locked"}:               lockedHint,
		{diag.BundleFileExtra, "locked"}:            lockedHint,
		{diag.LockMismatch, "locked"}:               lockedHint,
		{diag.Scope, "provider_bundle"}:             "permit the signer: rye trust add FILE --may sign,release,provider",
		{diag.Scope, "provider_agent"}:              "read it, then sign it yourself: rye sign {item}",
		{diag.Scope, "provider_sign"}:               "read it, then sign it yourself: rye sign {item} (the signer's key document does not permit provider)",
		{diag.Scope, "provider"}:                    "read it, then sign it yourself: rye sign {item}; or permit the signer: rye trust add FILE --may sign,provider",
		{diag.ResourceExceeded, "max_bytes"}:        "raise max_bytes in the tool, or request less",
	}
}
