package cli

import "github.com/ryeos/rye/diag"

// registryHints are those of registries.
func registryHints() map[situation]string {
	out := map[situation]string{
		{diag.KeyUnknown, "registry_unpinned"}:            "rye registry add {host}",
		{diag.KeyUnknown, "registry_pinned"}:              "ask the operator of {host} by another channel; if the key is right, run rye registry remove {host}, then rye registry add {host}",
		{diag.KeyUnknown, "registry_pins"}:                "compare both keys with the operator of {host} by another channel",
		{diag.KeyUnknown, "registry_witnesses"}:           "pin {host} again with the witnesses of the machine: rye registry remove {host}, then rye registry add {host} --witness KEY --quorum N",
		{diag.KeyUnknown, "registry_key"}:                 "ask the operator of {host} by another channel whether the log has a new key",
		{diag.KeyUnknown, "registry_latest"}:              "ask the operator of {host} whether its log key changed; rye registry remove {host} forgets what this account saw",
		{diag.KeyUnknown, "registry_pin"}:                 "rye registry add HOST --log-key KEY",
		{diag.AuthFailed, "statement_time"}:               "correct the clock of this computer",
		{diag.KeyUnknown, "registry_lock_key"}:            "review who changed rye.lock with git log -p rye.lock",
		{diag.ConsentRequired, "registry_log_key"}:        "compare the key with the operator's site, then run rye registry add {host} --log-key {found}",
		{diag.LogEquivocation, "equivocation"}:            "send {evidence} to the operator and to other users; when you know why, run rye registry forgive {host} --evidence {evidence}",
		{diag.LogEquivocation, "registry_lock_fork"}:      "compare rye.lock with its author; rye registry list shows the pinned key of {host}",
		{diag.Rollback, "registry_older"}:                 "wait until {host} or its mirror serves its newest state",
		{diag.LogProof, "quorum"}:                         "ask the operator of {host} why the witnesses have not signed",
		{diag.LogProof, "log_proof"}:                      "report it to the operator of {host}, or read another mirror with rye registry add {host} --url URL",
		{diag.Rollback, "registry_old_index"}:             "wait until {host} or its mirror serves its newest index",
		{diag.Rollback, "registry_old_revocations"}:       "wait until {host} or its mirror serves its newest list of revocations",
		{diag.HashMismatch, "registry_revocation"}:        "report it to the operator of {host}",
		{diag.LogProof, "registry_state"}:                 "report it to the operator of {host}",
		{diag.TagMoved, "registry_moved_version"}:         "send it to the publisher and to the operator of {host}",
		{diag.HashMismatch, "registry_archive"}:           "report it to the operator of {host}; a mirror may have the archive",
		{diag.Stale, "checkpoint_age"}:                    "ask another mirror of {host}, or wait for its witnesses",
		{diag.SourceNotFound, "registry_bundle"}:          "rye registry list shows the registries that you pinned",
		{diag.SourceNotFound, "registry_archive_missing"}: "rye registry list shows the addresses of the registry",
		{diag.VersionNotFound, "registry_unlisted"}:       "an unlisted version is used by its number only: name {bundle}@{version}",
		{diag.VersionNotFound, "registry_yanked"}:         "choose another version of {bundle}",
		{diag.VersionNotFound, "registry_deleted"}:        "choose another version of {bundle}",
		{diag.SourceMoved, "registry_moved"}:              "if the new address is right, pin it with rye registry add HOST --url {found}",
		{diag.Usage, "registry_name"}:                     "write name: registry:HOST/NS/NAME into its rye.yaml, then run rye bundle create",
		{diag.SourceMoved, "registry_name"}:               "report it to the operator of the registry and to the author; do not use the files",
		{diag.SourceMoved, "registry_publisher"}:          "revoke the release, and ask the operator of the registry to block its publisher",
		{diag.SourceMoved, "registry_as"}:                 "write {expected} into its rye.yaml and run rye bundle create again, or leave out --as",
		{diag.AuthFailed, "registry_issuer"}:              "repeat the command, or ask the operator of the registry about its issuer",
		{diag.Usage, "push_host"}:                         "name it with --registry HOST",
		{diag.Usage, "push_namespace"}:                    "name it with --namespace NS",
		{diag.Usage, "push_name"}:                         "name the bundle with --as registry:HOST/NS/NAME",
		{diag.Usage, "push_needs"}:                        "publish {item} and {needs} as one bundle: rye bundle create, then rye registry publish",
		{diag.Usage, "push_local"}:                        "publish the bundle {bundle} first, and require what was published",
		{diag.VersionMismatch, "push_version"}:            "write a version into the item, or name one with --version",
		{diag.Usage, "registry_none"}:                     "rye registry add HOST",
		{diag.Unsigned, "registry_unsigned"}:              "rye bundle create ID --version VERSION writes and signs it",
		{diag.Scope, "registry_agent"}:                    "choose a key of a person with --key",
		{diag.KeyUnknown, "registry_key_document"}:        "rye key list shows your keys; choose one with --key",
		{diag.Usage, "registry_default"}:                  "write registry:HOST/{name}, or choose one with rye registry use HOST",
		{diag.Usage, "registry_evidence"}:                 "rye registry forgive {host} --evidence {evidence}",
	}
	for _, code := range []diag.Code{diag.HashMismatch, diag.LogProof, diag.RegistryError, diag.TagMoved, diag.BundleFileMissing} {
		out[situation{code, "registry_tree"}] = "report it to the operator of {host}"
	}
	return out
}
