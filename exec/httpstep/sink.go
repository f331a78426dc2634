package httpstep

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tree"
)

// sinkConfig is one destination of events: the settings of the sink's item with
// the settings of the tool laid over them.
type sinkConfig struct {
	id, kind  string
	maxEvents int
	path      string
	raw       bool
	appends   bool
}

func readSink(r *tree.Reader) sinkConfig {
	r.Require("kind")
	return sinkConfig{
		id:        r.Text("sink"),
		kind:      r.Enum("kind", "", "return", "file", "null"),
		maxEvents: int(r.Int("max_events", 0, 0, math.MaxInt32)),
		path:      r.Text("path"),
		raw:       r.Text("format") == "raw",
		appends:   r.Bool("append", false),
	}
}

// sink receives events.
type sink interface {
	put(ev map[string]any, data []byte) error
	// close ends the sink and returns a summary of the events it received.
	close() (map[string]any, error)
}

// pour passes the events of r to every sink and returns a summary. data is the
// tool's result: the return sink adds its events there.
func (x *exchange) pour(
	r io.Reader,
	framing httpx.Framing,
	data map[string]any,
) (map[string]any, error) {
	sinks, err := x.openSinks(data)
	events := int64(0)
	var cut bool
	if err == nil {
		cut, err = httpx.Events(r, framing, func(e httpx.Event) error {
			events++
			return x.event(e, sinks)
		})
	}
	var closed []any
	for i, s := range sinks {
		m, end := s.close()
		m["sink"] = x.config.sinks[i].id
		closed = append(closed, m)
		err = errors.Join(err, end)
	}
	if err != nil {
		data["success"] = false
	}
	// Of joined errors the typed one is kept: it has the code.
	var typed *diag.Error
	if errors.As(err, &typed) {
		err = typed
	}
	return map[string]any{
		"framing": string(framing),
		"events":  events,
		"cut":     cut,
		"sinks":   closed,
	}, err
}

func (x *exchange) event(e httpx.Event, sinks []sink) error {
	data := x.secret.Bytes(e.Data)
	ev := map[string]any{}
	if e.Name != "" {
		ev["event"] = e.Name
	}
	if e.ID != "" {
		ev["id"] = e.ID
	}
	if v, ok := jsonValue(data); ok {
		ev["data"] = v
	} else {
		ev["data"] = string(bytes.ToValidUTF8(data, []byte("\uFFFD")))
	}
	if x.call.OnEvent != nil {
		x.call.OnEvent(proc.Live, data)
	}
	for _, s := range sinks {
		if err := s.put(ev, data); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) openSinks(data map[string]any) ([]sink, error) {
	var out []sink
	for _, c := range x.config.sinks {
		switch c.kind {
		case "return":
			out = append(
				out,
				&returnSink{limit: c.maxEvents, result: data, events: []any{}},
			)
		case "file":
			s, err := x.openFile(c)
			if err != nil {
				return out, err
			}
			out = append(out, s)
		default:
			out = append(out, &nullSink{})
		}
	}
	return out, nil
}

// nullSink drops events and counts them.
type nullSink struct{ n int64 }

func (s *nullSink) put(map[string]any, []byte) error { s.n++; return nil }
func (s *nullSink) close() (map[string]any, error) {
	return map[string]any{"events": s.n}, nil
}

// returnSink adds the first events to the tool's result.
type returnSink struct {
	limit   int
	events  []any
	dropped int64
	result  map[string]any
}

func (s *returnSink) put(ev map[string]any, _ []byte) error {
	if len(s.events) < s.limit {
		s.events = append(s.events, ev)
	} else {
		s.dropped++
	}
	return nil
}

func (s *returnSink) close() (map[string]any, error) {
	s.result["events"] = s.events
	return map[string]any{"events": int64(len(s.events)), "dropped": s.dropped}, nil
}

// fileSink writes events to a file of the project, one per line.
type fileSink struct {
	f     *os.File
	w     *bufio.Writer
	path  string
	raw   bool
	n     int64
	bytes int64
}

func (s *fileSink) put(ev map[string]any, data []byte) error {
	line := data
	if !s.raw {
		var err error
		if line, err = jsonx.Marshal(ev); err != nil {
			return err
		}
	}
	n, err := s.w.Write(append(bytes.Clone(line), '\n'))
	if err == nil {
		err = s.w.Flush() // a program that follows the file reads whole events
	}
	s.n++
	s.bytes += int64(n)
	if err != nil {
		return diag.New(diag.FileSystemError, "writing %q: %w", s.path, err)
	}
	return nil
}

func (s *fileSink) close() (map[string]any, error) {
	summary := map[string]any{"events": s.n, "bytes": s.bytes, "path": s.path}
	if err := s.f.Close(); err != nil {
		return summary, diag.New(diag.FileSystemError, "closing %q: %w", s.path, err)
	}
	return summary, nil
}

// openFile opens the file of a sink in the project. It follows no link.
func (x *exchange) openFile(c sinkConfig) (*fileSink, error) {
	name, err := x.filler().Plain("sinks.path", c.path)
	if err != nil {
		return nil, err
	}
	rel := path.Clean(filepath.ToSlash(name))
	if !fs.ValidPath(rel) || rel == "." || strings.ContainsAny(rel, "\\:\x00") {
		return nil, diag.New(diag.PathEscape, "opening %q: not a path of a file in the project", name)
	}
	if err := x.call.Boundary.CheckProject(); err != nil {
		return nil, err
	}
	if err := x.call.Boundary.CheckWrite(rel, name); err != nil {
		return nil, err
	}
	if err := x.checkParents(rel); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if c.appends {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := atomicfile.Project(x.call.Dir).Shown(".").OpenFile(rel, flags, 0o644)
	if err != nil {
		return nil, err
	}
	return &fileSink{
		f:    f,
		w:    bufio.NewWriter(f),
		path: rel,
		raw:  c.raw,
	}, nil
}

// checkParents asks whether the missing directories of rel may be created.
func (x *exchange) checkParents(rel string) error {
	base := atomicfile.Project(x.call.Dir)
	for i := range len(rel) {
		if rel[i] != '/' {
			continue
		}
		_, err := base.Stat(rel[:i])
		if !errors.Is(err, fs.ErrNotExist) {
			continue // opening the file refuses links and files here
		}
		err = x.call.Boundary.CheckCreate(rel[:i], rel)
		if err != nil {
			return err
		}
	}
	return nil
}
