package client

import (
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// receiptDiffers returns why the entry of a receipt is not the change that a statement
// demands, "" if it is. The log contains many entries: that it contains this one proves
// only that something was changed.
func receiptDiffers(st *wire.Statement, header string, r *wire.Receipt) string {
	e, err := log.ParseEntry([]byte(r.Entry))
	if err != nil {
		return "its log entry cannot be read: " + err.Error()
	}
	signed, err := wire.ParseHeader(header)
	if err != nil {
		return "the statement cannot be read: " + err.Error()
	}
	want := expected(st)
	want.Statement = signed.Digest
	for _, f := range []struct{ name, got, want string }{
		{"statement", e.Statement, want.Statement}, {"type", e.Type, want.Type}, {"id", e.ID, want.ID}, {"namespace", e.Namespace, want.Namespace},
		{"version", e.Version, want.Version}, {"state", e.State, want.State}, {"action", e.Action, want.Action},
		{"archive", e.Archive, want.Archive}, {"sum", e.Sum, want.Sum},
	} {
		if f.got != f.want {
			return "the " + f.name + " of its log entry is " + printable(f.got) + ", not " + f.want
		}
	}
	return ""
}

// expected returns the entry that a statement leads to, as far as the statement names it.
func expected(st *wire.Statement) *log.Entry {
	switch st.Action {
	case wire.ActionPublish:
		return &log.Entry{Type: log.Release, ID: st.ID, Version: st.Version, Archive: st.Body, Sum: st.Sum}
	case wire.ActionBind:
		return &log.Entry{Type: log.Binding, Namespace: st.ID}
	case wire.ActionKeyAdd:
		return &log.Entry{Type: log.Key, Namespace: st.ID, Action: "add"}
	case wire.ActionKeyRemove:
		return &log.Entry{Type: log.Key, Namespace: st.ID, Action: "remove"}
	case wire.ActionRevoke:
		return &log.Entry{Type: log.Revocation, Namespace: st.ID}
	}
	state := map[string]string{wire.ActionYank: wire.StateYanked, wire.ActionUnyank: wire.StateOK, wire.ActionUnlist: wire.StateUnlisted,
		wire.ActionRelist: wire.StateOK, wire.ActionDelete: wire.StateDeleted}[st.Action]
	return &log.Entry{Type: log.State, ID: st.ID, Version: st.Version, State: state}
}
