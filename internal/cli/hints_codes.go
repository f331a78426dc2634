package cli

import "github.com/ryeos/rye/diag"

// codeHints are the defaults, for errors whose reason has no hint of its own. A
// code whose message already names everything that helps has no default.
func codeHints() map[situation]string {
	out := map[situation]string{}
	for code, text := range map[diag.Code]string{
		diag.UnknownCommand:     "rye --help",
		diag.UnknownFlag:        "run the command with --help",
		diag.SchemaNotFound:     "rye doctor",
		diag.ItemNotFound:       "rye list",
		diag.ToolNotFound:       "rye list tool",
		diag.ExecutorNotFound:   "correct executor_id, or add the runtime to the space of the tool",
		diag.SourceNotFound:     "check the address and your access to it",
		diag.AmbiguousItem:      "remove or rename one of the files",
		diag.CircularDependency: "remove one edge of the cycle",
		diag.ChainTooDeep:       "name the runtime directly in the tool",
		diag.LockMissing:        "rye lock",
		diag.LockStale:          "rye lock",
		diag.Drift:              "run the same command without --check",
		diag.LockMismatch:       "review the change, then run `rye lock`",
		diag.HashMismatch:       "review the change with `git diff`",
		diag.SumConflict:        "ask the publisher why the released version changed",
		diag.PathEscape:         "replace the link with the file",
		diag.NotRegular:         "replace it with a regular file that has one link",
		diag.TooLarge:           "move the data into a separate file of the bundle",
		diag.Encoding:           "save it as UTF-8 without a byte order mark",
		diag.BundleFileMissing:  "restore the file, or create the manifest again",
		diag.BundleFileExtra:    "remove the file, or create the manifest again",
		diag.TagMoved:           "ask the publisher why before you lock another commit",
		diag.ImpostorCommit:     "use a commit that a branch or tag of the repository contains",
		diag.LockRepointed:      "review who changed rye.lock and why",
		diag.SourceMoved:        "if the new address is right, write it into rye.yaml",
		diag.LogEquivocation:    "keep the evidence files and report them",
		diag.Rollback:           "wait for the source to recover, or ask its owner",
		diag.Unsigned:           "review the file, then sign it with `rye sign ID`",
		diag.SigMalformed:       "get the file again from its author",
		diag.SigMultiple:        "remove all signature lines but one",
		diag.SigInvalid:         "get the file again from its author",
		diag.Legacy:             "review the item, then sign it with `rye sign ID`",
		diag.KeyUnknown:         "if you know the owner, trust the key with `rye trust add FILE`",
		diag.KeyWeak:            "ask the owner for another key",
		diag.Scope:              "widen your grant with `rye trust add FILE`",
		diag.NotYetValid:        "check the clock of both machines",
		diag.Expired:            "ask the owner to renew the key and sign again",
		diag.Revoked:            "use a newer release, or one that a trusted key has signed again",
		diag.SignerChanged:      "ask the publisher before you accept the new key",
		diag.Threshold:          "ask the missing signers",
		diag.TrustChanged:       "review the change, then run `rye trust accept`",
		diag.Stale:              "get the current revocations of the project",
		diag.LogProof:           "report the missing proof to the registry",
		diag.HiddenChars:        "remove the listed characters",
		diag.PermissionDenied:   "add the capability to the list that the error names, if the caller should have it",
		diag.TokenInvalid:       "start the thread again: rye spawn, or rye threads resume",
		diag.ApprovalRequired:   "run it in a terminal, or allow it by policy",
		diag.Cooldown:           "wait, or choose an older version",
		diag.SandboxUnavailable: "rye doctor",
		diag.Network:            "try again",
		diag.RegistryError:      "try again later",
		diag.ProviderError:      "try again later",
		diag.AuthFailed:         "check the credentials and log in again",
		diag.SessionExpired:     "log in again",
		diag.LimitExceeded:      "raise the limit",
		diag.BudgetExceeded:     "raise the budget",
		diag.ContextFull:        "give it a smaller task, or a model with a larger window",
		diag.Timeout:            "raise timeout in the item, or give it less work",
		diag.Internal:           "report this message and the output of rye version at https://github.com/ryeos/rye/issues",
	} {
		out[situation{code, ""}] = text
	}
	return out
}
