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

// graphHints are the hints of the mistakes that a check of a graph finds.
func graphHints() map[situation]string {
	return map[situation]string{
		{diag.ValidationFailed, "graph_edge"}:        "add the node {node}, or name one of this block",
		{diag.ValidationFailed, "graph_unreachable"}: "lead an edge to {node}, or remove it",
		{diag.ValidationFailed, "graph_cycle"}:       "give an edge of the cycle a condition, and add one that leaves it",
		{diag.ValidationFailed, "graph_dead_edge"}:   "give the edge before it a condition, or remove this one",
		{diag.ValidationFailed, "graph_ask_timeout"}: "add default, or on_error with the node to go to without an answer",
		{diag.ValidationFailed, "graph_unassigned"}:  "assign {key} in config.state or in a node before, or write ${state.{key}?}",
		{diag.ValidationFailed, "graph_unread"}:      "remove the assignment if nothing needs the value",
		{diag.ValidationFailed, "graph_input"}:       "add {key} to the properties of config_schema",
		{diag.ValidationFailed, "graph_env_name"}:    "add {key} to env_requires",
		{diag.ValidationFailed, "graph_run_key"}:     "read run.id, run.started or run.step",
		{diag.ValidationFailed, "graph_state_key"}:   "add {key} to the properties of state_schema",
		{diag.ValidationFailed, "graph_root"}:        "write $${ for a literal ${",
		{diag.ValidationFailed, "graph_capability"}:  "add {capability} to permissions",
		{diag.ValidationFailed, "graph_compare"}:     "read the number of the text with int(…) or float(…), or compare it with a text",
		{diag.ValidationFailed, "graph_item"}:        "create {ref}, or name an item that exists",
		{diag.ValidationFailed, "graph_verify"}:      "correct {ref} first",
		{diag.ValidationFailed, "graph_unlocked"}:    "rye lock",
		{diag.ValidationFailed, "graph_uncached"}:    "remove cache_result",
		{diag.ValidationFailed, "graph_parameter"}:   "the parameters of {ref} are {parameters}",
		{diag.ValidationFailed, "graph_missing"}:     "add {parameter} to params",
		{diag.ValidationFailed, "graph_value"}:       "write a value that config_schema of {ref} permits",
		{diag.ValidationFailed, "graph_output"}:      "read one of {outputs}",
		{diag.ValidationFailed, "graph_type"}:        "assign another value, or change the type of {key} in state_schema",
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
