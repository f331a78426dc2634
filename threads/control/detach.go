package control

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/transcript"
)

const (
	stderrFile = "stderr.log"
	maxStderr  = 64 << 10 // of it that an error shows
	// maxStderrFile is the longest stderr.log that is read to find what a process printed.
	maxStderrFile = 10 << 20
	MaxDetach     = 32 << 20 // of what the process reads
	// StartWait bounds how long a process that lives may take to begin: a loaded machine needs
	// many seconds. A process that ends is noticed at once.
	StartWait  = 60 * time.Second
	startPause = 5 * time.Millisecond
)

// Detach starts the process of a run and waits for the first line of its log.
func Detach(
	ctx context.Context,
	p *project.Project,
	id string,
	input []byte,
	args []string,
) (*graph.Summary, error) {
	base := transcript.Base(p.Spaces.ProjectDir, id)
	out, err := base.OpenFile(stderrFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, diag.Doing("starting "+id, err)
	}
	defer out.Close()
	if p.SeenDir != nil { // a project above it is not the one of the process
		args = append(slices.Clone(args), "--project", p.Spaces.ProjectDir)
	}
	process, wait, err := proc.Detach(proc.Detached{
		Path:   p.Env.Self,
		Args:   args,
		Dir:    p.Spaces.ProjectDir,
		Env:    p.Env.Environ(),
		Input:  input,
		Output: out,
	})
	if err != nil {
		removeUnstarted(ctx, p, id)
		return nil, diag.New(diag.ExecutionFailed, "starting %s: %w", id, err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = wait()
		close(ended)
	}()
	limit := time.NewTimer(StartWait)
	defer limit.Stop()
	for over := false; ; {
		// A process needs many of these pauses until it has a log, which costs more to read.
		_, err := os.Lstat(base.Path(transcript.File))
		if err == nil {
			s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
			if err == nil && s.Started != "" {
				s.PID = process.Pid // also of one that has ended already
				return s, nil
			}
		}
		if over {
			return nil, notStarted(ctx, p, id)
		}
		select {
		case <-ended:
			over = true
		case <-time.After(startPause):
		case <-limit.C:
			stopStart(ctx, p, process, ended, id)
			return nil, diag.New(diag.Timeout, "starting %s: its process did not begin within %s", id, StartWait)
		case <-ctx.Done():
			stopStart(ctx, p, process, ended, id)
			return nil, ctx.Err()
		}
	}
}

// stopStart ends the process of a run that did not begin, and removes its directory: nothing
// writes there any more. One that began at the last moment keeps its log.
func stopStart(
	ctx context.Context,
	p *project.Project,
	process *os.Process,
	ended <-chan struct{},
	id string,
) {
	_ = process.Kill()
	<-ended
	removeUnstarted(ctx, p, id)
}

// notStarted returns the error of a process that ended before its run began.
func notStarted(ctx context.Context, p *project.Project, id string) error {
	b, _, err := openat.Read(
		p.Spaces.ProjectDir,
		transcript.Dir+"/"+id+"/"+stderrFile,
		maxStderr,
	)
	removeUnstarted(ctx, p, id)
	if err != nil {
		return diag.New(diag.ExecutionFailed, "starting %s: its process ended before the run began", id)
	}
	if err := failureIn(b); err != nil {
		return err
	}
	return diag.New(diag.ExecutionFailed, "starting %s: its process ended before the run began: %s", id, bytes.TrimSpace(b))
}

// failureIn returns the error that a process printed, nil if it printed none.
func failureIn(b []byte) error {
	v, _ := jsonx.ParseMessage(b[max(bytes.IndexByte(b, '{'), 0):])
	doc, _ := v.(map[string]any)
	failure, _ := doc["error"].(map[string]any)
	code, _ := failure["code"].(string)
	message, _ := failure["message"].(string)
	if message == "" {
		return nil
	}
	return diag.New(diag.Code(code), "%s", message)
}

// removeUnstarted removes the directory of a run whose log has no line.
func removeUnstarted(ctx context.Context, p *project.Project, id string) {
	ctx = context.WithoutCancel(ctx) // the caller may have given up
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err == nil && s.Started != "" {
		return
	}
	_ = atomicfile.Project(p.Spaces.ProjectDir).RemoveAll(transcript.Dir + "/" + id)
}

// StartMessage is the JSON object that the process of a detached run or thread reads.
type StartMessage map[string]any

// The process of a thread also reads what is after a zero byte, which JSON does not have: the
// metadata of embedded items, as its caller has read it. It is passed on the stdin of the
// process, a pipe that only its caller writes, next to the token without which nothing starts. It
// makes no bytes valid: the process reads each item by itself and judges its signature and its
// digest, and the metadata that belongs to this digest is used instead of parsing the file again.
const AfterStart = 0

func ReadStart(in io.Reader) (StartMessage, error) {
	b, err := io.ReadAll(io.LimitReader(in, MaxDetach+1))
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading what to start: %w", err)
	}
	b, passed, _ := bytes.Cut(b, []byte{AfterStart})
	v, findings := jsonx.ParseMessage(b)
	m, ok := v.(map[string]any)
	if len(findings) > 0 || !ok {
		return nil, diag.New(diag.Usage, "reading what to start: it is not a JSON object; rye spawn and rye graph run --async start this process")
	}
	if len(passed) > 0 {
		m[passedItems] = passed
	}
	return m, nil
}

// passedItems is the key of what is passed after the object. A key of the object cannot replace
// it, because no value of JSON has its type.
const passedItems = "\x00items"

func (m StartMessage) Text(key string) string { s, _ := m[key].(string); return s }

// Texts returns the texts of a list.
func (m StartMessage) Texts(key string) (out []string) {
	list, _ := m[key].([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

func (m StartMessage) Flag(key string) bool { on, _ := m[key].(bool); return on }

func (m StartMessage) Object(key string) map[string]any { o, _ := m[key].(map[string]any); return o }

// Named returns the id and the item of what is to start.
func (m StartMessage) Named(idKey string, kind item.Kind) (id string, ref item.Ref, err error) {
	ref, err = item.ParseRef(m.Text("ref"), kind)
	if id = m.Text(idKey); err != nil || !graph.IsID(id) {
		err = errors.Join(err, diag.New(diag.Usage, "reading what to start: ref or %s is missing", idKey))
	}
	return id, ref, err
}

// OpenDetached opens the project for a run or thread whose log does not exist yet.
func OpenDetached(ctx context.Context, e *project.Env, id string, m StartMessage) (*project.Project, error) {
	_, err := os.Stat(transcript.Base(e.Base, id).Path(transcript.File))
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.ThreadState, "starting %s: it exists", id)
	}
	e.Locked, e.Unlocked = m.Flag("locked"), m.Flag("unlocked")
	p, err := e.Open(ctx, project.Strict)
	if err != nil {
		return nil, err
	}
	b, _ := m[passedItems].([]byte)
	if m.Text("program") == e.ProgramText() {
		if err := p.Resolver.Pass(b); err != nil {
			return nil, err
		}
	}
	return p, p.CheckLocked()
}
