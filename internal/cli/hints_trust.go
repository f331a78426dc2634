package cli

import "github.com/ryeos/rye/diag"

// trustHints are those of trust, trust/doc and sign.
func trustHints() map[situation]string {
	out := map[situation]string{
		{diag.ValidationFailed, "document_name"}: "rename the file to {name}",
		{diag.ValidationFailed, "two_documents"}: "remove one of the two",
		{diag.HashMismatch, "granted_document"}:  "review {document}, then run `rye trust add {document}`",
		{diag.ConfigError, "world_writable"}:     "review it, then run `chmod o-w {path}`",
	}
	for _, code := range []diag.Code{diag.Unsigned, diag.SigMalformed, diag.SigMultiple, diag.SigInvalid, diag.HashMismatch, diag.Legacy} {
		out[situation{code, "document_signature"}] = "get the document from its author again: it cannot be edited or signed with `rye sign`"
	}
	return out
}
