//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"time"

	"golang.org/x/sys/unix"
)

// The first argument is the address of a server of the test.
func networkAttempts() map[string]attempt {
	return map[string]attempt{
		"dialtcp":      func(a []string) error { return dial("tcp", a[0]) },
		"dialudp":      dialUDP,
		"dialmptcp":    func(a []string) error { return connect(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, a[0]) },
		"dialsctp":     func(a []string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP) },
		"dialunix":     func(a []string) error { return dial("unix", a[0]) },
		"dialabstract": func(a []string) error { return dial("unix", "@"+a[0]) },
		"rawsock":      func(a []string) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
		"packetsock":   func(a []string) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0x0300) },
		"vsock":        func(a []string) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
		"netlink":      func(a []string) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
		"algsock":      func(a []string) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
		"highbits":     func(a []string) error { return call(unix.SYS_SOCKET, 1<<32|unix.AF_INET, unix.SOCK_STREAM, 0) },
		"listen":       listen,
		"resolve":      resolve,
		"loopback":     ownLoopback,
		"viaproxy":     viaProxy,
	}
}

func dial(network, addr string) error {
	conn, err := net.DialTimeout(network, addr, 2*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// dialUDP succeeds if the server answers.
func dialUDP(a []string) error {
	conn, err := net.DialTimeout("udp", a[0], 2*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := conn.Write([]byte("ping")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 16))
	return err
}

func socket(family, kind, proto int) error {
	fd, err := unix.Socket(family, kind, proto)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func connect(family, kind, proto int, addr string) error {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, kind, proto)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()})
}

// listen opens a port that other processes of the machine can reach.
func listen(a []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return l.Close()
}

func resolve(a []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// A DNS server of the test; the system's own answers with the same error.
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", a[0])
	}}
	_, err := r.LookupHost(ctx, "secret-in-a-name.test")
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return nil // the server was reached
	}
	return err
}

// ownLoopback connects the program with itself, which the mode loopback permits.
func ownLoopback(a []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	return dial("tcp", l.Addr().String())
}

// viaProxy asks the proxy of the environment for a host and port, by CONNECT and by
// an absolute URL. It succeeds if either reached the host.
func viaProxy(a []string) error {
	proxy := strings.TrimPrefix(os.Getenv("HTTP_PROXY"), "http://")
	if proxy == "" {
		return errors.New("no proxy")
	}
	var errs []error
	for _, request := range []string{
		fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", a[0], a[0]),
		fmt.Sprintf("GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", a[0], a[0]),
	} {
		err := ask(proxy, request)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errs[0]
}

func ask(proxy, request string) error {
	conn, err := net.DialTimeout("tcp", proxy, 2*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("status %d", res.StatusCode)
}
