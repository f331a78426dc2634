package cli

import "github.com/ryeos/rye/diag"

// confineHints are those of the sandbox of a run.
func confineHints() map[situation]string {
	const sign = ", and sign it again"
	return map[situation]string{
		{diag.PolicyDenied, "class_ceiling"}: "ask for less, or declare risk: {needs} in the item",
		// A failed program names what it lacked. It may be wrong about the reason.
		{diag.ExecutionFailed, "denied_net"}:       "its sandbox has no network. If it needs {value}, set sandbox.net to hosts and list {value} in sandbox.hosts of the item" + sign,
		{diag.ExecutionFailed, "denied_net_any"}:   "its sandbox has no network. If it needs one, set sandbox.net to hosts and list the host in sandbox.hosts of the item" + sign,
		{diag.ExecutionFailed, "denied_hosts"}:     "its sandbox refused {value}. If it needs this host, add it to sandbox.hosts of the item" + sign,
		{diag.ExecutionFailed, "denied_fs_write"}:  "its sandbox does not write {value}. If it must, add the path to sandbox.fs.write of the item" + sign,
		{diag.ExecutionFailed, "denied_fs_read"}:   "its sandbox does not read {value}. If it must, add the path to sandbox.fs.read of the item" + sign,
		{diag.ExecutionFailed, "denied_protected"}: "{value} is protected, so no tool writes it: change it yourself (docs/how-to/sandbox.md lists these paths)",
		{diag.ExecutionFailed, "denied_fs_create"}: "the sandbox of this machine creates no entries directly in {value}, which contains protected files: write into a directory below it",
		{diag.ExecutionFailed, "denied_exec"}:      "its sandbox does not start {value}. If it must, add the name to sandbox.exec of the item" + sign,
	}
}
