package cli

import "github.com/ryeos/rye/diag"

// leavesHints are those of the log of signatures, git, the commit hook and
// hidden characters.
func leavesHints() map[situation]string {
	out := map[situation]string{
		{diag.TranscriptBroken, "log_changed"}:         "rye key log --check",
		{diag.TranscriptBroken, "transcript_line"}:     "restore .ai/threads from a backup; a changed log is not continued",
		{diag.TranscriptBroken, "transcript_artifact"}: "restore {path} from a backup",
		{diag.ThreadNotFound, "no_run"}:                "rye graph list",
		{diag.ThreadNotFound, "no_thread"}:             "rye threads list",
		{diag.ThreadState, "not_recordable"}:           "rye threads show {id}",
		{diag.ItemNotFound, "no_tests"}:                "rye list test",
		{diag.FileSystemError, "test_exists"}:          "--replace replaces it, --as names another one",
		{diag.ReplayMismatch, "test_differs"}:          "if the change is intended, record the test again with rye test record --replace",
		{diag.ConfigError, "graph_env"}:                "set the variables, then run it again",
		{diag.ValidationFailed, "graph_path"}:          "correct the path in the graph, or write ${path?} if the value may be missing",
		{diag.ValidationFailed, "graph_state"}:         "correct state_schema or the assigned value",
		{diag.LimitExceeded, "graph_steps"}:            "check the graph for a cycle, or raise config.max_steps",
		{diag.Cancelled, "thread_resume"}:              "continue it with `rye threads resume {thread_id}`",
		{diag.AuthRequired, "no_provider"}:             "set one of the variables, store a key with `rye provider login`, choose a model of this machine with `rye provider add`, or print the text for another agent with --print",
		{diag.Network, "local_server"}:                 "start the server of {provider} at {address}; `rye provider list` shows what else can be used",
		{diag.Cancelled, "graph_resume"}:               "continue the run later with `rye graph resume {run_id}`",
		{diag.ExecutionFailed, "graph_failed"}:         "",
		{diag.GraphChanged, "graph_changed"}:           "review the changes, then run `rye graph resume {run_id} --accept-changed`",
		{diag.AmbiguousItem, "runs"}:                   "write more of the id",
		{diag.ApprovalRequired, "run_set"}:             "rye graph resume {run_id} --set KEY=VALUE",
		{diag.Conflict, "copy"}:                        "rye threads diff {id}",
		{diag.PathEscape, "copy_path"}:                 "copy by hand what of it you need",
		{diag.ThreadState, "copy_in_use"}:              "run it again when no program changes the working copy",
		{diag.ConfigError, "no_repository"}:            "git init, and commit the files, or start the thread without --workspace",
		{diag.ConfigError, "no_commit"}:                "commit the files, or start the thread without --workspace",
		{diag.ThreadState, "below_run"}:                "rye graph resume {run_id}",
		{diag.ExecutionFailed, "thread_in_thread"}:     "call the directive from a graph that a person or a client starts",
		{diag.Timeout, "still_running"}:                "rye threads list --active; raise --timeout",
		{diag.ThreadState, "taken_over"}:               "rye threads show {id}",
		{diag.ThreadState, "no_question"}:              "rye graph list",
		{diag.ThreadState, "thread_no_question"}:       "rye threads show {id}",
		{diag.ThreadState, "answered"}:                 "rye graph resume {run_id}",
		{diag.ThreadState, "ended"}:                    "rye graph list",
		{diag.ConfigError, "credentials_mode"}:         "chmod 600 {path}; if another user may have read it, withdraw the keys in it",
		{diag.AuthRequired, "no_usable_provider"}:      "rye provider list",
		{diag.AuthRequired, "provider_key"}:            "rye provider login {provider}",
		{diag.ApprovalRequired, "provider_add"}:        "run it at a terminal, or add --yes",
		{diag.ApprovalRequired, "try_cost"}:            "run it at a terminal, or add --yes",
		{diag.ToolNotFound, "no_provider_item"}:        "rye provider list",
		{diag.ThreadNotFound, "not_unique"}:            "give more of the id",
		{diag.VersionMismatch, "store_newer"}:          "use the version of rye that wrote it, or a later one",
		{diag.FileSystemError, "store_corrupt"}:        "move {path} away: the next thread makes a new one, without what was spent before",
		{diag.FileSystemError, "network_file_system"}:  "set XDG_STATE_HOME to a directory on a disk of this machine",
		{diag.Usage, "only_graphs"}:                    "leave out the flag",
		{diag.Usage, "not_graph"}:                      "rye run {ref}",
		{diag.Usage, "fork_end"}:                       "choose an earlier line: rye graph log RUN",
		{diag.ConfigError, "no_project"}:               "rye init",
		{diag.ThreadState, "running"}:                  "wait for the process {pid}, or stop it",
		{diag.KeyUnknown, "runtime_key"}:               "restore the runtime key, or start a new run",
		{diag.TranscriptBroken, "log_line"}:            "find out who changed the log; to start a new one, move it and {head} away",
		{diag.FileSystemError, "lock_held"}:            "end {holder} unless it is a rye that works, then try again",
		{diag.FileSystemError, "no_state_directory"}:   "set HOME, or set XDG_STATE_HOME to a directory outside the project",

		{diag.PathEscape, "link"}:               "rye writes through no link here: delete {link} if you did not make it, else replace it by what it leads to",
		{diag.FileSystemError, "not_directory"}: "rename or remove {entry}: a directory must be there",
		{diag.NotRegular, "not_file"}:           "rename or remove {entry}: a regular file must be there",

		{diag.SourceNotFound, "not_a_git_repository"}: "run it in a git repository; git init makes one",
		{diag.ExecutionFailed, "program_of_project"}:  "install {program} outside the project, or add its directory to PATH",
		{diag.ExecutionFailed, "ignored_settings"}:    "if you need {settings}, set it with `git config --global`",
		{diag.Network, "ignored_settings"}:            "if you need {settings}, set it with `git config --global`",
		{diag.ExecutionFailed, "git_identity"}:        "set user.name and user.email with `git config --global`",
		{diag.VersionNotFound, "no_revision"}:         "choose a commit that `git log --all --oneline` lists; in CI, fetch the whole history",
		{diag.VersionNotFound, "no_commit"}:           "commit first",
		{diag.Network, "git_remote"}:                  "git ls-remote {remote}",
		{diag.LimitExceeded, "remote"}:                "ask the owner of the repository for a smaller one",
		{diag.PathEscape, "git_tree"}:                 "remove or rename the entry and commit again; `git fsck` shows trees that git itself does not write",
		{diag.ExecutionFailed, "tag_unsigned"}:        "check user.signingKey and gpg.format with `git config --list`",

		{diag.Usage, "husky"}:                     "rye hook install --print husky",
		{diag.Usage, "hook_project_file"}:         "rye init",
		{diag.ValidationFailed, "lock_conflict"}:  "rye lock, then `git add {path}` and commit",
		{diag.ValidationFailed, "merge_conflict"}: "edit it, then run `git add {path}` and commit",
		{diag.Drift, "merge_signed"}:              "git commit --no-edit",
		{diag.Usage, "shared_hooks"}:              "set core.hooksPath for this repository",
		{diag.FileSystemError, "two_hooks"}:       "merge the two by hand, then run `rye hook install` again",
		{diag.FileSystemError, "edited_hook"}:     "move the additions to {kept}, which runs first, and delete the hook",
		{diag.PolicyDenied, "secret_path"}:        "run `git rm --cached {path}`: it belongs to this machine, not into the repository",
		{diag.PolicyDenied, "private_key"}:        "run `git rm --cached {path}` and keep the key outside the repository",
		{diag.NotRegular, "unmerged"}:             "resolve the conflict and add the file",
		{diag.NotRegular, "submodule"}:            "add its files, or install it as a bundle",
		{diag.Legacy, "other_signer"}:             "rye sign --upgrade {ref}",

		{diag.HiddenChars, "invalid_utf8"}:    "save the file as UTF-8",
		{diag.HiddenChars, "carriage_return"}: "end lines with LF",
		{diag.HiddenChars, "invisible"}:       "remove them, or write an escape sequence instead",
		{diag.HiddenChars, "packed"}:          "ship the source instead",
	}
	for _, code := range []diag.Code{diag.Unsigned, diag.HashMismatch, diag.SigMalformed, diag.SigMultiple, diag.SigInvalid} {
		out[situation{code, "other_branch"}] = "review it, then run `rye sign {ref}`"
	}
	for _, code := range []diag.Code{diag.KeyUnknown, diag.KeyWeak, diag.SignerChanged, diag.TrustChanged, diag.Stale,
		diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked} {
		out[situation{code, "other_signer"}] = "review it; `rye sign --take-over {ref}` replaces the signature"
	}
	return out
}
