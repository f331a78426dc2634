package interop

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
)

// permissions reads the list of permissions in the settings of Claude Code. It writes nothing:
// those lists hold for every session, and permissions of rye for one directive. Each entry is
// a suggestion for a person.
func permissions(s Source, _ Options) (*Result, error) {
	root, err := parseData(s)
	if err != nil {
		return nil, err
	}
	lists, ok := root["permissions"].(map[string]any)
	if !ok {
		return nil, diag.New(diag.ValidationFailed, "importing %s: it has no mapping permissions", s.Path).WithReason(NothingFound)
	}
	r := &Result{}
	found := &Result{}
	d := draft{}
	d.permit(found, words(lists["allow"]))
	for _, entry := range d.execute {
		r.left("permissions.allow", fmt.Sprintf("write <permissions><execute>%s</execute></permissions> into the directives that need it", entry))
	}
	for _, n := range found.Left {
		r.left("permissions.allow: "+strings.TrimPrefix(n.From, "tool "), n.Why)
	}
	for _, word := range words(lists["ask"]) {
		r.left("permissions.ask: "+word, "add a pattern with a higher tier to config:agent/capability_risk of your user space: the approvals of the allowance then ask")
	}
	for _, word := range words(lists["deny"]) {
		r.left("permissions.deny: "+word, "a directive may do nothing that it does not name; a hook of the event before_tool denies calls by their arguments")
	}
	r.rest("a list of permissions", lists, "allow", "ask", "deny")
	r.rest("rye", root, "permissions", "$schema")
	return r, nil
}
