package cli

import "github.com/ryeos/rye/diag"

// signHints are the hints of rye sign.
func signHints() map[situation]string {
	const takeOver = "review the file; `rye sign --take-over {ref}` replaces the signature"
	return map[situation]string{
		{diag.ApprovalRequired, "foreign_signature"}:     takeOver,
		{diag.ApprovalRequired, "foreign_by_pattern"}:    takeOver,
		{diag.ApprovalRequired, "draft_by_pattern"}:      "review the file, then run `rye sign {ref}`",
		{diag.ApprovalRequired, "unreadable_by_pattern"}: "review the file, then run `rye sign {ref}`",
		{diag.ApprovalRequired, "conflict_by_pattern"}:   "review the file, then run `rye sign {ref}`",
		{diag.ApprovalRequired, "legacy_by_pattern"}:     "rye sign --upgrade {ref}",
		{diag.ApprovalRequired, "staged_differs"}:        "`rye sign --staged` at a terminal shows the difference and asks, then commit again; `git restore --staged {path}` takes it out of the commit",
		{diag.HashMismatch, "changed_while_signing"}:     "review the file as it is now, then run the command again",
		{diag.ParsingError, "conflict_markers"}:          "finish the merge: choose the lines to keep, and remove the markers",
		{diag.ValidationFailed, "no_header"}:             "to make it a tool, add {header}; a file that only helps other tools needs nothing",
		{diag.ToolNotFound, "no_header"}:                 "a tool begins with {header}",
		{diag.ValidationFailed, "no_tool_type"}:          "add tool_type, for example script; or remove executor_id if it is a support file",
		{diag.ValidationFailed, "own_key"}:               "remove the key, or begin a key of your own with x-",
		{diag.ValidationFailed, "currency"}:              "convert the amount to US dollars, and remove spend_currency or write USD",
		{diag.ValidationFailed, "extends_caps"}:          "remove {missing} from the permissions, or add it to those of {base}",
		{diag.PermissionDenied, "context_unsigned"}:      "review the item, then run `rye sign {ref}`",
		{diag.PermissionDenied, "context_agent"}:         "only an agent's key has signed it: review the item, then run `rye sign {ref}`, or permit the directive {missing}",
		{diag.PermissionDenied, "context_untrusted"}:     "rye trust explain {ref}",
		{diag.PermissionDenied, "extends_caps"}:          "remove {missing} from the permissions, or add it to those of {base}",
		{diag.ValidationFailed, "used_missing"}:          "create {ref}, or remove its name from this file",
		{diag.ValidationFailed, "header_key"}:            "remove the line, or write the key as x-…; a line of text in a header begins with a capital letter",
		{diag.ValidationFailed, "header_unread"}:         "write {form}",
		{diag.ValidationFailed, "was_tool"}:              "restore tool_type and executor_id; or, if it is not a tool now, move it to another id",
	}
}
