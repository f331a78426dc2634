package packages

import (
	"bytes"
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// AcceptMove replaces the commit of a locked version by the one that its tag has
// now, in rye.lock and rye.sum. Signatures, signers and rules are judged as for
// any other version: only the move is accepted. Ask is called as for an update.
func (e *Engine) AcceptMove(ctx context.Context, name string, ask Approve) (*Result, error) {
	if e.p.Locked {
		return nil, lockedError("trust accept-move")
	}
	st, release, err := e.holdState(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := st.checkCurrent(); err != nil {
		return nil, err
	}
	if st.lock == nil {
		return nil, diag.New(diag.SourceNotFound, "accepting a move of %q: nothing is locked", name)
	}
	id, err := st.lockedID(name)
	if err != nil {
		return nil, err
	}
	b := st.lock.Bundle(id)
	if b == nil || !installs(*b) {
		return nil, diag.New(diag.SourceNotFound, "accepting a move of %s: it is a folder of this machine", id)
	}
	// Both records of the old commit must go before the solver runs: the line of
	// rye.sum and the pin of the lock. Either would refuse the new files.
	without := *st
	without.sumText = removeSum(st.sumText, b.Module())
	if without.sum, _ = lock.ParseSum(without.sumText); without.sum == nil {
		return nil, diag.New(diag.Internal, "accepting a move of %s: %s without its line is not valid", id, lock.SumFile)
	}
	s, err := e.solver(&without, st.project)
	if err != nil {
		return nil, err
	}
	delete(s.pins, b.Module())
	sol, err := s.solution(ctx)
	if err != nil {
		return nil, err
	}
	now := sol.lock.Bundle(id)
	if now != nil && now.Commit == b.Commit && now.Tag == b.Tag {
		return emptyResult(), nil
	}
	if err := approve("accepting", ask, sol.changes); err != nil {
		return nil, err
	}
	return e.commit(ctx, &without, st.projectText, sol)
}

// removeSum removes the line of one version from the text of rye.sum.
func removeSum(b []byte, m lock.Module) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte(m.String()+" ")) {
			out = append(out, line...)
		}
	}
	return out
}
