// Package httpserve serves HTTP for the programs of rye that serve a network for long: it opens the
// listener, bounds connections and bodies, names requests, refuses foreign names and origins, and ends
// with the requests in progress.
//
// It knows no route and no user. The MCP server has rules of its own, which permit pages of this machine.
package httpserve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"time"

	"github.com/ryeos/rye/diag"
)

// Address is where a server listens.
type Address struct {
	TCP       string // HOST:PORT
	Unix      string // the path of a socket, in place of TCP
	Cert, Key string // files in PEM; with "" the server has no TLS
}

// Limits bound connections.
type Limits struct {
	Header time.Duration // for the header of a request
	Idle   time.Duration // of a connection between requests
	Bytes  int           // of a header
	Close  time.Duration // for the requests in progress when the server ends
}

// Listen opens the listener. The files of TLS are read once.
func Listen(ctx context.Context, a Address) (net.Listener, error) {
	if a.Unix != "" {
		return listenUnix(ctx, a.Unix)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", a.TCP)
	if err != nil {
		return nil, diag.New(diag.Network, "listening on %s: %w", a.TCP, err)
	}
	if a.Cert == "" {
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(a.Cert, a.Key)
	if err != nil {
		_ = l.Close()
		return nil, diag.New(diag.ConfigError, "reading the certificate %s with the key %s: %w", a.Cert, a.Key, err)
	}
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}), nil
}

// listenUnix opens a socket that only this user can use. A socket that a killed server left is removed,
// one that a server answers is not.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	fi, err := os.Lstat(path)
	switch {
	case err == nil && fi.Mode()&fs.ModeSocket == 0:
		return nil, diag.New(diag.ConfigError, "listening on %s: the file exists and is not a socket", path)
	case err == nil:
		var d net.Dialer
		c, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			_ = c.Close()
			return nil, diag.New(diag.Conflict, "listening on %s: another server uses it", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, diag.New(diag.FileSystemError, "listening on %s: %w", path, err)
		}
	}
	restore := onlyOwner()
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", path)
	restore()
	if err != nil {
		return nil, diag.New(diag.Network, "listening on %s: %w", path, err)
	}
	if runtime.GOOS != "windows" {
		// Without this, some systems connect users whose mask was different.
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		_ = l.Close()
		return nil, diag.New(diag.FileSystemError, "listening on %s: %w", path, err)
	}
	return l, nil
}

// IsLoopback reports whether HOST:PORT is an address of this machine only.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	// Without a host it is every address.
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Server returns a server that bounds connections.
func Server(h http.Handler, limits Limits) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: limits.Header,
		IdleTimeout:       limits.Idle,
		MaxHeaderBytes:    limits.Bytes,
	}
}

// Serve serves a listener until ctx ends, and then for at most limits.Close the requests in progress.
func Serve(ctx context.Context, l net.Listener, h http.Handler, limits Limits) error {
	s := Server(h, limits)
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	// The context that ended must not end the requests in progress.
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), limits.Close)
	defer stop()
	err := s.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.Close()
	}
	return err
}
