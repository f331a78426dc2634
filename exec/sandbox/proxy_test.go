package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// upstream is a server on loopback that repeats what it received. It returns the
// server's address.
func upstream(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %q %q", r.Method, r.Host, r.RequestURI, r.Header.Get("Proxy-Authorization")+r.Header.Get("X-Forwarded-For"), b)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// startProxy returns the address of a proxy for hosts, and the proxy.
func startProxy(t *testing.T, p ProxyParams) (string, *Proxy) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := StartProxy(t.Context(), l, p)
	t.Cleanup(func() { x.Close() })
	return l.Addr().String(), x
}

// send writes bytes to the proxy and returns the first response with its body.
func send(t *testing.T, proxy, request string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	go io.WriteString(conn, request)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	if res.StatusCode == 200 && strings.HasPrefix(request, "CONNECT") {
		return 200, ""
	}
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func TestProxyForwards(t *testing.T) {
	t.Parallel()
	host := upstream(t)
	proxy, x := startProxy(t, ProxyParams{Hosts: []string{host}})
	status, body := send(t, proxy, "POST http://"+host+"/a%2Fb?c HTTP/1.1\r\nHost: "+host+"\r\nProxy-Authorization: Basic eA==\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
	if status != 200 || body != `POST `+host+` /a%2Fb?c "" "hi"` {
		t.Errorf("%d %s", status, body)
	}
	got := x.Close()
	if len(got.List) != 1 || !got.List[0].Allowed || got.List[0].BytesOut < 50 || got.List[0].BytesIn < 50 || got.List[0].Host != "127.0.0.1" {
		t.Errorf("%+v", got)
	}
	if _, err := net.Dial("tcp", proxy); err == nil {
		t.Error("the proxy accepts connections after Close")
	}
}

func TestProxyTunnels(t *testing.T) {
	t.Parallel()
	host := upstream(t)
	proxy, x := startProxy(t, ProxyParams{Hosts: []string{host}})
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The request inside arrives together with the CONNECT.
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\nGET /in HTTP/1.1\r\nHost: inner.test\r\nConnection: close\r\n\r\n", host, host)
	b, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200 ") || !strings.HasSuffix(string(b), `GET inner.test /in "" ""`) {
		t.Errorf("%q %v", b, err)
	}
	if got := x.Close(); len(got.List) != 1 || got.List[0].BytesOut < 50 || got.List[0].BytesIn < 50 {
		t.Errorf("%+v", got)
	}
}

// TestProxyHostile sends what a confined program sends to reach another host than
// the listed one. No request may reach the host that is not listed.
func TestProxyHostile(t *testing.T) {
	t.Parallel()
	listed := upstream(t)
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	bad := other.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(bad)
	proxy, x := startProxy(t, ProxyParams{Hosts: []string{listed, "api.test", "*.deep.test:" + port, "*.0.0.1:" + port}})
	for _, c := range []struct {
		name, request string
		want          []int
	}{
		{"another host", "GET http://" + bad + "/ HTTP/1.1\r\nHost: " + listed + "\r\n\r\n", []int{403}},
		{"another Host header", "GET http://" + listed + "/ HTTP/1.1\r\nHost: " + bad + "\r\nConnection: close\r\n\r\n", []int{200}},
		{"two Host headers", "GET http://" + listed + "/ HTTP/1.1\r\nHost: " + listed + "\r\nHost: " + bad + "\r\n\r\n", []int{400}},
		{"origin form", "GET / HTTP/1.1\r\nHost: " + bad + "\r\n\r\n", []int{400}},
		{"asterisk", "OPTIONS * HTTP/1.1\r\nHost: " + bad + "\r\n\r\n", []int{400}},
		{"https in absolute form", "GET https://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n", []int{400}},
		{"ftp", "GET ftp://" + bad + "/ HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"a user", "GET http://" + listed + "@" + bad + "/ HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"a user in CONNECT", "CONNECT " + listed + "@" + bad + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"opaque", "GET http:" + bad + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"a backslash", "GET http://" + listed + "\\@" + bad + "/ HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"a fragment in CONNECT", "CONNECT " + bad + "#@" + listed + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"a path in CONNECT", "CONNECT /" + bad + " HTTP/1.1\r\nHost: " + bad + "\r\n\r\n", []int{400}},
		{"a URL in CONNECT", "CONNECT http://" + bad + "/ HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"no port", "CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"port 0", "CONNECT 127.0.0.1:0 HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"another port", "CONNECT api.test:25 HTTP/1.1\r\nHost: x\r\n\r\n", []int{403}},
		{"port 80 of a host with 443", "GET http://api.test/ HTTP/1.1\r\nHost: x\r\n\r\n", []int{403}},
		{"hexadecimal", "CONNECT 0x7f.1:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"one number", "CONNECT 2130706433:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"octal", "CONNECT 0177.0.0.1:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"short", "CONNECT 127.1:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"an address below a wildcard", "CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{403}},
		{"mapped", "CONNECT [::ffff:127.0.0.1]:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{403}},
		{"mapped in hexadecimal", "CONNECT [::ffff:7f00:1]:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{403}},
		{"a zone", "CONNECT [::1%25lo]:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"a final dot", "CONNECT 127.0.0.1.:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"full width", "CONNECT １２７.0.0.1:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"IDN", "CONNECT bücher.test:443 HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"an escaped dot", "GET http://127%2e0.0.1:" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"NUL", "CONNECT 127.0.0.1\x00.deep.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"a space", "CONNECT 127.0.0.1 .deep.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
		{"HTTP/0.9", "GET http://" + bad + "/\r\n\r\n", []int{400}},
		{"not HTTP", "SSH-2.0-x\r\n\r\n", []int{400}},
		{"a large header", "GET http://" + listed + "/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", []int{431, 0}},
		{"a long host", "CONNECT " + strings.Repeat("a", 60<<10) + ":443 HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}},
	} {
		status, body := send(t, proxy, c.request)
		if !slices.Contains(c.want, status) || status == 200 && !strings.HasPrefix(body, "GET "+listed+" /") {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests reached the other host", n)
	}
	for _, c := range x.Close().List {
		if len(c.Host) > 253 {
			t.Errorf("a host of %d bytes is recorded", len(c.Host))
		}
	}
}

// A request whose end two readers find at different positions is sent on as one
// request, to the host that was checked.
func TestProxySmuggling(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		io.Copy(io.Discard, r.Body)
		if strings.Contains(r.RequestURI, "admin") {
			t.Errorf("a hidden request arrived: %s", r.RequestURI)
		}
	}))
	defer s.Close()
	host := s.Listener.Addr().String()
	proxy, _ := startProxy(t, ProxyParams{Hosts: []string{host}})
	hidden := "GET /admin HTTP/1.1\r\nHost: evil.test\r\n\r\n"
	for name, request := range map[string]string{
		"both lengths":        "POST http://%s/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"two lengths":         "POST http://%s/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden,
		"an unknown encoding": "POST http://%s/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" + hidden,
		"a space in a name":   "POST http://%s/ HTTP/1.1\r\nHost: x\r\nContent-Length : 44\r\n\r\n" + hidden,
		"a bare CR":           "POST http://%s/ HTTP/1.1\r\nHost: x\r\nX: a\rContent-Length: 44\r\n\r\n" + hidden,
		"a folded line":       "GET http://%s/ HTTP/1.1\r\nHost: x\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n" + hidden,
		"an upgrade":          "GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + hidden,
	} {
		before := seen.Load()
		status, body := send(t, proxy, fmt.Sprintf(request, host))
		if n := seen.Load() - before; n > 1 || status != 200 && status != 400 && status != 501 {
			t.Errorf("%s: %d requests, %d %s", name, n, status, body)
		}
	}
}

// A program that opens many connections and sends nothing does not keep others
// from ending, and the end of the run ends everything.
func TestProxyLimits(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	host := silent.Addr().String()
	proxy, x := startProxy(t, ProxyParams{Hosts: []string{host}, Idle: 50 * time.Millisecond})
	open := func() net.Conn {
		conn, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\n\r\n", host)
		return conn
	}
	conn := open()
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if b, err := io.ReadAll(conn); err != nil || !strings.Contains(string(b), " 200 ") {
		t.Errorf("an idle tunnel: %q %v", b, err)
	}
	slow, y := startProxy(t, ProxyParams{Hosts: []string{host}})
	proxy = slow
	var all []net.Conn
	for range proxyConnections + 5 {
		all = append(all, open())
	}
	one := make([]byte, 1)
	all[0].SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := all[0].Read(one); err != nil {
		t.Fatal(err)
	}
	y.Close()
	for _, conn := range all {
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatal("a connection outlives Close")
		}
		conn.Close()
	}
	x.Close()
}

func TestProxyEndsWithContext(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x := StartProxy(ctx, l, ProxyParams{})
	cancel()
	<-x.served
	if got := x.Close(); len(got.List) != 0 || got.List == nil {
		t.Errorf("%+v", got)
	}
}

func TestProxyRecord(t *testing.T) {
	t.Parallel()
	var r record
	for i := range 3 * maxConnections {
		r.refuse(fmt.Sprintf("h%d.test", i%(maxConnections+10)), "443", "host_not_listed")
	}
	if got := r.list(); len(got.List) != maxConnections || got.More == 0 || got.List[1].Host != "h1.test" || got.List[1].Port != 443 || got.List[1].Allowed {
		t.Errorf("%+v", got)
	}
}

func TestProxyEnv(t *testing.T) {
	t.Parallel()
	env := ProxyEnv("127.0.0.1:9", []string{"api.test"})
	for _, want := range []string{"HTTP_PROXY=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9", "ALL_PROXY=http://127.0.0.1:9", "no_proxy=localhost,127.0.0.1,::1"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %v", want, env)
		}
	}
	if env := ProxyEnv("127.0.0.1:9", []string{"127.0.0.1:80"}); !slices.Contains(env, "NO_PROXY=") {
		t.Errorf("a listed loopback address does not pass through the proxy: %v", env)
	}
}
