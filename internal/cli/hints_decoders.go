package cli

import "github.com/ryeos/rye/diag"

// decodersHints are the hints for fields and values of decoded files.
func decodersHints() map[situation]string {
	return map[situation]string{
		{diag.ValidationFailed, "nearest"}:         "did you mean {nearest}?",
		{diag.ValidationFailed, "allowance_wider"}: "remove the excess; a person permits more by `rye config set --user agent/allowance KEY=VALUE`",
		{diag.ParsingError, "python_syntax"}:       "run python3 -m py_compile {path} to see the error",
	}
}

// approvalHints are the hints about calls that need a person.
func approvalHints() map[situation]string {
	const origin = "; `rye config show agent/allowance --origin` names the file"
	return map[situation]string{
		{diag.Usage, "setting_form"}:                "rye config set --user agent/allowance sandbox.minimum=basic",
		{diag.Usage, "setting_user"}:                "rye config set --user {id} KEY=VALUE",
		{diag.ApprovalRequired, "setting_headless"}: "run the command at a terminal",
		{diag.Scope, "setting_agent"}:               "sign with a key of your own: --key OWNER; rye key list shows them",
		{diag.PolicyDenied, "deny_from"}:            "the author of approvals.deny_from decides" + origin,
		{diag.ApprovalRequired, "approval_danger"}:  "review the command, then run it yourself at a terminal: rye run {item}",
		{diag.ApprovalRequired, "approval_sandbox"}: "run it at a terminal: rye run {item}; `rye config set --user agent/allowance sandbox.unconfined=…` permits it without a question",
		{diag.ApprovalRequired, "approval_tier"}:    "run it at a terminal: rye run {item}; `rye config set --user agent/allowance approvals.auto_approve_up_to.sandboxed={tier}` permits it without a question",
		{diag.ApprovalDenied, "approval_timeout"}:   "run it again and answer; approvals.timeout_seconds is the time for an answer",
	}
}
