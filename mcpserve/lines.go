package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/internal/hidden"
)

const (
	// maxLine is the longest message that stdio takes, in bytes.
	maxLine = 16 << 20
	// drainTime is how long the calls that run when the input ends may take to
	// answer, so that requests can come from a file.
	drainTime = 500 * time.Millisecond
)

// lines is a transport of one message a line. That of the SDK ends the server
// at the first line it cannot read.
type lines struct {
	in   io.Reader
	out  io.Writer
	stop <-chan struct{} // closed: nothing is read any more
	over chan struct{}   // closed by the connection when the input has ended
	open *open           // what has no answer yet
}

// Connect starts to read.
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
func (c *lineConn) SessionID() string { return "" }

// Close ends the reading of messages. Bytes that are still on their way stay
// unread.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// pump cuts the input into lines. What it reads is not used again, as messages
// keep parts of it.
func (c *lineConn) pump() {
	defer close(c.read)
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, long, err := readLine(r, maxLine)
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); long || len(line) > 0 {
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

// readLine returns the next line, or that it is too long and has been passed
// over.
func readLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			if content(line) > most {
				line, long = nil, true
			}
		}
		if err != bufio.ErrBufferFull {
			return line, long, err
		}
	}
}

// content is the length of a line without what ends it.
func content(line []byte) int {
	line, _ = bytes.CutSuffix(line, []byte("\n"))
	line, _ = bytes.CutSuffix(line, []byte("\r"))
	return len(line)
}

// Read returns the next message. A line that is none is answered here.
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
				c.open.drain(drainTime, c.stop)
				close(c.over)
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

// decode reads one message, or returns the answer to what is none. An answer
// has no id where the request has none that can be trusted.
func decode(line []byte) (msg jsonrpc.Message, refused []byte) {
	switch {
	case line == nil:
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "this message is longer than 16 MiB")
	case line[0] == '[':
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "batches are not supported: send one message a line")
	}
	if !json.Valid(line) {
		var raw json.RawMessage
		return nil, refuse(jsonrpc.CodeParseError, nil, "this line is no JSON: "+json.Unmarshal(line, &raw).Error())
	}
	id := member(line, "id")
	key, found := twice(line)
	switch {
	case found && key == "id":
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "this message has two ids")
	case id != nil && !validID(id):
		return nil, refuse(jsonrpc.CodeInvalidRequest, nil, "an id must be a text or a whole number below 2^53")
	case found:
		return nil, refuse(jsonrpc.CodeInvalidRequest, id, "the key "+quoted(key)+" stands twice")
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, refuse(jsonrpc.CodeInvalidRequest, id, "this is no message of JSON-RPC 2.0: "+err.Error())
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method != hidden.Visible(req.Method) {
		return nil, refuse(jsonrpc.CodeMethodNotFound, id, "this server has no method "+quoted(req.Method))
	}
	return msg, nil
}

func refuse(code int64, id json.RawMessage, message string) []byte {
	b, _ := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   any             `json:"error"`
	}{"2.0", id, map[string]any{"code": code, "message": hidden.Visible(message)}})
	return b
}

// validID tells whether an id survives the way through the SDK, which reads
// numbers as floating point and answers with what is left of them.
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
