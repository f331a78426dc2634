package packages

import (
	"bytes"
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// AcceptMove takes what the tag of a locked version holds now for what it held
// before, in the lock and in rye.sum. Signature, signer and policy are judged as
// for any other version: a person accepts the move and nothing else.
func (e *Engine) AcceptMove(ctx context.Context, word string) (*Result, error) {
	if e.p.Locked {
		return nil, lockedVerb("trust accept-move")
	}
	st, release, err := e.holdState(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := st.current(); err != nil {
		return nil, err
	}
	if st.lock == nil {
		return nil, diag.New(diag.SourceNotFound, "accepting a move of %q: nothing is locked", word)
	}
	name, err := st.lockedID(word)
	if err != nil {
		return nil, err
	}
	b := st.lock.Bundle(name)
	if b == nil || !installs(*b) {
		return nil, diag.New(diag.SourceNotFound, "accepting a move of %s: it is a folder of this machine", name)
	}
	kept := *st
	kept.sumText = forget(st.sumText, b.Module())
	if kept.sum, _ = lock.ParseSum(kept.sumText); kept.sum == nil {
		return nil, diag.New(diag.Internal, "accepting a move of %s: %s cannot be read any more", name, lock.SumFile)
	}
	s, err := e.solver(&kept, st.manifest)
	if err != nil {
		return nil, err
	}
	delete(s.pins, b.Module())
	sol, err := s.solve(ctx)
	if err != nil {
		return nil, err
	}
	if now := sol.lock.Bundle(name); now != nil && now.Commit == b.Commit && now.Tag == b.Tag {
		return emptyResult(), nil
	}
	return e.commit(ctx, &kept, st.manifestText, sol)
}

// forget removes what the sum remembers of one version.
func forget(b []byte, m lock.Module) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte(m.ID+" "+m.Version+" ")) {
			out = append(out, line...)
		}
	}
	return out
}
