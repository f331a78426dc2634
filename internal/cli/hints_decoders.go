package cli

import "github.com/ryeos/rye/diag"

// decodersHints are the hints for fields and values of decoded files.
func decodersHints() map[situation]string {
	return map[situation]string{
		{diag.ValidationFailed, "nearest"}:         "did you mean {nearest}?",
		{diag.ValidationFailed, "allowance_wider"}: "remove the excess: only an item agent/allowance of your user space permits more",
		{diag.ParsingError, "python_syntax"}:       "run python3 -m py_compile {path} to see the error",
	}
}

// approvalHints are the hints about calls that need a person.
func approvalHints() map[situation]string {
	const origin = "; `rye config show agent/allowance --origin` names the file"
	return map[situation]string{
		{diag.PolicyDenied, "deny_from"}:            "the author of approvals.deny_from decides" + origin,
		{diag.ApprovalRequired, "approval_danger"}:  "review the command, then run it yourself at a terminal: rye run {item}",
		{diag.ApprovalRequired, "approval_sandbox"}: "run it at a terminal: rye run {item}; or name it in sandbox.unconfined of your own agent/allowance",
		{diag.ApprovalRequired, "approval_tier"}:    "run it at a terminal: rye run {item}; or raise approvals.auto_approve_up_to of your own agent/allowance",
		{diag.ApprovalDenied, "approval_timeout"}:   "run it again and answer; approvals.timeout_seconds is the time for an answer",
	}
}
