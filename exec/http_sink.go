package exec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
)

// sinkConfig is where events go, as the sink's item and the tool say.
type sinkConfig struct {
	id, kind  string
	maxEvents int
	path      string
	raw       bool
	appends   bool
}

func readSinks(v any) ([]sinkConfig, error) {
	list, _ := v.([]any)
	var out []sinkConfig
	for _, v := range list {
		m, _ := v.(map[string]any)
		s := sinkConfig{}
		s.id, _ = m["sink"].(string)
		s.kind, _ = m["kind"].(string)
		s.path, _ = m["path"].(string)
		n, _ := asInt(m["max_events"])
		s.maxEvents = int(n)
		s.raw = m["format"] == "raw"
		s.appends, _ = m["append"].(bool)
		switch s.kind {
		case "return", "file", "null":
		default:
			return nil, diag.New(diag.ConfigError, "reading the sinks: %s has kind %q, this program knows return, file and null", s.id, s.kind)
		}
		out = append(out, s)
	}
	return out, nil
}

// sink takes events.
type sink interface {
	put(ev map[string]any, data []byte) error
	// told ends the work and says what became of the events.
	told() (map[string]any, error)
}

// pour reads events into every sink, and says what became of them.
func (x *httpExchange) pour(r io.Reader, framing httpx.Framing, data map[string]any) (map[string]any, error) {
	sinks, err := x.openSinks(data)
	events := int64(0)
	var cut bool
	if err == nil {
		cut, err = httpx.Events(r, framing, func(e httpx.Event) error {
			events++
			return x.event(e, sinks)
		})
	}
	told := map[string]any{"framing": string(framing), "events": events, "cut": cut}
	var where []any
	for i, s := range sinks {
		m, end := s.told()
		m["sink"] = x.config.sinks[i].id
		where = append(where, m)
		err = errors.Join(err, end)
	}
	told["sinks"] = where
	if err != nil {
		data["success"] = false
	}
	return told, oneError(err)
}

// oneError keeps the typed error of several that were joined.
func oneError(err error) error {
	var e *diag.Error
	if errors.As(err, &e) {
		return e
	}
	return err
}

func (x *httpExchange) event(e httpx.Event, sinks []sink) error {
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
	if x.in.OnLine != nil {
		x.in.OnLine(proc.Stdout, data)
	}
	for _, s := range sinks {
		if err := s.put(ev, data); err != nil {
			return err
		}
	}
	return nil
}

func (x *httpExchange) openSinks(data map[string]any) ([]sink, error) {
	var out []sink
	for _, c := range x.config.sinks {
		switch c.kind {
		case "return":
			out = append(out, &returnSink{max: c.maxEvents, into: data, events: []any{}})
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

// nullSink counts.
type nullSink struct{ n int64 }

func (s *nullSink) put(map[string]any, []byte) error { s.n++; return nil }
func (s *nullSink) told() (map[string]any, error)    { return map[string]any{"events": s.n}, nil }

// returnSink keeps events for the result.
type returnSink struct {
	max     int
	events  []any
	dropped int64
	into    map[string]any
}

func (s *returnSink) put(ev map[string]any, _ []byte) error {
	if len(s.events) < s.max {
		s.events = append(s.events, ev)
	} else {
		s.dropped++
	}
	return nil
}

func (s *returnSink) told() (map[string]any, error) {
	s.into["events"] = s.events
	return map[string]any{"events": int64(len(s.events)), "dropped": s.dropped}, nil
}

// fileSink writes events to a file of the project.
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
		err = s.w.Flush() // who reads along sees whole events
	}
	s.n++
	s.bytes += int64(n)
	if err != nil {
		return diag.New(diag.FileSystemError, "writing %q: %w", s.path, err)
	}
	return nil
}

func (s *fileSink) told() (map[string]any, error) {
	told := map[string]any{"events": s.n, "bytes": s.bytes, "path": s.path}
	if err := s.f.Close(); err != nil {
		return told, diag.New(diag.FileSystemError, "closing %q: %w", s.path, err)
	}
	return told, nil
}

// openFile opens the file of a sink below the project, through no link.
func (x *httpExchange) openFile(c sinkConfig) (*fileSink, error) {
	name, err := x.fill().Plain("sinks.path", c.path)
	if err != nil {
		return nil, err
	}
	rel := path.Clean(filepath.ToSlash(name))
	if !fs.ValidPath(rel) || rel == "." || strings.ContainsAny(rel, "\\:\x00") {
		return nil, diag.New(diag.PathEscape, "opening %q: it is no file below the project", name)
	}
	switch first, _, _ := strings.Cut(strings.ToLower(rel), "/"); first {
	case ".git", ".ai":
		return nil, diag.New(diag.PolicyDenied, "opening %q: nothing is written below %s", name, first)
	}
	root, err := os.OpenRoot(x.exec.p.Dir)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening the project: %w", err)
	}
	defer root.Close()
	if err := linkless(root, rel); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if c.appends {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := root.OpenFile(rel, flags, 0o644)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening %q: %w", name, err)
	}
	return &fileSink{f: f, w: bufio.NewWriter(f), path: rel, raw: c.raw}, nil
}

// linkless makes the folders of rel, and refuses a link or special file on the
// way to it.
func linkless(root *os.Root, rel string) error {
	at := ""
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		at = path.Join(at, part)
		info, err := root.Lstat(at)
		last := i == len(parts)-1
		switch {
		case errors.Is(err, fs.ErrNotExist) && last:
		case errors.Is(err, fs.ErrNotExist):
			if err := root.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return diag.New(diag.FileSystemError, "making folder %q: %w", at, err)
			}
		case err != nil:
			return diag.New(diag.FileSystemError, "opening %q: %w", at, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return diag.New(diag.PathEscape, "opening %q: %q is a link", rel, at)
		case last && !info.Mode().IsRegular():
			return diag.New(diag.NotRegular, "opening %q: it is no regular file", rel)
		}
	}
	return nil
}

// jsonValue reads a JSON value as strictly as anywhere, and what is JSON all
// the same (a key twice, a huge number) as it comes.
func jsonValue(b []byte) (any, bool) {
	if v, fs := jsonx.ParseValue(b); !diag.Failed(fs) {
		return v, true
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, errors.Is(err, io.EOF)
}
