package cli

import "github.com/ryeos/rye/diag"

const reservedHint = "add \"{ref}\": {bundle} under prefer in rye.yaml, then run rye lock"

const lockedHint = "rye sync installs the locked files; rye update selects another version"

// execHints are those of packages exec, resolve and their leaves.
func execHints() map[situation]string {
	return map[situation]string{
		{diag.ExecutorNotFound, "no_executor"}:        "set executor_id to a runtime, for example rye/core/runtimes/python_script_runtime",
		{diag.ValidationFailed, "not_a_tool"}:         "rye load {ref}",
		{diag.ValidationFailed, "mcp_server_item"}:    "rye list tool mcp/{server}/*",
		{diag.ExecutorNotFound, "own_primitive"}:      "set executor_id to a runtime or to rye/core/primitives/subprocess",
		{diag.ExecutorNotFound, "static_edge"}:        "move the runtime to the {space} space or a space below it",
		{diag.ExecutionFailed, "not_installed"}:       "install {program} and add its directory to PATH",
		{diag.ExecutionFailed, "not_found"}:           "install {command}, or add its directory to PATH",
		{diag.ExecutionFailed, "not_executable"}:      "make it executable (chmod +x), or run it with its interpreter",
		{diag.ExecutionFailed, "no_interpreter"}:      "begin the script with #! and its interpreter",
		{diag.ExecutionFailed, "interpreter_missing"}: "check its first line (#!); a Windows line ending there changes the name",
		{diag.ExecutionFailed, "too_long"}:            "pass large data on stdin or in a file",
		{diag.ExecutionFailed, "batch_file"}:          "run the program that the batch file starts, or pass the value on stdin",
		{diag.ExecutionFailed, "no_stderr"}:           "it wrote nothing to stderr; add --json to see everything it returned",
		{diag.ExecutionFailed, "reported"}:            "add --json to see everything it returned",
		{diag.ExecutionFailed, "tool_suggestion"}:     "{suggestion}",
		{diag.ConfigError, "anchor_too_wide"}:         "move the tool and its files into a directory of their own",
		{diag.ConfigError, "nearest"}:                 "did you mean {nearest}?",
		{diag.ConfigError, "credential_over_http"}:    "use https://, or list the address in config.allow_private if it is on your own network",
		{diag.AuthRequired, "credential_empty"}:       "set the variable in your environment; the tool lists it in env_config.pass",
		{diag.AuthFailed, "credential_refused"}:       "check {credential}",
		{diag.PermissionDenied, "installed_bundle"}:   "copy the item: rye load REF --to project",
		{diag.PathEscape, "linked_bundle"}:            "name the directory itself in rye.yaml",
		{diag.BundleFileMissing, "not_installed"}:     "rye sync",
		{diag.BundleFileMissing, "not_committed"}:     "commit .ai/bundles, or run rye vendor --off to keep bundles out of git",
		{diag.BundleFileMissing, "no_items"}:          "correct replace or workspace in rye.yaml, then run rye lock",
		{diag.UnknownParameter, "nearest"}:            "did you mean \"{nearest}\"?",
		{diag.UnknownParameter, "parameters"}:         "the parameters are {parameters}",
		{diag.ValidationFailed, "json"}:               "write {parameter}:=JSON, for example {parameter}:='[\"a\", \"b\"]'",
		{diag.ValidationFailed, "missing_field"}:      "add {field}",
		{diag.ValidationFailed, "filename"}:           "write \"{want}\" in the file, or rename the file to {value}",
		{diag.ValidationFailed, "category"}:           "write \"{want}\" in the file, or move the file to the directory \"{value}\"",
		{diag.ParsingError, "xml_block"}:              "put the directive's XML in a fenced block that begins with ```xml",
		{diag.ParsingError, "front_matter"}:           "begin with --- front matter, or put a ```yaml block first",
		{diag.ConfigError, "original_code"}:           "delete it to use the built-in one, or write it again in YAML",
		{diag.ConfigError, "original_format"}:         "delete it to use the built-in one, or write it again with kind, folder and a list of extensions",
		{diag.ToolNotFound, "nearest"}:                "did you mean {nearest}?",
		{diag.ItemNotFound, "nearest"}:                "did you mean {nearest}?",
		{diag.ExecutorNotFound, "nearest"}:            "did you mean {nearest}?",
		{diag.ToolNotFound, "reserved"}:               reservedHint,
		{diag.ItemNotFound, "reserved"}:               reservedHint,
		{diag.ExecutorNotFound, "reserved"}:           reservedHint,
		{diag.AmbiguousItem, "kind"}:                  "name the kind, for example {ref}",
		{diag.AmbiguousItem, "prefer_first"}:          "add \"{ref}\": {bundle} under prefer in rye.yaml, then run it again",
		{diag.AmbiguousItem, "prefer"}:                "add \"{ref}\": {bundle} under prefer in rye.yaml, then run rye lock",
		{diag.HashMismatch, "locked"}:                 lockedHint,
		{diag.BundleFileExtra, "locked"}:              lockedHint,
		{diag.LockMismatch, "locked"}:                 lockedHint,
		{diag.Scope, "provider_bundle"}:               "permit the signer: rye trust add FILE --may sign,release,provider",
		{diag.Scope, "provider_agent"}:                "read it, then sign it yourself: rye sign {item}",
		{diag.Scope, "provider_sign"}:                 "read it, then sign it yourself: rye sign --take-over {item} (the signer's key document does not permit provider)",
		{diag.Scope, "provider"}:                      "read it, then sign it yourself: rye sign --take-over {item}; or permit the signer: rye trust add FILE --may sign,provider",
		{diag.ResourceExceeded, "max_bytes"}:          "raise max_bytes in the tool, or request less",
	}
}
