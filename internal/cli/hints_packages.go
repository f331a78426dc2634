package cli

import "github.com/ryeos/rye/diag"

// packagesHints are those of package packages and of its sources.
func packagesHints() map[situation]string {
	out := map[situation]string{
		{diag.AmbiguousItem, "manifests"}:               "ask the publisher to move the other bundles into subdirectories of their own",
		{diag.AmbiguousItem, "whole_id"}:                "write the whole id",
		{diag.AuthRequired, "git_credentials"}:          "set up a credential helper or an ssh key until git ls-remote {url} works",
		{diag.AuthFailed, "git_credentials"}:            "set up a credential helper or an ssh key until git ls-remote {url} works",
		{diag.BundleFileExtra, "unlisted_project_file"}: "ask the publisher for a release made by a newer rye",
		{diag.BundleFileExtra, "unlocked"}:              "rye prune",
		{diag.ConsentRequired, "accepting"}:             "review the list above, then run it at a terminal or with --yes",
		{diag.ConsentRequired, "adding"}:                "review the list above, then run it at a terminal or with --yes",
		{diag.ConsentRequired, "replaced_release"}:      "ask the publisher why the release changed, before you add it",
		{diag.ConsentRequired, "locking"}:               "review the list above, then run rye lock at a terminal or with --yes",
		{diag.ConsentRequired, "prefer_base"}:           "a maintainer accepts it with --accept-prefer {ref}",
		{diag.Drift, "rules_changed"}:                   "review the change of rye.yaml before you merge it",
		{diag.ConsentRequired, "updating"}:              "review the output of `rye update --dry-run`, then run it at a terminal or with --yes",
		{diag.AuthRequired, "host_key"}:                 "run git ls-remote {url} at a terminal, and compare the key that ssh shows with the one that the host publishes",
		{diag.ConfigError, "git_config"}:                "git config --list shows what git cannot read",
		{diag.ConfigError, "transport_setting"}:         "unset RYE_GIT, or remove the setting {setting} from git's configuration",
		{diag.Network, "unknown_host"}:                  "check the spelling of the host, and your network",
		{diag.ConfigError, "idle_trust"}:                "write the beginning of the ids in rye.lock, such as github.com/acme, or remove the rule",
		{diag.Cooldown, "min_age"}:                      "try again after {allowed_from}, or choose an older version",
		{diag.Drift, "not_installed"}:                   "rye sync",
		{diag.FileSystemError, "cache"}:                 "set RYE_CACHE to another directory, or free space with rye cache gc",
		{diag.FileSystemError, "disk"}:                  "free disk space or fix the permissions of the directory, then run the command again",
		{diag.HashMismatch, "cache"}:                    "rye cache verify --repair",
		{diag.LockMismatch, "changed"}:                  "rye sync",
		{diag.LockMismatch, "lock_edited"}:              "review the last change of rye.lock with git log -p rye.lock",
		{diag.LockStale, "prefer"}:                      "review prefer of rye.yaml, then run rye lock",
		{diag.LockStale, "locked_flag"}:                 "run it without --locked",
		{diag.PolicyDenied, "lookalike"}:                "compare both ids letter by letter; if both are right, add {bundle} to require in rye.yaml",
		{diag.PolicyDenied, "require_signed"}:           "require a release of it, or move the folder into the project",
		{diag.PolicyDenied, "sources"}:                  "rye why {bundle} shows what requires it",
		{diag.Revoked, "release"}:                       "rye update selects a later release; rye remove {bundle} removes the bundle",
		{diag.SignerChanged, "lock_edited"}:             "review the last change of rye.lock with git log -p rye.lock",
		{diag.SignerChanged, "release"}:                 "ask the publisher by another channel; if the change is right, run rye remove {bundle}, then rye add {bundle}@{version}",
		{diag.SourceMoved, "manifest_id"}:               "if you mean that bundle, run rye add {found}@{version}",
		{diag.SourceMoved, "redirect"}:                  "if you mean that repository, require {to} instead",
		{diag.SourceNotFound, "nearest"}:                "did you mean {nearest}?",
		{diag.SourceNotFound, "offline"}:                "run it once without --offline",
		{diag.SourceNotFound, "not_listed"}:             "rye list --bundles",
		{diag.Unresolvable, "excluded"}:                 "remove the version from exclude in rye.yaml, or require another one",
		{diag.Unresolvable, "replacement_version"}:      "write {replacement}@VERSION in replace of rye.yaml",
		{diag.Unresolvable, "same_bundle"}:              "require one address everywhere; rye why {bundle} shows what requires this one",
		{diag.Usage, "item_source"}:                     "write {item}@SOURCE, as in {item}@github.com/acme/tools",
		{diag.Usage, "required_already"}:                "for another version, run rye add {required}@VERSION",
		{diag.Usage, "version_query"}:                   "write {bundle}@v1.2.0, {bundle}@latest, or @ and 7 or more digits of a commit; rye info {bundle} lists the versions",
		{diag.ValidationFailed, "vendor_line"}:          "write vendor: true on a line of its own",
		{diag.VersionNotFound, "nearest"}:               "did you mean {nearest}?",
	}
	for _, code := range []diag.Code{diag.KeyUnknown, diag.Scope} {
		out[situation{code, "release_scope"}] = "compare the fingerprint of the signer with the publisher's, then run rye trust add --from {bundle}@{version} --fingerprint FINGERPRINT"
		out[situation{code, "release"}] = "get the publisher's key document from a person you trust, read it, then run rye trust add FILE"
	}
	for _, code := range []diag.Code{diag.Unsigned, diag.HashMismatch, diag.BundleFileMissing, diag.BundleFileExtra} {
		out[situation{code, "release"}] = "ask the publisher to run rye bundle create and to tag a new release"
	}
	out[situation{diag.KeyUnknown, "first_contact"}] = "rye info {bundle} shows what it brings; compare the fingerprint of the signer with the publisher's, then run rye add {source} --trust FINGERPRINT"
	out[situation{diag.VersionMismatch, "release"}] = "ask the publisher whether the tag has an older release; {expected} needs a manifest of its own"
	for _, code := range []diag.Code{diag.ExecutionFailed, diag.AuthRequired, diag.AuthFailed, diag.SourceNotFound, diag.SourceMoved} {
		out[situation{code, "no_git"}] = "install git, or add its directory to PATH"
	}
	for _, code := range []diag.Code{diag.HiddenChars, diag.Encoding} {
		out[situation{code, "bundle"}] = "ask the publisher what the files are for before you use them"
	}
	return out
}
