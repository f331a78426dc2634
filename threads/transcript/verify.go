package transcript

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/sign"
)

// Report is the result of verifying a log.
type Report struct {
	ID          string `json:"id"`
	Lines       []Line `json:"-"`
	Count       int    `json:"lines"`
	Checkpoints int    `json:"checkpoints"`
	Signed      int64  `json:"signed"` // the last line that a checkpoint covers
	// Unverifiable is set if a runtime key that signed a checkpoint is missing, or if the log
	// has no checkpoint and this user account did not begin it.
	Unverifiable bool           `json:"unverifiable,omitempty"`
	Torn         int64          `json:"torn_bytes,omitempty"` // of an unfinished last line
	Findings     []diag.Finding `json:"findings,omitempty"`

	head    chainlog.Head
	numbers []int // of the lines, in the file
	badHead bool  // the recorded end has the hash of a line and not its position
	ahead   bool  // the log has lines after the newest one that this account recorded
}

// Err returns an error if the log is damaged.
func (r *Report) Err() error {
	return diag.FromFindings("verifying the log of "+r.ID, r.Findings)
}

// Own returns an error if a runtime key of this user account did not sign the log: nothing
// in it is to be continued.
func (r *Report) Own() error {
	if !r.Unverifiable {
		return nil
	}
	return diag.New(diag.KeyUnknown, "verifying the log of %s: the runtime key that signed it is missing", r.ID).
		WithReason("runtime_key").
		WithDetail("id", r.ID)
}

// Verify reads a whole log and checks the chain, every checkpoint and every artifact.
// It does not take the lock and may run while another process writes.
func Verify(ctx context.Context, p Params) (*Report, error) {
	f, err := openat.OpenRegular(p.base().Path(File))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noRun(p.ID)
	case err != nil:
		return nil, diag.Doing("reading the log of "+p.ID, err)
	}
	defer func() { _ = f.Close() }()
	rep, err := verify(ctx, f, p)
	if err != nil {
		return nil, err
	}
	for i := range rep.Lines {
		_, err := Expand(p.Project, p.ID, &rep.Lines[i])
		if err != nil {
			rep.add(rep.numbers[i], err.Error())
		}
	}
	if err := rep.artifacts(p); err != nil {
		return nil, err
	}
	if rep.badHead || damagedHead(p) {
		rep.damaged(Dir+"/"+p.ID+"/"+HeadFile, "it was altered: it does not state where a log ends")
	}
	rep.Findings = diag.WithPath(rep.Findings, Dir+"/"+p.ID+"/"+File)
	diag.Sort(rep.Findings)
	return rep, nil
}

