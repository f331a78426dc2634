package git

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
)

// The operations of a child.
const (
	opRefs    = "refs"
	opPass    = "pass"
	opHistory = "history"
)

// request is the only input of a child, as one line of JSON.
type request struct {
	Op           string   `json:"op"`
	URL          string   `json:"url"`
	Limit        int64    `json:"limit"`                  // bytes of one transfer
	Capabilities []string `json:"capabilities,omitempty"` // of the remote, if it was asked for its refs
	Repository   string   `json:"repository,omitempty"`   // "" for a remote that is read in place
	Want         Want     `json:"want"`
	Part         part     `json:"part"`
	Offline      bool     `json:"offline,omitempty"`
}

// maxRequest is the length of a request. The names of 250,000 refs take 11 MB.
const maxRequest = 16 << 20

// The kinds of frames of a child's output. A frame has one byte for its kind, four for its
// length, and its content.
const (
	frameCapabilities = 'q' // words
	frameRef          = 'r' // "OID NAME", as git ls-remote lists it
	frameCommit       = 'c' // "OID SECONDS"
	frameTree         = 't' // OID
	frameFile         = 'f' // "MODE OID PATH"
	frameFiles        = 'l' // the end of the list of files
	frameBlob         = 'b' // the number of the file in four bytes, and its bytes
	frameRecords      = 'h' // commits, see records
	frameError        = 'x' // a failure as JSON
	frameEnd          = 'z'
)

// The length of a frame that is not a blob, and of one with an error: a commit can have 20,000
// files that cannot be in a bundle.
const (
	maxFrame      = 1 << 20
	maxErrorFrame = 16 << 20
)

// frames writes frames. It is the receiver of a child.
type frames struct{ w *bufio.Writer }

func (f frames) send(kind byte, content ...[]byte) error {
	head := [5]byte{kind}
	n := 0
	for _, c := range content {
		n += len(c)
	}
	binary.BigEndian.PutUint32(head[1:], uint32(n))
	_, err := f.w.Write(head[:])
	for _, c := range content {
		if err == nil {
			_, err = f.w.Write(c)
		}
	}
	return err
}

func (f frames) text(kind byte, format string, args ...any) error {
	return f.send(kind, fmt.Appendf(nil, format, args...))
}

func (f frames) commit(id string, made time.Time) error {
	return f.text(frameCommit, "%s %d", id, made.Unix())
}

func (f frames) tree(oid string) error {
	return f.text(frameTree, "%s", oid)
}

func (f frames) list(files []file) error {
	for _, x := range files {
		err := f.text(frameFile, "%o %s %s", x.mode, x.oid, x.path)
		if err != nil {
			return err
		}
	}
	return f.send(frameFiles)
}

func (f frames) blob(i int, data []byte) error {
	return f.send(frameBlob, binary.BigEndian.AppendUint32(nil, uint32(i)), data)
}

// fail sends an error, which is the last frame.
func (f frames) fail(err error) error {
	x := failureOf(err)
	text, failed := json.Marshal(x)
	if failed == nil && len(text) > maxErrorFrame {
		x.Findings = nil
		text, failed = json.Marshal(x)
	}
	if failed != nil {
		return failed
	}
	return f.send(frameError, text)
}

