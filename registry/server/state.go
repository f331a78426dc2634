package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// deleteWithin is how long a publisher may delete a version.
const deleteWithin = 72 * time.Hour

// changeState changes the state of a version on request of a key of its namespace.
func (s *Server) changeState(ctx context.Context, r *request) (*wire.Receipt, error) {
	st := r.statement
	id, err := wire.ParseID(st.ID)
	if err != nil {
		return nil, err
	}
	signed := s.signer(ctx, s.snapshot(), r, id.NS, "/state")
	if signed != nil {
		return nil, signed
	}
	if err := s.meta.admit(ctx, st.Nonce); err != nil {
		return nil, err
	}
	return s.change(
		ctx,
		r,
		func(m *rules.State, _ int64) (*log.Entry, *wire.Line, error) {
			err := s.signer(ctx, m, r, id.NS, "/state")
			if err != nil {
				return nil, nil, err
			}
			state, err := nextState(m, s.host, id, st.Version, st.Action, r.now)
			if err != nil {
				return nil, nil, err
			}
			return &log.Entry{
				Type:      log.State,
				ID:        st.ID,
				Version:   st.Version,
				State:     state,
				Reason:    st.Reason,
				Publisher: wire.KeyText(st.Key),
				Time:      r.now.UTC().Truncate(time.Second),
				Statement: st.Digest,
			}, nil, nil
		},
		s.afterState,
	)
}

// nextState returns the state of a version after an action of its publisher.
func nextState(
	m *rules.State,
	host string,
	id wire.ID,
	version, action string,
	now time.Time,
) (string, error) {
	v := m.Version(id.String(), version)
	if v == nil {
		return "", diag.New(diag.VersionNotFound, "changing the state of %s %s: it was not published", id, version)
	}
	from := map[string]string{
		wire.ActionYank:   wire.StateOK,
		wire.ActionUnyank: wire.StateYanked,
		wire.ActionUnlist: wire.StateOK,
		wire.ActionRelist: wire.StateUnlisted,
	}
	to := map[string]string{
		wire.ActionYank:   wire.StateYanked,
		wire.ActionUnyank: wire.StateOK,
		wire.ActionUnlist: wire.StateUnlisted,
		wire.ActionRelist: wire.StateOK,
	}
	if action != wire.ActionDelete {
		if v.State != from[action] {
			return "", diag.New(
				diag.ValidationFailed,
				"changing the state of %s %s: %s needs the state %s, it is %s",
				id,
				version,
				action,
				from[action],
				v.State,
			)
		}
		return to[action], nil
	}
	published, err := wire.ParseTime(v.Published)
	if err != nil {
		return "", err
	}
	switch needed := m.Dependants(host, id, version); {
	case v.State == wire.StateDeleted:
		return "", diag.New(diag.ValidationFailed, "deleting %s %s: it was deleted before", id, version)
	case now.After(published.Add(deleteWithin)):
		return "", diag.New(diag.ValidationFailed, "deleting %s %s: it was published on %s, more than 72 hours ago; yank it, or ask the operator", id, version, v.Published)
	case len(needed) > 0:
		return "", diag.New(diag.ValidationFailed, "deleting %s %s: %s requires it; yank it, or ask the operator", id, version, needed[0])
	}
	return wire.StateDeleted, nil
}

// afterState removes the archive of a deleted version if no other version has the same. One
// that a publication in progress holds is left: the end of that one removes it.
func (s *Server) afterState(m *rules.State, line *wire.Line) error {
	if line.State != wire.StateDeleted ||
		m.Uses(line.Archive) ||
		s.held[line.Archive] > 0 {
		return nil
	}
	err := s.base.Remove(publicDir + archiveFile(line.Archive))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the archive of %s %s: %w", line.ID, line.Version, err)
	}
	return nil
}

// deleteByOperator deletes a version for a reason that the log states.
func (s *Server) deleteByOperator(
	ctx context.Context,
	id wire.ID,
	version, reason string,
) (*wire.Receipt, error) {
	if reason == "" {
		return nil, diag.New(diag.Usage, "deleting %s %s: a reason is needed, which the log states", id, version)
	}
	if err := wire.CheckReason(reason); err != nil {
		return nil, err
	}
	return s.change(
		ctx,
		nil,
		func(m *rules.State, _ int64) (*log.Entry, *wire.Line, error) {
			v := m.Version(id.String(), version)
			switch {
			case v == nil:
				return nil, nil, diag.New(diag.VersionNotFound, "deleting %s %s: it was not published", id, version)
			case v.State == wire.StateDeleted:
				return nil, nil, diag.New(diag.ValidationFailed, "deleting %s %s: it was deleted before", id, version)
			}
			return &log.Entry{
				Type:    log.State,
				ID:      id.String(),
				Version: version,
				State:   wire.StateDeleted,
				Reason:  reason,
				Time:    s.p.Now().UTC().Truncate(time.Second),
			}, nil, nil
		},
		s.afterState,
	)
}
