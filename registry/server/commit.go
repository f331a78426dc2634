package server

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// maxBatch is the number of changes that share one checkpoint.
const maxBatch = 256

// commit is one change that waits for its position in the log.
type commit struct {
	ctx context.Context
	// prepare checks the change against the state of the registry, which includes the
	// changes before it, and returns its entry.
	prepare func(m *rules.State, index int64) (*log.Entry, *wire.Line, error)
	// settled is called under the lock once the entry is durable. It may be nil.
	settled func(m *rules.State, line *wire.Line) error
	// statement is what the entry names by its digest, nil for an act of the operator.
	statement *wire.Signed

	entry *log.Entry
	line  *wire.Line
	text  []byte
	index int64
	reply chan outcome
}

type outcome struct {
	receipt *wire.Receipt
	err     error
}

// change appends one entry to the log and returns the receipt. What the entry needs, such
// as its archive, is durable before. The request is nil for an act of the operator.
func (s *Server) change(
	ctx context.Context,
	r *request,
	prepare func(*rules.State, int64) (*log.Entry, *wire.Line, error),
	settled func(*rules.State, *wire.Line) error,
) (*wire.Receipt, error) {
	c := &commit{
		ctx:     ctx,
		prepare: prepare,
		settled: settled,
		reply:   make(chan outcome, 1),
	}
	if r != nil {
		c.statement = r.statement
	}
	select {
	case s.commits <- c:
	case <-s.stop:
		return nil, errStopping()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select { // not ctx: the change may be in the log
	case o := <-c.reply:
		return o.receipt, o.err
	case <-s.done:
	}
	select {
	case o := <-c.reply:
		return o.receipt, o.err
	default:
		return nil, errStopping()
	}
}

func errStopping() error {
	e := diag.New(diag.RegistryError, "changing the registry: it is stopping")
	e.Retryable = true
	return e
}

// commitLoop commits what waits, as one batch.
func (s *Server) commitLoop(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case first := <-s.commits:
			s.commitBatch(ctx, s.waiting(first))
		case <-s.stop:
			for { // what was accepted before
				select {
				case first := <-s.commits:
					s.commitBatch(ctx, s.waiting(first))
				default:
					return
				}
			}
		}
	}
}

// waiting returns a change with those that wait behind it.
func (s *Server) waiting(first *commit) []*commit {
	batch := []*commit{first}
	for len(batch) < maxBatch {
		select {
		case c := <-s.commits:
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// commitBatch prepares a batch, appends it with one checkpoint, and writes the files that
// follow from it.
func (s *Server) commitBatch(ctx context.Context, batch []*commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.repair(ctx); err != nil {
		refuse(batch, err)
		return
	}
	next := s.model.Clone()
	accepted, texts := s.prepare(next, batch)
	if len(accepted) == 0 {
		return
	}
	if err := s.writeStatements(accepted); err != nil {
		refuse(accepted, rules.Unavailable("storing the statement", err))
		return
	}
	_, err := s.writer.Append(ctx, texts...)
	if err != nil {
		refuse(accepted, rules.Unavailable("writing the log", err))
		return
	}
	s.cosign(ctx) // before the index that needs the checkpoint
	s.model = next
	proofs := log.NewReader(logFiles{s.base}.Read, s.writer.Tree())
	err = s.writeBatch(ctx, accepted)
	if err != nil {
		s.dirty = err // the entries are durable: the files are written before the next change, or at the next start
	}
	for _, c := range accepted {
		c.reply <- s.outcome(ctx, proofs, c, err)
	}
}

// writeStatements stores what the entries of a batch name by its digest, so that anybody can
// verify that a key of the namespace demanded the change.
func (s *Server) writeStatements(batch []*commit) error {
	for _, c := range batch {
		if c.statement == nil {
			continue
		}
		err := s.writePublic(wire.StatementPath(c.statement.Digest), c.statement.Raw())
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) outcome(ctx context.Context, proofs *log.Reader, c *commit, err error) outcome {
	if err != nil {
		return outcome{err: rules.Unavailable("writing the index; the change is in the log and will be visible later", err)}
	}
	p, err := proofs.Prove(ctx, c.index)
	if err != nil {
		return outcome{err: rules.Unavailable("proving the entry", err)}
	}
	return outcome{receipt: &wire.Receipt{
		V:          1,
		Line:       c.line,
		Index:      c.index,
		Entry:      string(c.text),
		Checkpoint: string(s.writer.Checkpoint()),
		Proof:      p.String(),
	}}
}

// prepare applies the changes of a batch to m, and answers those that are refused.
func (s *Server) prepare(m *rules.State, batch []*commit) (accepted []*commit, texts [][]byte) {
	size := s.writer.Tree().Size
	for _, c := range batch {
		index := size + int64(len(accepted))
		e, line, err := c.prepare(m, index)
		if err == nil {
			c.text, err = e.Render()
		}
		if err != nil {
			c.reply <- outcome{err: err}
			continue
		}
		c.entry = e
		c.index = index
		m.Apply(e, index, line)
		if e.Type == log.Release || e.Type == log.State {
			c.line = m.Version(e.ID, e.Version)
		}
		accepted = append(accepted, c)
		texts = append(texts, c.text)
	}
	return accepted, texts
}

// repair writes the files that could not be written for the changes before.
func (s *Server) repair(ctx context.Context) error {
	if s.dirty == nil {
		return nil
	}
	if err := s.writeAll(ctx, s.model); err != nil {
		return rules.Unavailable("writing the index of the changes before", err)
	}
	s.dirty = nil
	return nil
}

// writeBatch writes index lines, names, keys and search segments of a batch.
func (s *Server) writeBatch(ctx context.Context, batch []*commit) error {
	bundles := map[string]bool{}
	spaces := map[string]bool{}
	names := map[string]bool{}
	revoked := false
	for _, c := range batch {
		switch c.entry.Type {
		case log.Release, log.State:
			bundles[c.entry.ID] = true
			names[s.model.Bundles[c.entry.ID].ID.NS] = true
		case log.Binding, log.Key, log.Publisher:
			spaces[c.entry.Namespace] = true
		case log.Revocation:
			revoked = true
		}
	}
	for id := range bundles {
		b := s.model.Bundles[id]
		err := s.writePublic(wire.IndexPath+b.ID.IndexPath(), b.Index())
		if err != nil {
			return err
		}
	}
	for ns := range names {
		err := s.writeChanged(wire.IndexPath+wire.NamespaceIndexPath(ns), s.model.Names(ns))
		if err != nil {
			return err
		}
	}
	for ns := range spaces {
		if err := s.writeNamespace(s.model, ns); err != nil {
			return err
		}
	}
	for _, c := range batch {
		if c.settled != nil {
			if err := c.settled(s.model, c.line); err != nil {
				return err
			}
		}
	}
	if revoked {
		if err := s.nameRevocations(s.model); err != nil {
			return err
		}
		if err := s.writeRevocations(s.model); err != nil {
			return err
		}
	}
	if len(bundles) > 0 {
		return s.search.update(ctx, s, bundles)
	}
	return nil
}

func refuse(batch []*commit, err error) {
	for _, c := range batch {
		c.reply <- outcome{err: err}
	}
}

// retryLater is the wait that a client is asked for when the machine of the registry fails.
const retryLater = 5 * time.Second
