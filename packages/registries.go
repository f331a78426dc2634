package packages

import (
	"context"
	"strconv"
	"strings"

	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/trust"
)

// Registries are the logs of registries, as a source reads them.
type Registries interface {
	// Expect names states of logs that locks record. A registry whose log does not
	// contain them is refused when it is used.
	Expect(list []lock.Registry)
	// Settle returns the newest state of the log of a host, after comparing it with every
	// expected one.
	Settle(ctx context.Context, host string) (lock.Registry, error)
	// Gossip compares the states in a lock with what this account saw, without the network.
	Gossip(ctx context.Context, list []lock.Registry, from string) error
	// Revocations remembers what the registries that were read revoke, and returns the trust
	// documents of the user with them, nil if nothing is new.
	Revocations(ctx context.Context) (*trust.Store, error)
	// Remembered returns the state of a release and its reason as this account last read
	// them, without the network; "" if it never did.
	Remembered(b lock.Bundle) (state, reason string)
	// Remarks returns the lines that an audit should print about a registry.
	Remarks(host string) []string
}

// expectRegistries passes the states in the lock, or in both sides of a merge.
func (e *Engine) expectRegistries(st *state) {
	if e.p.Registries == nil {
		return
	}
	for _, l := range st.locks() {
		e.p.Registries.Expect(l.Registries)
	}
}

// learnRevocations judges from now on with what the registries that were read revoke.
func (e *Engine) learnRevocations(ctx context.Context) error {
	if e.p.Registries == nil {
		return nil
	}
	store, err := e.p.Registries.Revocations(ctx)
	if store != nil {
		e.p.Trust = store
	}
	return err
}

// registries records the state of the log of every registry that has bundles in the lock.
// A recorded state stays as long as it has the entries of all bundles, so that a lock
// changes only when its bundles do. Of the two sides of a merge the larger state stays,
// after both were compared with the log.
func (s *solver) registries(ctx context.Context, l *lock.Lock) error {
	for _, b := range l.Bundles {
		host, _ := b.ID.InRegistry()
		if host == "" || b.Log == "" || l.Registry(host) != nil {
			continue
		}
		r, err := s.registry(ctx, l, host)
		if err != nil {
			return err
		}
		l.Registries = append(l.Registries, r)
	}
	return nil
}

func (s *solver) registry(
	ctx context.Context,
	l *lock.Lock,
	host string,
) (lock.Registry, error) {
	var recorded []lock.Registry
	for _, side := range s.st.locks() {
		r := side.Registry(host)
		if r != nil &&
			(len(recorded) == 0 || recorded[0].Checkpoint != r.Checkpoint || recorded[0].Key != r.Key) {
			recorded = append(recorded, *r)
		}
	}
	if len(recorded) == 1 && covers(recorded[0], l, host) {
		return recorded[0], nil
	}
	now, err := s.e.p.Registries.Settle(ctx, host)
	if err != nil {
		return now, err
	}
	if len(recorded) < 2 {
		return now, nil
	}
	larger := recorded[0]
	if sizeOf(recorded[1]) > sizeOf(larger) {
		larger = recorded[1]
	}
	if covers(larger, l, host) {
		return larger, nil
	}
	return now, nil
}

// covers reports whether a state has the log entries of all bundles of its host.
func covers(r lock.Registry, l *lock.Lock, host string) bool {
	size := sizeOf(r)
	for _, b := range l.Bundles {
		if of, _ := b.ID.InRegistry(); of != host {
			continue
		}
		n, err := strconv.ParseInt(b.Log, 10, 64)
		if err != nil || n >= size {
			return false
		}
	}
	return true
}

// sizeOf returns the number of entries of a state.
func sizeOf(r lock.Registry) int64 {
	size, _, _ := strings.Cut(r.Checkpoint, " ")
	n, _ := strconv.ParseInt(size, 10, 64) // the parser of the lock checked it
	return n
}
