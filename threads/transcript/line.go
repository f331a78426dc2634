package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/sign"
)

// Line is one line of a log.
type Line struct {
	Seq   int64           `json:"seq"`
	Time  string          `json:"time"` // UTC, milliseconds
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"` // an object
	Prev  string          `json:"prev"` // the hash of the line before
}

const (
	layout = "2006-01-02T15:04:05.000Z"

	// MaxLine is the length of the longest line in bytes. A larger value is an artifact.
	MaxLine = 1 << 20
)

// Decode reads the data of the line into a struct. Unknown fields are ignored: a later
// version may have written them.
func (l *Line) Decode(into any) error {
	if err := jsonx.Decode(l.Data, into); err != nil {
		return fmt.Errorf("line %d, event %s: %w", l.Seq, l.Event, err)
	}
	return nil
}

// At returns the time of the line.
func (l *Line) At() time.Time {
	t, _ := time.Parse(layout, l.Time)
	return t
}

func (l *Line) render() ([]byte, error) {
	return chainlog.Render(l)
}

// parse reads a line with its line feed.
func parse(line []byte) (Line, error) {
	l, ok := quick(line)
	if !ok {
		l = Line{}
		err := chainlog.Parse(line, MaxLine, "event", &l)
		if err != nil {
			return Line{}, err
		}
	}
	t, err := time.Parse(layout, l.Time)
	switch {
	case l.Seq < 1:
		return l, fmt.Errorf("seq is %d", l.Seq)
	case err != nil || t.Format(layout) != l.Time:
		return l, fmt.Errorf("time is %q", l.Time)
	case !isEvent(l.Event):
		return l, fmt.Errorf("event is %q", l.Event)
	case len(l.Data) == 0 || l.Data[0] != '{':
		return l, fmt.Errorf("data is not an object")
	case !chainlog.IsDigest(l.Prev):
		return l, fmt.Errorf("prev is %q", l.Prev)
	}
	return l, nil
}

// The parts of a line in the spelling of render.
const (
	partSeq, partTime, partEvent, partData = `{"seq":`, `,"time":"`, `","event":"`, `","data":`
	partPrev, partEnd                      = `,"prev":"`, "\"}\n"
	lenPrev                                = len("sha256:") + 64
)

// deep is the nesting from which the general way decides.
const deep = 5000

// quick reads a line that render would write in the same way. ok is false for every other
// line, and the general way decides about it. That parses a line three times, and a run
// reads each line that it writes.
func quick(line []byte) (l Line, ok bool) {
	end := len(line) - len(partPrev) - lenPrev - len(partEnd)
	if len(line) > MaxLine || end < 0 {
		return l, false
	}
	tail := line[end:]
	rest, seq := cut(line[:end], partSeq, partTime)
	rest, at := cut(rest, "", partEvent)
	data, event := cut(rest, "", partData)
	prev := tail[len(partPrev) : len(partPrev)+lenPrev]
	n, err := strconv.ParseInt(string(seq), 10, 64)
	switch {
	case err != nil || strconv.FormatInt(n, 10) != string(seq),
		len(at) != len(layout) || len(bytes.Trim(at, "0123456789-:.TZ")) > 0,
		!isEvent(string(event)),
		!bytes.HasPrefix(tail, []byte(partPrev)) || !bytes.HasSuffix(tail, []byte(partEnd)) || !chainlog.IsDigest(string(prev)):
		return l, false
	}
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > deep {
		return l, false
	}
	var compact bytes.Buffer
	compact.Grow(len(data))
	if json.Compact(&compact, data) != nil ||
		!bytes.Equal(compact.Bytes(), data) ||
		!bytes.Equal(hidden.JSON(line), line) {
		return l, false
	}
	return Line{
		Seq:   n,
		Time:  string(at),
		Event: string(event),
		Data:  compact.Bytes(),
		Prev:  string(prev),
	}, true
}

// cut returns the bytes behind the text between two marks, and the text; nil, nil if b does
// not begin with head or has no end.
func cut(b []byte, head, end string) (rest, text []byte) {
	b, ok := bytes.CutPrefix(b, []byte(head))
	text, rest, found := bytes.Cut(b, []byte(end))
	if !ok || !found {
		return nil, nil
	}
	return rest, text
}

// isEvent accepts the names of events: lower-case letters, digits and _.
func isEvent(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func link(line []byte) (chainlog.Link, error) {
	l, err := parse(line)
	return chainlog.Link{Seq: l.Seq, Prev: l.Prev}, err
}

// format returns the format of the log with an id. The id is part of the line before
// the first one: the lines of one log are not valid in another.
func format(id string) *chainlog.Format {
	return &chainlog.Format{
		Genesis: "rye.dev/transcript/v1 " + id + "\n",
		MaxLine: MaxLine,
		Head:    HeadFile,
		Link:    link,
		Repair:  "resuming removes it",
		Reason:  "transcript_line",
	}
}

// checkpoint is the data of the event checkpoint: a signature over the log up to the
// line before.
type checkpoint struct {
	Turn      int64  `json:"turn,omitempty"` // of a thread
	Seq       int64  `json:"seq"`
	Size      int64  `json:"size"`
	Last      string `json:"last"`
	Key       string `json:"key"`
	Signature string `json:"signature"`
}

// statement returns the bytes that a checkpoint signs.
func statement(id string, h chainlog.Head) []byte {
	return fmt.Appendf(nil, "%s\n%s %d %d %s\n", sign.UseCheckpoint, id, h.Seq, h.Size, h.Last)
}

var encoding = base64.RawStdEncoding.Strict()

// Bytes returns the line as the log has it.
func (l *Line) Bytes() ([]byte, error) {
	return l.render()
}
