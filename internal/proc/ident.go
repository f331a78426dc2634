package proc

// Identity identifies a process of this machine beyond its number, which another process
// gets later: by its start, and by the boot of the system. The zero value is unknown.
type Identity struct {
	PID   int
	Start int64 // in ticks since the boot
	Boot  string
}

// IdentityOf returns the identity of a running process. ok is false if the process does
// not run, or if this system does not report it.
func IdentityOf(pid int) (id Identity, ok bool) {
	return identityOf(pid)
}

// Alive reports whether the process runs. known is false if this system does not report it.
func (id Identity) Alive() (alive, known bool) {
	if id.PID == 0 || id.Start == 0 || !reportsIdentity {
		return false, false
	}
	now, ok := identityOf(id.PID)
	return ok && now == id, true
}
