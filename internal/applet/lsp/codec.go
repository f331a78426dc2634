package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/sourcegraph/jsonrpc2"
)

// Limits of one message of a language server.
const (
	maxHeader  = 4 << 10
	maxMessage = 64 << 20
)

// codec frames messages as language servers do, with bounds, and keeps the
// error that made the stream unreadable.
type codec struct {
	jsonrpc2.VSCodeObjectCodec
	mu  sync.Mutex
	err error
}

// ReadObject reads one message.
func (c *codec) ReadObject(r *bufio.Reader, v any) error {
	err := readMessage(r, v)
	if err != nil &&
		!errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrClosedPipe) {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
	}
	return err
}

// broken returns the error that made the stream unreadable, or nil.
func (c *codec) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func readMessage(r *bufio.Reader, v any) error {
	size := -1
	for {
		line, err := headerLine(r)
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.ContainsAny(name, " \t{") {
			return notProtocol(line)
		}
		if strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > maxMessage {
				return fmt.Errorf("its message has the length %q, not 0 to %d bytes", wire.Clip(strings.TrimSpace(value), 40), maxMessage)
			}
		}
	}
	if size < 0 {
		return errors.New("its message has no Content-Length")
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("its message is not JSON-RPC: %w", err)
	}
	return nil
}

func notProtocol(line string) error {
	return fmt.Errorf("it wrote something other than the protocol to stdout: %q", wire.Clip(line, 80))
}

// headerLine reads one line without its ending.
func headerLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return "", notProtocol(string(line))
			}
			return "", err
		}
		if c == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if line = append(line, c); len(line) > maxHeader {
			return "", notProtocol(string(line))
		}
	}
}
