package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/threads/transcript"
)

const (
	// alive is how often a stream without events has a comment, and how often its key is checked.
	alive = time.Second
	quiet = 15 * time.Second
	// writeLimit is how long a client may not read.
	writeLimit = 30 * time.Second
	// pieces is the shortest time between two reads of a log: pieces of a text arrive together.
	pieces = 50 * time.Millisecond
	// maxFollowed is the number of threads of a tree that a stream follows.
	maxFollowed = 256
)

// streamed is an event of a stream.
type streamed struct {
	Thread string `json:"thread"`
	host.Line
}

// stream reads the lines of threads as they are written.
type stream struct {
	s       *Server
	view    *host.View
	root    string
	tree    bool
	watch   *watch
	readers map[string]*transcript.Reader
	after   map[string]int64 // lines that the client has
}

// newStream returns a stream of a thread, with tree of all threads below it too. after has the lines that
// the client has.
func (s *Server) newStream(
	v *host.View,
	id string,
	tree bool,
	after map[string]int64,
) (*stream, error) {
	out := &stream{
		s:       s,
		view:    v,
		root:    id,
		tree:    tree,
		watch:   s.follow.newWatch(),
		readers: map[string]*transcript.Reader{},
		after:   after,
	}
	if err := out.open(id); err != nil {
		out.watch.close()
		return nil, err
	}
	return out, nil
}

func (t *stream) open(id string) error {
	if t.readers[id] != nil || len(t.readers) >= maxFollowed {
		return nil
	}
	// A thread below can be in a project that the caller does not see.
	dir, err := t.view.Where(id)
	if err != nil {
		return err
	}
	t.readers[id] = transcript.NewReader(dir, id)
	t.watch.add(filepath.Dir(transcript.Base(dir, id).Path(transcript.File)))
	return nil
}

// next passes the lines that were written since the last call.
func (t *stream) next(
	ctx context.Context,
	each func(id string, l *transcript.Line) error,
) error {
	grown := false
	for _, id := range slices.Sorted(maps.Keys(t.readers)) {
		err := t.readers[id].Next(func(l *transcript.Line) error {
			if l.Seq <= t.after[id] {
				return nil
			}
			// A thread below is known by the time that its parent has a line about a call.
			grown = grown || l.Event == "tool_output" || l.Event == "tool_result"
			t.after[id] = l.Seq
			return each(id, l)
		})
		if err != nil {
			return err
		}
	}
	if !t.tree || !grown && len(t.readers) > 1 {
		return nil
	}
	list, err := t.view.Tree(ctx, t.root)
	if err != nil {
		return nil // a run has no account
	}
	for i := range list {
		err := t.open(list[i].ID)
		if err != nil && diag.CodeOf(err) != diag.ThreadNotFound {
			return err
		}
	}
	return nil
}

// position returns the text that the client repeats to continue after an event.
func (t *stream) position() string {
	// A tree has several logs, so one number would not be enough.
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(t.after)) {
		parts = append(parts, id+":"+strconv.FormatInt(t.after[id], 10))
	}
	return strings.Join(parts, ",")
}

// readPosition reads a text of position.
func readPosition(text string) (map[string]int64, error) {
	out := map[string]int64{}
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		id, number, _ := strings.Cut(part, ":")
		seq, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !graph.IsID(id) || len(out) >= maxFollowed {
			return nil, diag.New(diag.Usage, "reading Last-Event-ID: it is not a position of this stream")
		}
		out[id] = seq
	}
	return out, nil
}

// sender writes events of a stream to a client.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time
}

// newSender begins an answer of events.
func newSender(w http.ResponseWriter) *sender {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy would hold events back
	w.WriteHeader(http.StatusOK)
	return &sender{w: w, control: http.NewResponseController(w)}
}

// send writes one event.
func (o *sender) send(id, event string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	text := "event: " + event + "\ndata: " + string(b) + "\n\n"
	if id != "" {
		text = "id: " + id + "\n" + text
	}
	return o.write(text)
}

func (o *sender) write(text string) error {
	o.last = time.Now()
	_ = o.control.SetWriteDeadline(o.last.Add(writeLimit)) // a recorder of a test has none
	_, err := fmt.Fprint(o.w, text)
	return err
}

// rest writes a comment if the stream was quiet, and passes all to the client.
func (o *sender) rest() error {
	if time.Since(o.last) >= quiet {
		if err := o.write(": alive\n\n"); err != nil {
			return err
		}
	}
	return o.control.Flush()
}

// events serves the lines of a thread as a stream.
func (s *Server) events(
	w http.ResponseWriter,
	r *http.Request,
	caller *who,
) {
	q := r.URL.Query()
	after, err := readPosition(r.Header.Get("Last-Event-ID"))
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	t, err := s.newStream(
		s.view(caller),
		q.Get("thread"),
		q.Get("tree") == "1",
		after,
	)
	if err != nil {
		fail(w, statusOf(err), err)
		return
	}
	defer t.watch.close()
	release, ok := s.streams.add(caller.key)
	if !ok {
		tooMany(w, time.Second)
		return
	}
	defer release()
	out := newSender(w)
	err = s.run(r, t.watch, pieces, out.rest, func() error {
		return t.next(r.Context(), func(id string, l *transcript.Line) error {
			return out.send(
				t.position(),
				l.Event,
				streamed{Thread: id, Line: host.LineOf(l)},
			)
		})
	})
	if err != nil && r.Context().Err() == nil {
		_ = out.send("", "error", failed(statusOf(err), err))
		_ = out.rest()
	}
}

// run calls read after each change, at most once in a pause, until the client leaves or its key ends.
func (s *Server) run(
	r *http.Request,
	on *watch,
	pause time.Duration,
	rest, read func() error,
) error {
	ctx := r.Context()
	for {
		began := time.Now()
		// What was written before the first change is read too.
		if err := read(); err != nil {
			return err
		}
		if err := rest(); err != nil {
			return err
		}
		if err := on.wait(ctx, alive); err != nil {
			return err
		}
		if left := pause - time.Since(began); left > 0 {
			time.Sleep(left)
		}
		if _, err := s.identify(r); err != nil {
			return err
		}
	}
}
