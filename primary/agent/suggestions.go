package agent

import (
	"fmt"
	"maps"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// situation identifies one suggestion: a code and the reason that the library
// set. Without a code it applies to every code, without a reason it is the
// default of its code.
type situation struct {
	code   diag.Code
	reason string
}

// suggestions are what a model can do about an error: call one of the four
// tools, or ask the user. They never name a command line: a model that has a
// shell would run it, and signing and trusting are decisions of a person. A word
// in braces is a fact of the error; a row whose facts are missing is not used.
func suggestions() map[situation]string {
	return map[situation]string{
		// The arguments of a call.
		{"", "arguments"}:           "fix each listed argument and call {tool} again",
		{"", "arguments_corrected"}: "call {tool} again with {corrected_call}",
		{"", "nearest"}:             "did you mean {nearest}?",
		{"", "tool_suggestion"}:     "{suggestion}",
		{"", "other_kind"}:          "{id} is a {kind}: call {tool} with item_type \"{kind}\"",
		{"", "search"}:              "call search with query \"{query}\"",
		{"", "no_project"}:          "this server has no project: pass project_path, or ask the user to create one",
		{"", "not_a_tool"}:          "call load with item_type \"tool\", item_id \"{id}\" to read it",
		{"", "mcp_server_item"}:     "call search with query \"*\", scope \"tool.mcp.{server}.*\" for its tools",

		// Signing and copying.
		{diag.PermissionDenied, "sign_disabled"}:     "ask the user to review and sign {refs}",
		{diag.PermissionDenied, "drafts_only"}:       "keep what you write below drafts/, or ask the user to review and sign {refs}",
		{diag.PermissionDenied, "agent_signed"}:      "only the agent's key has signed {path}: ask the user to review and sign it",
		{diag.PermissionDenied, "system_read_only"}:  "call load with destination project, then change the copy",
		{diag.ApprovalRequired, "sign_ask"}:          "ask the user to review and sign {refs}",
		{diag.PermissionDenied, "copy_steers"}:       "leave destination out to read it; ask the user for the copy, or write a tool of your own below drafts/",
		{diag.ApprovalRequired, "copy_to_user"}:      "ask the user to copy {ref} into the {space} space",
		{diag.HashMismatch, "changed_while_signing"}: "call sign again: the question names the digest of what is signed",
		{diag.ItemNotFound, "sign_not_found"}:        "write the file below {directory} of the {space} space first",
		{diag.ItemNotFound, "not_in_space"}:          "leave source out to load the item that execute would use",
		{diag.AmbiguousItem, "copy_exists"}:          "edit the existing file",
		{diag.AuthRequired, "no_agent_key"}:          "ask the user to make a key for agents",

		{diag.ApprovalRequired, "approval_danger"}:   "do it in another way, or ask the user to run it",
		{diag.ApprovalRequired, "approval_sandbox"}:  "ask the user to run it, or to permit it in the own agent/allowance",
		{diag.ApprovalRequired, "approval_tier"}:     "ask the user to run it, or to permit it in the own agent/allowance",
		{diag.PolicyDenied, "deny_from"}:             "the user's or the machine's allowance refuses it: do it in another way",
		{diag.ApprovalRequired, "foreign_signature"}: "ask the user: only the user replaces the signature of another key",

		// project_path.
		{diag.PermissionDenied, "project_outside"}: "ask the user to start a server for that project",
		{diag.ItemNotFound, "project_path"}:        "leave project_path out to use the server's project",

		// Tools of rye and the programs that they start.
		{diag.ExecutionFailed, "tool:language_server"}:  "ask the user to consent to the language server {server}, or read the files instead",
		{"", "tool:protected_path"}:                     "write another file, or ask the user to change this one: no tool does",
		{"", "protected_path"}:                          "write another file, or ask the user to change this one: no tool does",
		{"", "tool:file_tools"}:                         "call it again with the project_path of a project, or ask the user to start the server in one",
		{"", "file_tools"}:                              "call it again with the project_path of a project, or ask the user to start the server in one",
		{diag.ExecutionFailed, "tool:settings"}:         "ask the user to check the configuration {config}",
		{diag.ExecutionFailed, "tool:variable_missing"}: "ask the user to set the environment variable that the message names",
		{diag.ExecutionFailed, "not_installed"}:         "ask the user to install {program}",
		{diag.AuthRequired, "credential_empty"}:         "ask the user to set the environment variable that the message names",
		{diag.AuthFailed, "credential_refused"}:         "ask the user to check {credential}",
		{diag.ResourceExceeded, "max_bytes"}:            "request less",
		{diag.BundleFileMissing, "not_installed"}:       "ask the user to install the locked bundles",
		{diag.PermissionDenied, "installed_bundle"}:     "call load with destination project, then change the copy",

		// MCP servers.
		{"", "mcp_server_missing"}:                     "ask the user to add the MCP server {server}",
		{"", "mcp_stale"}:                              "ask the user to refresh the MCP server {server} and to review what changed",
		{"", "mcp_stale_user"}:                         "ask the user to refresh the MCP server {server} of the user space and to review what changed",
		{diag.ConsentRequired, "mcp_change"}:           "ask the user: only the user adds, refreshes and removes MCP servers",
		{diag.ConfigError, "variable"}:                 "ask the user to set {variable} in the environment of the server",
		{diag.PermissionDenied, "mcp_private_address"}: "ask the user to add the server",
		{diag.Timeout, "mcp_timeout"}:                  "ask the user to raise config.timeout in {server}",

		// Capabilities and limits.
		{diag.PermissionDenied, ""}:  "this server does not grant {missing}: ask the user to add it to capabilities in the configuration " + SettingsID + " of the user space",
		{diag.LimitExceeded, "busy"}: "wait until some calls have ended, then call again",

		// Registries.
		{diag.KeyUnknown, "registry_none"}:         "ask the user to pin a registry",
		{diag.KeyUnknown, "registry_unpinned"}:     "ask the user to pin the registry {host}",
		{diag.KeyUnknown, "release_scope"}:         "ask the user: they do not trust the signer of this release",
		{diag.KeyUnknown, "release"}:               "ask the user: they do not trust the signer of this release",
		{diag.ApprovalRequired, "registry_ask"}:    "ask the user to add {bundle} to the project or to the user space",
		{diag.PolicyDenied, "registry_deny"}:       "the allowance refuses items that are not installed: ask the user to add {bundle}",
		{diag.ConsentRequired, "adding"}:           "ask the user to add the bundle: it replaces items that are in use",
		{diag.AmbiguousItem, "registry_shadowed"}:  "execute the installed item, or ask the user",
		{diag.LockMismatch, "registry_version"}:    "leave the version out to use the one that is installed, or ask the user to update {bundle}",
		{diag.PermissionDenied, "registry_copy"}:   "ask the user to add {bundle}",
		{diag.ItemNotFound, "registry_item"}:       "call search with space \"registry\" to find the id",
		{diag.VersionNotFound, "registry_yanked"}:  "choose another version: call search with space \"registry\"",
		{diag.VersionNotFound, "registry_deleted"}: "choose another version: call search with space \"registry\"",
		{diag.PolicyDenied, "lookalike"}:           "do not use it: its name imitates {looks_like}. Report it to the user",

		// Items and their signatures.
		{"", "own_draft"}:       "call sign with item_type \"{kind}\", item_id \"{id}\"; a person promotes it",
		{diag.Unsigned, ""}:     "ask the user: no key that they trust has signed it",
		{diag.HashMismatch, ""}: "stop: {path} was changed after {owner} signed it. Ask the user, who reviews git diff. Do not sign it",
		{diag.KeyUnknown, ""}:   "ask the user: no key that they trust has signed it",
		{diag.LockMismatch, ""}: "the item differs from the project's lock: ask the user to review the change and update the lock",

		// Configuration, answers and runs.
		{diag.ConfigError, ""}:                    "ask the user to fix the configuration that the message names",
		{diag.ApprovalDenied, "approval_timeout"}: "the user did not answer in time. Continue without it; do not ask again unless the user requests it",
		{diag.ApprovalDenied, ""}:                 "the user refused. Continue without it; do not ask again unless the user requests it",
		{diag.Cancelled, ""}:                      "call again if the result is still needed",
		{diag.Timeout, ""}:                        "give it less to do, or ask the user to raise the timeout of the item",
		{diag.Internal, ""}:                       "report the message to the user: it is a defect of rye",
	}
}

// classSuggestions are the defaults for codes that have no row.
func classSuggestions() map[diag.Class]string {
	return map[diag.Class]string{
		diag.ClassUsage:     "fix what the message names and call again; load shows the item with its schema",
		diag.ClassInvalid:   "fix what the message names and call again; load shows the item with its schema",
		diag.ClassNotFound:  "call search to find the id",
		diag.ClassDrift:     "ask the user to update the lock of the project",
		diag.ClassIntegrity: "do not work around this check: report the message to the user",
		diag.ClassHistory:   "stop, and report the message to the user",
		diag.ClassTrust:     "ask the user to review the item and its signer",
		diag.ClassDenied:    "ask the user to permit it",
		diag.ClassRemote:    "try again later",
		diag.ClassAuth:      "ask the user to set up the key or credential that the message names",
		diag.ClassLimit:     "give it less to do, or ask the user to raise the limit",
		diag.ClassFailed:    "read the details, fix the parameters and call execute again",
	}
}

// newFailure renders an error with the suggestions for agents.
func newFailure(e *diag.Error) *diag.Failure {
	shown := *e
	shown.Findings = nil
	for _, f := range e.Findings {
		f.Fix = findingSuggestion(f)
		shown.Findings = append(shown.Findings, f)
	}
	out := diag.NewFailure(&shown)
	out.Suggestion = suggestion(e)
	once(out, e)
	return out
}

// brief renders findings of an error without what they have in common with it.
func brief(fs []diag.Finding, code diag.Code) any {
	list, _ := generic(fs)
	out, _ := list.([]any)
	for _, f := range out {
		if m, ok := f.(map[string]any); ok {
			delete(m, "severity")
			if m["code"] == string(code) {
				delete(m, "code")
			}
		}
	}
	return out
}

// once removes the repetitions of an error with findings: the first finding from the
// message, and from each finding the code of the error.
func once(out *diag.Failure, e *diag.Error) {
	if len(e.Findings) == 0 {
		return
	}
	var errs []diag.Finding
	for _, f := range e.Findings {
		if f.Severity == diag.SeverityError {
			errs = append(errs, f)
		}
	}
	if len(errs) == 0 || len(errs) != len(e.Findings) {
		return
	}
	before, _, found := strings.Cut(out.Message, ": "+diag.Redact(errs[0].String()))
	if !found {
		return
	}
	if len(errs) > 1 {
		out.Message = fmt.Sprintf("%s: %d problems", before, len(errs))
		out.Details["findings"] = brief(errs, e.Code)
		return
	}
	text := errs[0].Message
	if errs[0].Code != e.Code {
		text = string(errs[0].Code) + ": " + text
	}
	if errs[0].Path != "" || errs[0].Line > 0 || errs[0].Facts != nil {
		return
	}
	out.Message = before + ": " + diag.Redact(text)
	delete(out.Details, "findings")
}

// suggestion returns what a model can do about an error, or "".
func suggestion(e *diag.Error) string {
	if e.Details["schema"] != nil {
		return "fix the parameters: details.schema is what the item takes"
	}
	if e.Reason == "no_stderr" || e.Reason == "reported" { // the message is all that is known
		return ""
	}
	text := reasonText(e.Code, e.Reason, e.Details)
	if text == "" && len(e.Findings) == 1 {
		text = findingSuggestion(e.Findings[0])
	}
	if text == "" {
		text = expand(suggestions()[situation{e.Code, ""}], e.Details)
	}
	if text == "" {
		text = classSuggestions()[e.Code.Class()]
	}
	return text
}

// findingSuggestion returns what a model can do about a finding, or "". A
// finding without a reason has none of its own.
func findingSuggestion(f diag.Finding) string {
	facts := map[string]any{"path": f.Path}
	maps.Copy(facts, f.Facts)
	return reasonText(f.Code, f.Reason, facts)
}

// reasonText returns the row of a code and reason, or of the reason alone.
func reasonText(code diag.Code, reason string, facts map[string]any) string {
	if reason == "" {
		return ""
	}
	table := suggestions()
	if text := expand(table[situation{code, reason}], facts); text != "" {
		return text
	}
	return expand(table[situation{"", reason}], facts)
}

// expand fills in the facts of a row. It returns "" if one is missing.
func expand(text string, facts map[string]any) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		switch v := facts[name].(type) {
		case nil:
			return ""
		case []string:
			b.WriteString(strings.Join(v, ", "))
		case map[string]any:
			doc, _ := jsonx.Marshal(v)
			b.Write(doc)
		default:
			fmt.Fprint(&b, v)
		}
		text = after
	}
}