// readFrames calls each with the frames, whose content is valid during the call, until the end of the output. The error for an output
// that ends before frameEnd is io.ErrUnexpectedEOF.
func readFrames(r io.Reader, each func(kind byte, content []byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var buffer []byte
	for {
		var head [5]byte
		_, err := io.ReadFull(in, head[:])
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		kind := head[0]
		n := int64(binary.BigEndian.Uint32(head[1:]))
		most := int64(maxFrame)
		switch kind {
		case frameBlob:
			most = bundle.MaxFile + 4
		case frameError:
			most = maxErrorFrame
		}
		if n > most {
			return fmt.Errorf("a frame has %d bytes, at most %d are allowed", n, most)
		}
		if int64(cap(buffer)) < n {
			buffer = make([]byte, n)
		}
		content := buffer[:n]
		if _, err := io.ReadFull(in, content); err != nil {
			return io.ErrUnexpectedEOF
		}
		switch kind {
		case frameEnd:
			return nil
		case frameError:
			return readFailure(content)
		}
		if err := each(kind, content); err != nil {
			return err
		}
	}
}

// unframe passes the frames of a part to a receiver, and checks again what the child has
// checked.
type unframe struct {
	to    receiver
	whole bool // the files are all files of the commit
	files []file
	blobs int // that are expected
	next  int
}

func (u *unframe) each(kind byte, content []byte) error {
	switch kind {
	case frameCommit:
		id, seconds, _ := strings.Cut(string(content), " ")
		n, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil || !isOID(id) {
			return errFrame
		}
		return u.to.commit(id, time.Unix(n, 0).UTC())
	case frameTree:
		if !isOID(string(content)) {
			return errFrame
		}
		return u.to.tree(string(content))
	case frameFile:
		return u.file(string(content))
	case frameFiles:
		if u.whole {
			blobs, _ := usable(u.files)
			u.blobs = len(blobs)
			return u.to.list(u.files)
		}
		if err := check(u.files); err != nil {
			return err
		}
		u.blobs = len(u.files)
		return u.to.list(u.files)
	case frameBlob:
		if len(content) < 4 ||
			u.next == u.blobs ||
			int(binary.BigEndian.Uint32(content)) != u.next {
			return errFrame
		}
		u.next++
		return u.to.blob(u.next-1, content[4:])
	}
	return errFrame
}

var errFrame = errors.New("its git client wrote a frame that is not valid")

func (u *unframe) file(text string) error {
	words := strings.SplitN(text, " ", 3)
	if len(words) < 3 ||
		!isOID(words[1]) ||
		len(u.files) == bundle.MaxFiles {
		return errFrame
	}
	mode, err := strconv.ParseUint(words[0], 8, 32)
	if err != nil {
		return errFrame
	}
	u.files = append(u.files, file{path: words[2], mode: uint32(mode), oid: words[1]})
	return nil
}

// failure is an error of a child.
type failure struct {
	Code      diag.Code      `json:"Code"`
	Message   string         `json:"Message"`
	Reason    string         `json:",omitempty"`
	Details   map[string]any `json:",omitempty"`
	Findings  []wireFinding  `json:",omitempty"`
	Retryable bool           `json:",omitempty"`
	Cause     string         `json:",omitempty"` // the text of one of the causes
}

// wireFinding is a finding with the fields that its own JSON form leaves out.
type wireFinding struct {
	diag.Finding
	Reason string         `json:"reason,omitempty"`
	Facts  map[string]any `json:"facts,omitempty"`
}

// causes are the errors that the parent compares by errors.Is.
func causes() []error {
	return []error{errMissing, errNotOffered, errUnsupported, errAuth}
}

func failureOf(err error) failure {
	var e *diag.Error
	if !errors.As(err, &e) {
		e = diag.New(diag.Internal, "%w", err)
	}
	out := failure{
		Code:      e.Code,
		Message:   err.Error(),
		Reason:    e.Reason,
		Details:   e.Details,
		Retryable: e.Retryable,
	}
	for _, f := range e.Findings {
		out.Findings = append(out.Findings, wireFinding{f, f.Reason, f.Facts})
	}
	for _, c := range causes() {
		if errors.Is(err, c) {
			out.Cause = c.Error()
		}
	}
	return out
}

// readFailure returns the error that a child reported.
func readFailure(content []byte) error {
	var f failure
	err := json.Unmarshal(content, &f)
	if err != nil || f.Code == "" {
		return errFrame
	}
	e := &diag.Error{
		Code:      f.Code,
		Message:   f.Message,
		Reason:    f.Reason,
		Details:   f.Details,
		Retryable: f.Retryable,
	}
	for _, x := range f.Findings {
		x.Finding.Reason = x.Reason
		x.Finding.Facts = x.Facts
		e.Findings = append(e.Findings, x.Finding)
	}
	for _, c := range causes() {
		if f.Cause == c.Error() {
			e.Err = c
		}
	}
	return e
}
