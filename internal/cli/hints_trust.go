package cli

import "github.com/ryeos/rye/diag"

// trustHints are those of trust, trust/doc, sign and item.
func trustHints() map[situation]string {
	out := map[situation]string{
		{diag.ValidationFailed, "document_name"}: "rename the file to {name}",
		{diag.ValidationFailed, "two_documents"}: "remove one of the two",
		{diag.HashMismatch, "granted_document"}:  "review {document}, then run `rye trust add {document}`",
		{diag.ConfigError, "world_writable"}:     "review it, then run `chmod o-w {path}`",

		{diag.ConfigError, "own_grant"}:               "rye key new",
		{diag.ConfigError, "grant_in_project"}:        "rye trust endorse",
		{diag.ConfigError, "second_successor"}:        "rotate the successor instead",
		{diag.ConfigError, "acceptance"}:              "remove {path}, then run `rye trust accept`",
		{diag.PathEscape, "trust_directory"}:          "replace it by a directory",
		{diag.FileSystemError, "no_config_directory"}: "set HOME or XDG_CONFIG_HOME",
		{diag.KeyUnknown, "not_in_trust_directory"}:   "rye trust list",
		{diag.Scope, "grant_key"}:                     "rye key new",
		{diag.Usage, "fingerprint_required"}:          "ask the owner for the fingerprint over another channel, then add --fingerprint FINGERPRINT",
		{diag.KeyUnknown, "other_fingerprint"}:        "do not trust this key before you have asked its owner over another channel",
		{diag.KeyUnknown, "no_ed25519"}:               "ask the owner for a key document, made with rye key export",
		{diag.PolicyDenied, "keys_host"}:              "name the address on the other host itself, if you trust that host",
		{diag.Usage, "narrower_grant"}:                "to permit both, run rye trust add --from {from} --kinds '{kinds}' --namespaces '{namespaces}' --may {may} --until {until} --fingerprint FINGERPRINT",
		{diag.Usage, "one_key"}:                       "rye trust add --help",
		{diag.KeyUnknown, "no_key_document"}:          "ask the publisher for the key document (rye key export), then run rye trust add FILE; rye info {bundle} shows what the bundle brings",
		{diag.Usage, "keys_address"}:                  "write for example https://github.com/USER.keys",
		{diag.Usage, "empty_set"}:                     "write documents into .ai/trust with `rye trust endorse`",
		{diag.ValidationFailed, "invalid_set"}:        "rye trust list",
		{diag.KeyUnknown, "unknown_signer"}:           "rye trust explain {ref}",
		{diag.KeyUnknown, "embedded_key"}:             "if you copied it from the system space, review it, then run `rye sign {ref}`",
		{diag.KeyUnknown, "proposed_key"}:             "if you know the owner, run `rye trust add {document}`",
		{diag.Scope, "signer_scope"}:                  "rye trust explain {ref} shows the scope",
		{diag.Legacy, "legacy_good"}:                  "rye sign --upgrade {ref}",
		{diag.Legacy, "legacy_no_key"}:                "if you have the signer's public key, run `rye sign --upgrade {ref} --legacy-key FILE`",

		{diag.Expired, "own_key"}:       "rye key rotate --resign",
		{diag.Expired, "expired_entry"}: "have a valid key sign it again, or go back to the entry of the base",

		{diag.FileSystemError, "key_exists"}:  "choose another name, or move the existing key away",
		{diag.FileSystemError, "journal"}:     "move {path} to another directory: rye did not write it",
		{diag.FileSystemError, "key_mode"}:    "chmod {mode} {path}",
		{diag.FileSystemError, "no_document"}: "name the file of the document, which the owner of the key makes with rye key export",
		{diag.FileSystemError, "no_key_file"}: "rye key new",
		{diag.AuthFailed, "ssh_passphrase"}:   "repeat the command with the passphrase of {path}",
		{diag.AuthRequired, "only_in_agent"}:  "ssh-add the key to the ssh-agent that SSH_AUTH_SOCK names",
		{diag.AuthRequired, "ssh_key_gone"}:   "put the private key back at {path}, or ssh-add it to the ssh-agent",
		{diag.AuthRequired, "no_ssh_private"}: "ssh-add the key to the ssh-agent that SSH_AUTH_SOCK names",
		{diag.FileSystemError, "ssh_public"}:  "name a public key file, for example ~/.ssh/id_ed25519.pub; `ssh-keygen -t ed25519` makes one",
		{diag.Usage, "ssh_private"}:           "name the public key file, {path}.pub",
		{diag.KeyUnknown, "ssh_type"}:         "`ssh-keygen -t ed25519` makes a key that can sign",
		{diag.KeyUnknown, "no_ssh_key"}:       "`ssh-keygen -t ed25519` makes a key that can sign; ssh-add adds it to the agent",
		{diag.KeyUnknown, "other_ssh_key"}:    "name the public key file that belongs to the private key next to it",
		{diag.Usage, "which_ssh_key"}:         "name the public key file with --ssh FILE.pub",
		{diag.Usage, "ssh_for_agent"}:         "rye key new --kind agent --owner agent --no-passphrase",
		{diag.NotRegular, "key_not_plain"}:    "name the key file itself: a regular file with one link",
		{diag.Usage, "empty_passphrase"}:      "write --no-passphrase to leave the key unprotected",
		{diag.AuthRequired, "no_passphrase"}:  "run it in a terminal, add the key with `rye key agent-add`, or name a file in {variable}",
		{diag.AuthRequired, "no_agent"}:       "start an ssh-agent and set SSH_AUTH_SOCK",
		{diag.AuthFailed, "agent_refused"}:    "ssh-add -l",
		{diag.AuthFailed, "passphrase"}:       "run the command again with the right passphrase; if it is lost, revoke the key with its revocation certificate and make another one",
		{diag.KeyUnknown, "not_in_agent"}:     "rye key agent-add",
		{diag.ParsingError, "fingerprint"}:    "rye key list",
		{diag.SigMalformed, "line_with_code"}: "remove line {line}, or move its code to a line of its own",
		{diag.HashMismatch, "signed_crlf"}:    "add `.ai/** -text` to .gitattributes and check the file out again",
		{diag.SigMalformed, "signed_crlf"}:    "add `.ai/** -text` to .gitattributes and check the file out again",
		{diag.Unsigned, "detached_not_used"}:  "remove the .rye-sig file, then run `rye sign {ref}`",
		{diag.Unsigned, "item_signature"}:     "review the file, then run `rye sign {ref}`",
		{diag.HashMismatch, "item_signature"}: "review the change with `git diff`; if you made it, run `rye sign {ref}`",
		{diag.SigMalformed, "item_signature"}: "review the file, then run `rye sign {ref}`, which replaces the line",
		{diag.SigMultiple, "item_signature"}:  "remove all signature lines but one",
		{diag.SigInvalid, "item_signature"}:   "if you copied or renamed the item, review it, then run `rye sign {ref}`",

		{diag.Usage, "no_kind"}:      "write kind:id, for example tool:{ref}",
		{diag.Usage, "kind_grammar"}: "a kind is lower-case letters, digits, - and _",
		{diag.Usage, "id_grammar"}:   "an id is segments of letters, digits, _ and -, joined by /, without extension",
	}
	for _, code := range []diag.Code{diag.Unsigned, diag.SigMalformed, diag.SigMultiple, diag.SigInvalid, diag.HashMismatch, diag.Legacy} {
		out[situation{code, "document_signature"}] = "get the document from its author again: it cannot be edited or signed with `rye sign`"
	}
	return out
}