// artifacts compares the content of each artifact with the hash that its name states, also
// of those that only the text of a result names.
func (r *Report) artifacts(p Params) error {
	entries, err := os.ReadDir(p.base().Path(ArtifactsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		digest := "sha256:" + strings.TrimSuffix(name, path.Ext(name))
		if err != nil || !chainlog.IsDigest(digest) {
			continue // the rest of a write that was stopped
		}
		var is string
		if is, err = hashOf(p.base().Path(ArtifactsDir + "/" + name)); err == nil &&
			is != digest {
			r.damaged(Dir+"/"+p.ID+"/"+ArtifactsDir+"/"+name, "it was altered: it has other content, whose hash is "+is)
		}
	}
	if err != nil {
		return diag.Doing("reading the artifacts of "+p.ID, err)
	}
	return nil
}

func hashOf(name string) (string, error) {
	f, err := openat.OpenRegular(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func (r *Report) damaged(file, text string) {
	r.Findings = append(r.Findings, diag.WithPath([]diag.Finding{
		diag.Errorf(diag.TranscriptBroken, 0, 0, "%s", text).
			WithReason("transcript_artifact", "path", file)}, file)...)
}

func noRun(id string) error {
	return diag.New(diag.ThreadNotFound, "reading the log of %s: no run has this id", id).
		WithReason("no_run").
		WithDetail("id", id)
}

// Read returns the whole lines of a log without checking the chain, to show them. It
// stops at the first line that is not an event.
func Read(project, id string) ([]Line, error) {
	return read(project, id, math.MaxInt)
}

// First returns the first line of a log without checking it, nil if the log has none.
func First(project, id string) (*Line, error) {
	lines, err := read(project, id, 1)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	return &lines[0], nil
}

func read(project, id string, most int) ([]Line, error) {
	f, err := openat.OpenRegular(Base(project, id).Path(File))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noRun(id)
	case err != nil:
		return nil, diag.Doing("reading the log of "+id, err)
	}
	defer func() { _ = f.Close() }()
	var lines []Line
	err = format(id).EachLine(f, func(line []byte, whole bool) error {
		l, err := parse(line)
		if !whole || err != nil || len(lines) == most {
			return io.EOF
		}
		lines = append(lines, l)
		return nil
	})
	if err != nil && err != io.EOF {
		return nil, diag.Doing("reading the log of "+id, err)
	}
	return lines, nil
}

// Whole returns a line with its artifacts in their positions.
func Whole(project, id string, l *Line) (*Line, error) {
	if !bytes.Contains(l.Data, []byte(`"`+artifactsKey+`":`)) {
		return l, nil
	}
	data, err := Expand(project, id, l)
	if err != nil {
		return nil, err
	}
	whole := *l
	whole.Data, err = jsonx.Marshal(data)
	return &whole, err
}

func (r *Report) add(line int, text string) {
	f := diag.Errorf(diag.TranscriptBroken, line, 0, "%s", text).WithReason("transcript_line", "head", HeadFile)
	r.Findings = append(r.Findings, f)
}

// verify reads an open log from its beginning.
func verify(ctx context.Context, file *os.File, p Params) (*Report, error) {
	wrote, err := readWrote(p) // before the log: another process may write both
	if err != nil {
		return nil, err
	}
	h, known := readHead(p)
	f := format(p.ID)
	rep := &Report{ID: p.ID, head: f.Start()}
	var last Line
	f.Link = func(line []byte) (_ chainlog.Link, err error) {
		last, err = parse(line)
		return chainlog.Link{Seq: last.Seq, Prev: last.Prev}, err
	}
	c := f.NewCheck(h, known)
	err = f.EachLine(io.NewSectionReader(file, 0, 1<<62), func(line []byte, whole bool) error {
		switch {
		case !whole:
			rep.Torn = int64(len(line))
			c.Cut()
		case c.Add(line):
			rep.checkpoint(p, &last, c.Line())
			rep.Lines, rep.numbers = append(rep.Lines, last), append(rep.numbers, c.Line())
		}
		if whole {
			rep.head = rep.head.After(line)
			wrote.compare(rep.head)
			rep.badHead = rep.badHead || known && rep.head.Last == h.Last && rep.head != h
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, diag.Doing("reading the log of "+p.ID, err)
	}
	fi, err := file.Stat()
	if err == nil && rep.Torn > 0 {
		rep.Torn = fi.Size() - rep.head.Size // EachLine passes the beginning of a long line
	}
	for _, finding := range c.End() {
		if known || finding.Severity == diag.SeverityError || rep.Torn > 0 {
			rep.Findings = append(rep.Findings, finding)
		}
	}
	if f := wrote.finding(c.Line()); f != nil {
		rep.Findings = append(rep.Findings, *f)
	}
	rep.ahead = rep.head.Seq > wrote.head.Seq
	rep.Count = len(rep.Lines)
	if rep.Count > 0 && rep.Checkpoints == 0 && !isOwn(p) {
		rep.Unverifiable = true
	}
	rep.Findings = diag.WithPath(rep.Findings, Dir+"/"+p.ID+"/"+File)
	return rep, nil
}

// readHead reads the recorded end. A log that never rested has none.
func readHead(p Params) (chainlog.Head, bool) {
	b, _, err := openat.Read(
		p.Project,
		Dir+"/"+p.ID+"/"+HeadFile,
		4096,
	)
	if err != nil {
		return format(p.ID).Start(), false
	}
	return format(p.ID).ParseHead(b)
}

// damagedHead reports whether the recorded end exists and is not one. A log is continued
// without it: its lines are chained, and the next checkpoint records the end again.
func damagedHead(p Params) bool {
	_, err := os.Lstat(p.base().Path(HeadFile))
	_, known := readHead(p)
	return err == nil && !known
}

// checkpoint checks the signature of a checkpoint, which covers the lines before it.
func (r *Report) checkpoint(p Params, l *Line, number int) {
	if l.Event != EventCheckpoint {
		return
	}
	var c checkpoint
	if err := l.Decode(&c); err != nil {
		r.add(number, err.Error())
		return
	}
	r.Checkpoints++
	fp, err := sign.ParseFingerprint(c.Key)
	sig, sigErr := encoding.DecodeString(c.Signature)
	if err != nil || sigErr != nil {
		r.add(number, "the checkpoint has no valid key or signature")
		return
	}
	if c.Seq != r.head.Seq ||
		c.Size != r.head.Size ||
		c.Last != r.head.Last {
		r.add(number, "the checkpoint is about another line than the one before it")
		return
	}
	public, ok := p.Keys(fp)
	switch {
	case !ok:
		r.Unverifiable = true
	case !ed25519.Verify(public, statement(p.ID, r.head), sig):
		r.add(number, "the signature of the checkpoint is not valid")
	default:
		r.Signed = l.Seq
	}
}
