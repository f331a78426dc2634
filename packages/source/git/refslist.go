package git

import (
	"fmt"
	"strings"
)

// Limits of a list of refs. A list may also have refs that rye ignores, such as refs of pull
// requests, of which hosts have hundreds of thousands.
const (
	maxAdvert = 64 << 20 // bytes
	maxRefs   = 250_000  // branches and tags
)

// errRefs is the error for too many refs.
var errRefs = fmt.Errorf("it lists more than %d branches and tags", maxRefs)

// keep adds a branch or tag, the commit of the tag before it, or the default branch.
func (r *Refs) keep(oid, name string) error {
	tag, peeled := strings.CutSuffix(name, "^{}")
	switch last := len(r.List) - 1; {
	case name == "HEAD":
		r.Head = strings.Clone(oid)
	case !carriedRef(name):
	case peeled && last >= 0 && r.List[last].Name == tag:
		r.List[last].Commit = strings.Clone(oid)
	case !peeled && len(r.List) == maxRefs:
		return errRefs
	case !peeled:
		oid = strings.Clone(oid) // not the whole line
		r.List = append(r.List, Ref{Name: strings.Clone(name), OID: oid, Commit: oid})
	}
	return nil
}
