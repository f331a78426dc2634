package cli

import "github.com/ryeos/rye/diag"

// appletHints are those of the applets, whose reasons begin with "tool:", and of
// policy, internal/search, internal/glob, internal/httpx and internal/httpfill.
func appletHints() map[situation]string {
	return map[situation]string{
		{diag.ExecutionFailed, "python_module"}:         "list {module} in a block # /// script (dependencies) and sign the tool; or install it in the project's .venv: python3 -m venv .venv; .venv/bin/pip install {module}",
		{diag.ExecutionFailed, "python_adjacent"}:       "{module} is next to the tool: add an empty __init__.py to that directory, and sign both files",
		{diag.ExecutionFailed, "node_module"}:           "if {module} is a file next to the tool: add a package.json there, and sign both. A package must be bundled into the tool's own files",
		{diag.ExecutionFailed, "tool:language_server"}:  "if you trust everybody who can write files of the project: rye trust language-server {server}",
		{diag.ExecutionFailed, "tool:protected_path"}:   "change the file yourself, in an editor",
		{diag.PolicyDenied, "protected_path"}:           "write into another file, or change this one yourself in an editor",
		{diag.ExecutionFailed, "tool:file_tools"}:       "rye init makes this directory a project; --project names another one",
		{diag.ItemNotFound, "file_tools"}:               "rye init makes this directory a project; --project names another one",
		{diag.ExecutionFailed, "tool:settings"}:         "rye config show {config} --origin",
		{diag.ExecutionFailed, "tool:variable_missing"}: "set the variable in your environment; the tool lists it in env_config.pass",
		{diag.PolicyDenied, "host_not_listed"}:          "if the tool needs this host, list {host} under hosts in its item",
		{diag.PolicyDenied, "private_address"}:          "if {address} is on your own network, list it under allow_private in the item",
		{diag.Usage, "capability_form"}:                 "write rye.VERB.KIND.ID, for example rye.execute.tool.gh.*",
		{diag.Usage, "nearest"}:                         "did you mean {nearest}?",
		{diag.Usage, "query_syntax"}:                    "rye search --help describes queries; quote AND, OR, NOT and colons to search for them",
		{diag.Usage, "query_signer"}:                    "rye trust list",
	}
}
