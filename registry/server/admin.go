package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// Command is an act of the operator.
type Command struct {
	Do       string `json:"do"` // grant, withdraw, delete, block, unblock or reports
	NS       string `json:"ns,omitempty"`
	ID       string `json:"id,omitempty"`
	Version  string `json:"version,omitempty"`
	Key      string `json:"key,omitempty"`
	Document string `json:"document,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Reply is the result of a command.
type Reply struct {
	Receipt *wire.Receipt  `json:"receipt,omitempty"`
	Reports []StoredReport `json:"reports,omitempty"`
}

// Admin does what the operator asks for: in this process if no other one serves the
// registry, else it asks that one.
func Admin(ctx context.Context, p Params, c Command) (*Reply, error) {
	s, err := Open(ctx, p)
	if err == nil {
		defer s.Close()
		return s.command(ctx, c)
	}
	if e := diag.Typed(err); e.Reason != "registry_held" {
		return nil, err
	}
	return ask(ctx, p, c)
}

func (s *Server) command(ctx context.Context, c Command) (r *Reply, err error) {
	r = &Reply{}
	switch c.Do {
	case "grant":
		r.Receipt, err = s.grant(ctx, c.NS, []byte(c.Document))
	case "withdraw":
		r.Receipt, err = s.withdraw(ctx, c.NS, c.Key)
	case "delete":
		id, bad := wire.ParseID(c.ID)
		if bad != nil {
			return nil, bad
		}
		r.Receipt, err = s.deleteByOperator(ctx, id, c.Version, c.Reason)
	case "block":
		if _, bad := wire.ParseKey(c.Key); bad != nil {
			return nil, bad
		}
		if c.Reason == "" || wire.CheckReason(c.Reason) != nil {
			return nil, diag.New(diag.Usage, "blocking the key: a reason of one line is needed")
		}
		err = s.meta.block(ctx, c.Key, c.Reason)
	case "unblock":
		var was bool
		if was, err = s.meta.unblock(ctx, c.Key); err == nil && !was {
			err = diag.New(diag.ItemNotFound, "removing the block: the key %s is not blocked", c.Key)
		}
	case "reports":
		r.Reports, err = s.meta.reports(ctx)
	default:
		err = diag.New(diag.Internal, "doing a command of the operator: %q is unknown", c.Do)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// How often the queue is read, and how long a command waits for its result.
const (
	queueEvery = 200 * time.Millisecond
	queueWait  = 30 * time.Second
)

// stored is a reply in the queue.
type stored struct {
	Reply *Reply        `json:"reply,omitempty"`
	Error *diag.Failure `json:"error,omitempty"`
}

// serveQueue does the commands of other processes, until ctx ends.
func (s *Server) serveQueue(ctx context.Context) {
	t := time.NewTicker(queueEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := s.serveQueued(ctx); err != nil && ctx.Err() == nil {
				s.p.Note("doing the commands of the operator: " + err.Error())
			}
		}
	}
}

func (s *Server) serveQueued(ctx context.Context) error {
	for {
		var number int64
		var text string
		row := s.meta.db.QueryRowContext(ctx, "SELECT id, request FROM queue WHERE done = 0 ORDER BY id LIMIT 1")
		if err := row.Scan(&number, &text); err != nil {
			return noRows(err)
		}
		var c Command
		var out stored
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			out.Reply, err = s.command(ctx, c)
		}
		if err != nil {
			out.Error = diag.NewFailure(diag.Typed(err))
		}
		b, err := json.Marshal(out)
		if err != nil {
			return err
		}
		_, err = s.meta.db.ExecContext(ctx, "UPDATE queue SET reply = ?, done = 1 WHERE id = ?", string(b), number)
		if err != nil {
			return err
		}
	}
}

// ask puts a command into the queue of the process that serves the registry, and waits for
// its result.
func ask(ctx context.Context, p Params, c Command) (*Reply, error) {
	now := p.Now
	if now == nil {
		now = time.Now
	}
	m, err := openMeta(ctx, databasePath(p.Dir), now)
	if err != nil {
		return nil, err
	}
	defer m.close()
	b, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	r, err := m.db.ExecContext(ctx, "INSERT INTO queue(request, reply, done) VALUES(?, '', 0)", string(b))
	if err != nil {
		return nil, rules.Unavailable("asking the process that serves the registry", err)
	}
	number, err := r.LastInsertId()
	if err != nil {
		return nil, err
	}
	defer m.db.Exec("DELETE FROM queue WHERE id = ?", number)
	ctx, cancel := context.WithTimeout(ctx, queueWait)
	defer cancel()
	for {
		var reply string
		var done bool
		err := m.db.QueryRowContext(ctx, "SELECT reply, done FROM queue WHERE id = ?", number).Scan(&reply, &done)
		if err != nil && ctx.Err() == nil {
			return nil, rules.Unavailable("asking the process that serves the registry", err)
		}
		if done {
			return readReply(reply)
		}
		select {
		case <-ctx.Done():
			return nil, diag.New(diag.Timeout, "asking the process that serves the registry: it did not answer within %d seconds", int(queueWait.Seconds()))
		case <-time.After(queueEvery):
		}
	}
}

func readReply(text string) (*Reply, error) {
	var out stored
	err := json.Unmarshal([]byte(text), &out)
	if err != nil {
		return nil, err
	}
	if out.Error != nil {
		e := diag.New(out.Error.Code, "%s", out.Error.Message)
		return nil, e
	}
	return out.Reply, nil
}
