package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/internal/hidden"
)

const (
	// maxLine is the maximum length of a message over stdio, in bytes.
	maxLine = 16 << 20
	// drainTime is the time that running calls have to answer after the end of
	// the input: the requests may come from a file.
	drainTime = 500 * time.Millisecond
)

// lines is a transport of one message per line. The SDK's own ends the server at
// the first line that it cannot parse.
type lines struct {
	in      io.Reader
	out     io.Writer
	stop    <-chan struct{} // closing it ends the reading
	ended   chan struct{}   // closed by the connection at the end of the input
	pending *pending
}

// Connect starts reading.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{lines: l, read: make(chan []byte), closed: make(chan struct{})}
	go c.pump()
	return c, nil
}

type lineConn struct {
	*lines
	read   chan []byte // lines, closed at the end of the input
	closed chan struct{}
	once   sync.Once
	write  sync.Mutex
}

// SessionID is empty: there is one session, the process.
func (c *lineConn) SessionID() string {
	return ""
}

// Close ends the reading of messages. Later input is not read.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// pump splits the input into lines. Each line is a new buffer, because messages
// keep parts of it. A line that is too long is passed as nil.
func (c *lineConn) pump() {
	defer close(c.read)
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, long, err := readLine(r, maxLine)
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); long ||
			len(line) > 0 {
			if long {
				line = nil
			}
			select {
			case c.read <- line:
			case <-c.closed:
				return
			case <-c.stop:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line with its end. long is true for a line of more
// than most bytes, which is skipped.
func readLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			if contentLen(line) > most {
				line = nil
				long = true
			}
		}
		if err != bufio.ErrBufferFull {
			return line, long, err
		}
	}
}

// contentLen returns the length of a line without its end.
func contentLen(line []byte) int {
	line, _ = bytes.CutSuffix(line, []byte("\n"))
	line, _ = bytes.CutSuffix(line, []byte("\r"))
	return len(line)
}

// Read returns the next message. An invalid line is answered here and not
// returned.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case <-c.stop:
			return nil, io.EOF
		case line, ok := <-c.read:
			if !ok {
				c.pending.drain(drainTime, c.stop)
				close(c.ended)
				return nil, io.EOF
			}
			msg, refused := decode(line)
			if refused != nil {
				if err := c.put(refused); err != nil {
					return nil, err
				}
				continue
			}
			return msg, nil
		}
	}
}

// Write sends one message.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.put(b)
}

func (c *lineConn) put(b []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.out.Write(append(b, '\n'))
	return err
}

// decode parses one message, or returns the error response to an invalid one.
// The response has the request's id if that is unambiguous.
func decode(line []byte) (msg jsonrpc.Message, refused []byte) {
	switch {
	case line == nil:
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "this message is longer than 16 MiB")
	case line[0] == '[':
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "batches are not supported: send one message a line")
	}
	if !json.Valid(line) {
		var raw json.RawMessage
		return nil, refuse(jsonrpc.CodeParseError, nil, "this line is not valid JSON: "+json.Unmarshal(line, &raw).Error())
	}
	id := member(line, "id")
	key, repeated := repeatedKey(line)
	switch {
	case !utf8.Valid(line):
		if !utf8.Valid(id) {
			id = nil
		}
		return nil, refuse(jsonrpc.CodeParseError, id, "this message is not UTF-8")
	case repeated && key == "id":
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "this message has two ids")
	case id != nil && !validID(id):
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "an id must be a text or a whole number below 2^53")
	case repeated:
		return nil, refuse(jsonrpc.CodeInvalidRequest, id, "the key "+quoted(key)+" is given twice")
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, refuse(jsonrpc.CodeInvalidRequest, id, "this is not a JSON-RPC 2.0 message: "+err.Error())
	}
	req, ok := msg.(*jsonrpc.Request)
	if ok && req.Method != hidden.Visible(req.Method) {
		return nil, refuse(jsonrpc.CodeMethodNotFound, id, "this server has no method "+quoted(req.Method))
	}
	return msg, nil
}

// refuse returns an error response.
func refuse(code int64, id json.RawMessage, message string) []byte {
	b, _ := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   any             `json:"error"`
	}{"2.0", id, map[string]any{"code": code, "message": hidden.Visible(message)}})
	return b
}

// validID reports whether the SDK returns an id unchanged: it parses numbers as
// floating point.
func validID(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	digits := bytes.TrimPrefix(id, []byte("-"))
	for _, b := range digits {
		if b < '0' || b > '9' {
			return false
		}
	}
	const safe = "9007199254740991"
	return len(digits) < len(safe) || len(digits) == len(safe) && string(digits) <= safe
}
