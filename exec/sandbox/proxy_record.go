package sandbox

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/policy"
)

// maxConnections is the number of rows in Connections.
const maxConnections = 64

// Connections are the hosts that a program asked a Proxy for, in the order of the
// first request.
type Connections struct {
	List []Connection
	More int // requests to hosts beyond the maximum
}

// Connection is all traffic with one host and port.
type Connection struct {
	Host     string `json:"host"`
	Port     uint16 `json:"port"`
	Allowed  bool   `json:"allowed"`
	Reason   string `json:"reason,omitempty"` // why it is not allowed
	BytesOut int64  `json:"bytes_out"`
	BytesIn  int64  `json:"bytes_in"`
}

// record collects connections. The zero value is empty.
type record struct {
	mu   sync.Mutex
	rows []*recordRow
	more int
}

type recordRow struct {
	Connection
	out, in atomic.Int64
}

// open returns the row of a connection that was made.
func (r *record) open(t httpx.Target) *recordRow {
	return r.row(Connection{Host: t.Host, Port: t.Port, Allowed: true})
}

// refuse records a request that was refused. host and port are as the program
// wrote them.
func (r *record) refuse(host, port, reason string) {
	const longest = 253
	host = strings.ToValidUTF8(host, "?")
	host = cuttext.Start(host, longest)
	n, _ := strconv.ParseUint(port, 10, 16)
	r.row(Connection{Host: host, Port: uint16(n), Reason: reason})
}

// row returns the row of c's host, port and reason. Beyond the maximum it returns
// one that is not listed.
func (r *record) row(c Connection) *recordRow {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		if row.Connection == c {
			return row
		}
	}
	row := &recordRow{Connection: c}
	if len(r.rows) == maxConnections {
		r.more++
		return row
	}
	r.rows = append(r.rows, row)
	return row
}

func (r *record) list() Connections {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Connections{List: []Connection{}, More: r.more}
	for _, row := range r.rows {
		one := row.Connection
		one.BytesOut, one.BytesIn = row.out.Load(), row.in.Load()
		c.List = append(c.List, one)
	}
	return c
}

// countedConn counts the bytes of a connection to a host and ends it when idle.
type countedConn struct {
	net.Conn
	idle  time.Duration
	entry *recordRow
}

func (c *countedConn) Read(b []byte) (int, error) {
	c.SetDeadline(time.Now().Add(c.idle))
	n, err := c.Conn.Read(b)
	c.entry.in.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.SetDeadline(time.Now().Add(c.idle))
	n, err := c.Conn.Write(b)
	c.entry.out.Add(int64(n))
	return n, err
}

// CloseWrite ends one direction.
func (c *countedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// limitListener accepts a limited number of connections at a time.
type limitListener struct {
	net.Listener
	ctx  context.Context
	free chan struct{}
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.free })}, nil
}

// limitedConn is a connection of the program.
type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite ends one direction.
func (c *limitedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if ok {
		return half.CloseWrite()
	}
	return c.Close()
}

func portText(port uint16) string {
	return strconv.Itoa(int(port))
}

// hostListed reports whether a profile lists a target.
func hostListed(hosts []string, t httpx.Target) bool {
	return policy.HostPermitted(hosts, t.Host, t.Port)
}

// listedAddress reports whether a profile lists exactly the address of a target,
// which then may be private.
func listedAddress(hosts []string, t httpx.Target) bool {
	if !t.Addr.IsValid() {
		return false
	}
	var exact []string
	for _, h := range hosts {
		if !strings.HasPrefix(h, "*") {
			exact = append(exact, h)
		}
	}
	return policy.HostPermitted(exact, t.Host, t.Port)
}
