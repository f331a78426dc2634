package cli

import "github.com/ryeos/rye/diag"

// projectHints are the hints about opening a project and choosing a key.
func projectHints() map[situation]string {
	return map[situation]string{
		{diag.AuthRequired, "no_key"}:            "rye key new --owner YOUR-NAME",
		{diag.AuthRequired, "no_key_file"}:       "name the key's file with --key FILE; if it is lost, make another key and choose it with rye key use",
		{diag.AuthRequired, "no_such_key"}:       "rye key list",
		{diag.AuthRequired, "no_terminal"}:       "load the key with rye key agent-add, or name a file in {variable}",
		{diag.AuthRequired, "only_agent_key"}:    "rye key new --owner YOUR-NAME, or choose the agent's key with --key",
		{diag.ConfigError, "memo_secret"}:        "delete {path}; rye makes another one",
		{diag.ConfigError, "cache_owner"}:        "name a directory that only you can write with {variable}",
		{diag.ConfigError, "policy_mode"}:        "review the file, then run chmod go-w {path}",
		{diag.ConfigError, "user_directory"}:     "make {path} yours and run chmod go-w on it, or name another directory with {variable}",
		{diag.ConsentRequired, "directory"}:      "if you trust that user: rye trust directory {path}",
		{diag.ConsentRequired, "interpreter"}:    "if you trust the program: rye trust interpreter {path}",
		{diag.FileSystemError, "no_cache"}:       "set RYE_CACHE to a directory",
		{diag.FileSystemError, "no_state"}:       "set HOME or XDG_STATE_HOME",
		{diag.FileSystemError, "no_home"}:        "set HOME",
		{diag.FileSystemError, "policy"}:         "repair {path}, or ask the administrator of this machine",
		{diag.ItemNotFound, "no_project"}:        "rye init",
		{diag.ItemNotFound, "home_project"}:      "change to the directory of a project, or make one with rye init DIR: the home directory is never one",
		{diag.ItemNotFound, "no_project_in_git"}: "name the project's directory with -C DIR, or as REV:DIRECTORY",
		{diag.ItemNotFound, "not_a_project"}:     "rye init, or name another directory with --project",
		{diag.LockMissing, "relock"}:             "rye lock",
		{diag.LockMissing, "sparse"}:             "git sparse-checkout add {paths}",
		{diag.LockStale, "relock"}:               "rye lock",
		{diag.TrustChanged, "home_tracked"}:      "set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME, to directories outside of the repository",
		{diag.Usage, "bare_index"}:               "rye verify --rev HEAD",
		{diag.Usage, "fingerprint"}:              "rye key list --json prints fingerprints in full",
		{diag.Usage, "system_space"}:             "set RYE_SYSTEM_SPACE to the directory that contains the machine's .ai, or write --space user",
		{diag.Usage, "trust_root_inside"}:        "keep the file elsewhere, or name the fingerprint in {variable}",
		{diag.Usage, "which_key"}:                "choose one with --key FINGERPRINT, or make it the default with `rye key use {first}`",
	}
}
