package transcript

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/threads/heads"
)

// wrote compares a log with the newest head that this user account wrote. A program that writes the project can put an
// earlier state of a log in its position, with the signatures that it had then: the steps after it would be made again.
type wrote struct {
	p     Params
	head  heads.Head
	known bool
	found bool
	bad   error // the record is damaged
}

func readWrote(p Params) (*wrote, error) {
	w := &wrote{p: p}
	if p.Heads == "" {
		return w, nil
	}
	var err error
	if w.head, w.known, err = heads.Read(p.Heads, p.ID); diag.CodeOf(err) == diag.Rollback {
		w.bad = err
		err = nil
	}
	return w, err
}

// compare takes the head after each line of the log.
func (w *wrote) compare(h chainlog.Head) {
	w.found = w.found || h == w.head.Head
}

// finding returns why the log is not continued, nil if it is the one that this account wrote, or continues that. line is
// the number of its last line.
func (w *wrote) finding(line int) *diag.Finding {
	var f diag.Finding
	switch {
	case w.bad != nil:
		f = diag.Errorf(diag.Rollback, max(line, 1), 0, "whether the log was set back is not known: %v", w.bad)
	case !w.known || w.found:
		return nil
	case int64(line) < w.head.Seq:
		f = diag.Errorf(
			diag.Rollback,
			max(line, 1),
			0,
			"the log was set back: it ends here, and this account wrote %d lines, the last ones in %s",
			w.head.Seq,
			w.head.Project,
		)
	default:
		f = diag.Errorf(
			diag.Rollback,
			int(w.head.Seq),
			0,
			"the log was set back and written differently: this account wrote another line here, in %s",
			w.head.Project,
		)
	}
	f = f.WithReason("log_set_back", "id", w.p.ID)
	return &f
}

// unrecorded refuses to begin a log that this account has written before: its lines were removed.
func unrecorded(p Params) error {
	w, err := readWrote(p)
	if err != nil {
		return err
	}
	if w.bad == nil && !w.known {
		return nil
	}
	e := diag.New(
		diag.Rollback,
		"beginning the log %s: it was removed: this account wrote %d lines, the last ones in %s",
		p.base().Path(File),
		w.head.Seq,
		w.head.Project,
	)
	if w.bad != nil {
		e = diag.New(diag.Rollback, "beginning the log %s: %w", p.base().Path(File), w.bad)
	}
	return e.
		WithReason("log_set_back").
		WithDetail("id", p.ID).
		WithDetail("path", p.base().Path(File))
}

// Accepted is the result of Accept.
type Accepted struct {
	ID    string `json:"id"`
	Lines int64  `json:"lines"` // of the log
	Wrote int64  `json:"wrote"` // lines that this account had recorded, 0 if that is not known
}

// Accept records the present state of a log as its newest: a person wants it to be continued from there. A log that was
// removed can be begun again. The log is verified as before every resume.
func Accept(ctx context.Context, p Params) (*Accepted, error) {
	w, err := readWrote(p)
	if err != nil {
		return nil, err
	}
	_, missing := p.base().Stat(File)
	removed := errors.Is(missing, fs.ErrNotExist)
	if removed && !w.known && w.bad == nil {
		return nil, noRun(p.ID)
	}
	l, err := begin(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	out := &Accepted{ID: p.ID, Wrote: w.head.Seq}
	switch {
	case l.newest == nil:
		return out, nil
	case removed:
		return out, l.newest.Forget()
	}
	l.file, err = p.base().OpenFile(File, os.O_RDWR, 0)
	if err != nil {
		return nil, diag.Doing("opening the log of "+p.ID, err)
	}
	p.Heads = ""
	rep, err := verify(ctx, l.file, p)
	if err == nil {
		err = rep.Err()
	}
	if err == nil {
		err = rep.Own()
	}
	if err != nil {
		return nil, err
	}
	if out.Lines = int64(rep.Count); out.Lines == 0 {
		return out, l.newest.Forget()
	}
	if err := l.file.Sync(); err != nil {
		return nil, l.failed(err)
	}
	return out, l.newest.Set(rep.head)
}
