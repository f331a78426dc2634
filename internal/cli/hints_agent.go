package cli

import "github.com/ryeos/rye/diag"

// agentHints are the hints of primary, primary/agent, mcpserve and
// internal/mcpclient.
func agentHints() map[situation]string {
	const (
		refresh = "rye mcp refresh {server} shows the change and asks whether you accept it"
		scoped  = "rye mcp refresh {server} --space user shows the change and asks whether you accept it"
	)
	return map[situation]string{
		{diag.Usage, "not_name_value"}:                 "write name=text, or name:=JSON for numbers, lists and objects",
		{diag.Usage, "device_name"}:                    "rename the file or the directory",
		{diag.Usage, "not_an_item"}:                    "rename it, or list it in a bundle manifest with rye bundle create",
		{diag.Usage, "outside_spaces"}:                 "items are below the {directory} directory of the project or of your home",
		{diag.ItemNotFound, "no_project"}:              "rye init makes a project here",
		{diag.ItemNotFound, "project_path"}:            "leave project_path out to use the server's project",
		{diag.AmbiguousItem, "copy_exists"}:            "--force replaces it",
		{diag.ExecutorNotFound, "runtime_missing"}:     "rye list tool --all shows every runtime",
		{diag.PermissionDenied, "system_read_only"}:    "copy it into the project first, then sign the copy",
		{diag.PermissionDenied, "copy_sealed"}:         "a runtime of your own may use it: name it in executor_id",
		{diag.PermissionDenied, "agent_signed"}:        "only an agent's key has signed {path}: read it, then rye sign {ref}",
		{diag.PermissionDenied, "record"}:              "rye load {ref} prints the record of the run with a warning",
		{diag.PermissionDenied, "sign_disabled"}:       "rye sign {refs}",
		{diag.PermissionDenied, "drafts_only"}:         "rye sign {refs}",
		{diag.PermissionDenied, "project_outside"}:     "start a server for that project",
		{diag.ApprovalRequired, "sign_ask"}:            "rye sign {refs}",
		{diag.PermissionDenied, "copy_steers"}:         "rye load {ref} --to project",
		{diag.ApprovalRequired, "copy_to_user"}:        "rye load {ref} --to user",
		{diag.AuthRequired, "no_agent_key"}:            "rye key new --kind agent --owner agent --no-passphrase",
		{diag.LockMismatch, "entry_kept"}:              "review the change; rye lock accepts it",
		{diag.SigMultiple, "two_signatures"}:           "remove {detached}",
		{diag.Unsigned, "never_signed"}:                "review the file, then run `rye sign {ref}`",
		{diag.Legacy, "legacy_invalid"}:                "fix the errors above, review the item, then run `rye sign {ref}`",
		{diag.Legacy, "legacy_untrusted"}:              "review the item as if it had no signature, then run `rye sign {ref}`",
		{diag.Legacy, "legacy_unknown_key"}:            "name the signer's public key with --legacy-key FILE; or review the item as if it had no signature, then run `rye sign {ref}`",
		{diag.Legacy, "legacy_rest"}:                   "move the text to a line of its own to keep it, then run `rye sign {ref}`, which removes it",
		{diag.Usage, "no_token"}:                       "write a random text to a file that only you can read, and name it with --token-file",
		{diag.LimitExceeded, "busy"}:                   "wait until some calls have ended, then call again",
		{diag.ToolNotFound, "mcp_server_missing"}:      "rye mcp add {server}",
		{diag.ItemNotFound, "mcp_unknown"}:             "rye mcp list shows the servers of every space",
		{diag.ItemNotFound, "mcp_other_space"}:         "it is in {path}; --space names the space",
		{diag.AmbiguousItem, "mcp_exists"}:             "rye mcp refresh {server} asks it again; rye mcp remove {server} removes it",
		{diag.AmbiguousItem, "mcp_foreign_file"}:       "move it out of {directory}, which is for the tools of that server only",
		{diag.Usage, "mcp_literal"}:                    "set the variable in your environment and write {reference}; {default} has a default",
		{diag.Usage, "mcp_literal_url"}:                "set the variable {variable} and write {reference} in the position of the value, or send it with --header-env",
		{diag.ConfigError, "mcp_stale"}:                refresh,
		{diag.HashMismatch, "mcp_stale"}:               refresh,
		{diag.ToolNotFound, "mcp_stale"}:               refresh,
		{diag.ConfigError, "mcp_stale_user"}:           scoped,
		{diag.HashMismatch, "mcp_stale_user"}:          scoped,
		{diag.ToolNotFound, "mcp_stale_user"}:          scoped,
		{diag.ConsentRequired, "mcp_change"}:           "{command}",
		{diag.ConfigError, "variable_reserved"}:        "name the variable MCP_{variable}, in the item and in your environment",
		{diag.ConfigError, "variable"}:                 "set {variable} in the environment of rye",
		{diag.ExecutionFailed, "not_mcp"}:              "check that the command starts an MCP server; it wrote nothing to stderr",
		{diag.ExecutionFailed, "mcp_remote"}:           "ask the owner of the server",
		{diag.Timeout, "mcp_timeout"}:                  "raise config.timeout in {server}",
		{diag.PermissionDenied, "mcp_private_address"}: "rye mcp add NAME --url URL adds a server of your own network",
		{diag.Network, "not_mcp"}:                      "check the path of the address; servers of before 2025-03 need --transport sse",
		{diag.AuthFailed, "mcp_token"}:                 "pass a token with --header-env; rye has no OAuth login",
	}
}
