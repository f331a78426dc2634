package cli

import "github.com/ryeos/rye/diag"

const (
	manifestChanged = "review the change with `git diff`; if you made it, run `rye bundle create {id}`"
	cosignAgain     = "remove the file; its signer can run `rye bundle sign {id}` again"
)

// lockHints are those of packages lock, bundle and verify.
func lockHints() map[situation]string {
	return map[situation]string{
		{diag.HashMismatch, "create"}:                      "review the change with `git diff`, then sign the file with `rye sign '*'`",
		{diag.HashMismatch, "manifest"}:                    manifestChanged,
		{diag.Unsigned, "manifest"}:                        manifestChanged,
		{diag.SigMalformed, "manifest"}:                    manifestChanged,
		{diag.SigMultiple, "manifest"}:                     manifestChanged,
		{diag.SigInvalid, "manifest"}:                      manifestChanged,
		{diag.BundleFileExtra, "manifest"}:                 "remove the file, or run `rye bundle create {id}`",
		{diag.BundleFileMissing, "manifest"}:               "restore the file, or run `rye bundle create {id}`",
		{diag.BundleFileExtra, "requires"}:                 "rye bundle create {id}",
		{diag.HashMismatch, "cosignature"}:                 cosignAgain,
		{diag.Unsigned, "cosignature"}:                     cosignAgain,
		{diag.SigMalformed, "cosignature"}:                 cosignAgain,
		{diag.SigMultiple, "cosignature"}:                  cosignAgain,
		{diag.SigInvalid, "cosignature"}:                   cosignAgain,
		{diag.Usage, "bundle_id"}:                          "write a host path (github.com/acme/tools), a git URL, a local path (./tools) or registry:NAME",
		{diag.Usage, "no_host"}:                            "write a host path (github.com/OWNER/{name}), a git URL (git@HOST:{name}), a local path (./{name}) or registry:{name}",
		{diag.ValidationFailed, "not_editable"}:            "write {key} on one line as `key: value`",
		{diag.ParsingError, "conflict"}:                    "rye lock",
		{diag.ParsingError, "sum_conflict"}:                "remove the conflict markers and keep all other lines",
		{diag.Encoding, "crlf"}:                            "add `rye.lock -text` and `rye.sum -text` to .gitattributes and check the files out again",
		{diag.Drift, "form"}:                               "rye lock",
		{diag.Rollback, "revocations"}:                     "restore .ai/trust from git; if the removal is intended, delete the line revocations from rye.lock and run `rye lock`",
		{diag.SourceNotFound, "no_repository"}:             "git init",
		{diag.ItemNotFound, "makes_no_bundle"}:             "rye bundle create ID --version 0.1.0",
		{diag.AmbiguousItem, "several_bundles"}:            "rye bundle publish {id}",
		{diag.Usage, "bare"}:                               "run it in a clone",
		{diag.Drift, "unclean"}:                            "commit or discard the changes that `git status` lists",
		{diag.BundleFileMissing, "manifest_not_committed"}: "run `git add -f .ai/bundles/{id}` and commit",
		{diag.BundleFileMissing, "no_project_file"}:        "create it with `rye init`, then run `rye bundle create {id}` and commit",
		{diag.Unresolvable, "local_requirement"}:           "require a release of it, or make it part of this bundle",
		{diag.Threshold, "publish"}:                        "ask another signer to run `rye bundle sign {id}`, then commit the signature",
		{diag.VersionMismatch, "publish"}:                  "run `rye bundle create {id} --version {expected}` and commit",
		{diag.TagMoved, "released"}:                        "run `rye bundle create {id} --version {next}` and commit",
		{diag.VersionNotFound, "no_tag"}:                   "run `git fetch --tags`, or name the manifest with --manifest FILE",
		{diag.ItemNotFound, "no_bundle"}:                   "rye bundle list",
		{diag.Scope, "revoke_release"}:                     "sign with --key of a signer of the release",
		{diag.KeyUnknown, "revoke_release"}:                "trust the publisher with `rye trust add FILE` first",
		{diag.ItemNotFound, "no_publisher"}:                "rye bundle publisher",
		{diag.Scope, "publisher_root"}:                     "sign with --key of a root key that `rye bundle publisher {name}` lists",
		{diag.LockRepointed, "base"}:                       "restore the entry from the base revision, or review who changed it",
		{diag.Rollback, "base"}:                            "restore .ai/trust from the base revision, then run `rye lock`",
		{diag.SumConflict, "base"}:                         "restore the line from the base revision",
		{diag.LockMismatch, "caps"}:                        "review who changed rye.lock with `git log -p rye.lock`, then run `rye lock`",
		{diag.LockMismatch, "installed"}:                   "rye sync",
		{diag.HashMismatch, "installed"}:                   "rye sync",
		{diag.BundleFileExtra, "not_locked"}:               "rye prune",
		{diag.FileSystemError, "no_object"}:                "fetch the missing objects: a partial clone has no file contents",
		{diag.AmbiguousItem, "alike_dir"}:                  "move its files into .ai, or remove it",
		{diag.AmbiguousItem, "nested_dir"}:                 "rye verify --project {project}",
		{diag.FileSystemError, "leftover"}:                 "remove the file",
		{diag.ConfigError, "sealed"}:                       "remove the file, or give it another id",
		{diag.Unsigned, "no_file"}:                         "remove the signature, or restore the file",
		{diag.Unsigned, "not_an_item"}:                     "give the file a valid id and sign it, list it in a bundle manifest, or move it out of .ai",
		{diag.SchemaNotFound, "no_extractor"}:              "move it to a directory of a kind, or out of .ai",
		{diag.LockStale, "system"}:                         "run rye lock, or use the version of rye that wrote the lock",
		{diag.ItemNotFound, "used_missing"}:                "create {ref}, or remove its name from this file",
		{diag.ToolNotFound, "used_missing"}:                "create {ref}, or remove its name from this file",
		{diag.LockStale, "user_item"}:                      "rye load {ref} --to project",
		{diag.Unresolvable, "user_item"}:                   "rye load {ref} --to project",
		{diag.PolicyDenied, "replaced"}:                    "remove the replacement from rye.yaml and run rye lock, or run without --locked outside CI",
	}
}
