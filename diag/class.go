package diag

// Class groups the codes that a caller treats alike. Libraries decide by class;
// only internal/cli knows exit statuses.
type Class string

// The classes.
const (
	ClassUsage        Class = "usage"        // the command line
	ClassInvalid      Class = "invalid"      // an item, configuration or version does not fit
	ClassNotFound     Class = "not_found"    // no such id
	ClassUnresolvable Class = "unresolvable" // resolution has no single answer
	ClassDrift        Class = "drift"        // a lock is absent or stale; --check found changes
	ClassIntegrity    Class = "integrity"    // bytes are not what was recorded
	ClassHistory      Class = "history"      // recorded history was rewritten
	ClassTrust        Class = "trust"        // no valid signature by a trusted key for this use
	ClassDenied       Class = "denied"       // not allowed
	ClassRemote       Class = "remote"       // the other side
	ClassAuth         Class = "auth"         // a key, passphrase or credential
	ClassLimit        Class = "limit"        // a limit or budget is reached
	ClassFailed       Class = "failed"       // the work ran and failed
	ClassMachine      Class = "machine"      // the operating system
	ClassBug          Class = "bug"          // a defect of rye
)

// Class returns the class of a code, ClassMachine for a code outside the table.
func (c Code) Class() Class {
	if r, ok := Lookup(c); ok {
		return r.Class
	}
	return ClassMachine
}
