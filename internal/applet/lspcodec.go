package applet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// Limits of one message of a language server.
const (
	maxLSPHeader  = 4 << 10
	maxLSPMessage = 64 << 20
)

// lspCodec frames messages as language servers do, with bounds, and remembers
// what made the stream unreadable.
type lspCodec struct {
	jsonrpc2.VSCodeObjectCodec
	mu   sync.Mutex
	what error
}

// ReadObject reads one message.
func (c *lspCodec) ReadObject(r *bufio.Reader, v any) error {
	err := readLSP(r, v)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		c.mu.Lock()
		c.what = err
		c.mu.Unlock()
	}
	return err
}

func (c *lspCodec) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.what
}

func readLSP(r *bufio.Reader, v any) error {
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
			return fmt.Errorf("it writes something else than the protocol to stdout: %q", clipText(line, 80))
		}
		if strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > maxLSPMessage {
				return fmt.Errorf("its message has a length of %q bytes, and %d is the most", clipText(strings.TrimSpace(value), 40), maxLSPMessage)
			}
		}
	}
	if size < 0 {
		return errors.New("its message does not say how long it is")
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("its message is no JSON-RPC: %w", err)
	}
	return nil
}

func headerLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return "", fmt.Errorf("it writes something else than the protocol to stdout: %q", clipText(string(line), 80))
			}
			return "", err
		}
		if c == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if line = append(line, c); len(line) > maxLSPHeader {
			return "", fmt.Errorf("it writes something else than the protocol to stdout: %q", clipText(string(line), 80))
		}
	}
}
