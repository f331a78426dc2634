package httpx

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// local may reach this machine.
func local(t *testing.T, change func(*Params)) *Client {
	t.Helper()
	p := Params{AllowPrivate: []string{"127.0.0.1"}, Sleep: func(context.Context, time.Duration) error { return nil }}
	if change != nil {
		change(&p)
	}
	c, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func server(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func get(url string) Request { return Request{Method: "GET", URL: url} }

func wantCode(t *testing.T, err error, code diag.Code, words ...string) *diag.Error {
	t.Helper()
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(e.Message, w) {
			t.Errorf("%q does not say %q", e.Message, w)
		}
	}
	return e
}

func TestDo(t *testing.T) {
	t.Parallel()
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", r.Method+" "+r.Header.Get("X-A")+" "+string(b))
		w.WriteHeader(418)
		io.WriteString(w, "body")
	})
	res, err := local(t, nil).Do(t.Context(), Request{Method: "POST", URL: url + "/p#frag", Header: http.Header{"X-A": {"1"}}, Body: []byte("hi")})
	if err != nil || res.Status != 418 || res.OK() || string(res.Body) != "body" || res.Header.Get("X-Saw") != "POST 1 hi" || res.Attempts != 1 || res.URL != url+"/p" {
		t.Errorf("%+v, %v", res, err)
	}
}

// Nothing of the environment chooses a proxy.
func TestNoProxyFromEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	c := local(t, func(p *Params) {
		p.AllowPrivate = append(p.AllowPrivate, "service.test")
		p.Dialer = &net.Dialer{Resolver: names(t, map[string]string{"service.test.": "127.0.0.1"})}
	})
	if _, err := c.Do(t.Context(), get("http://service.test:"+port)); err != nil {
		t.Error(err)
	}
}

func TestDeclaredProxy(t *testing.T) {
	t.Parallel()
	proxy := server(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "via "+r.URL.String()) })
	c := local(t, func(p *Params) { p.AllowPrivate, p.Proxy = nil, proxy })
	res, err := c.Do(t.Context(), get("http://service.test/x"))
	if err != nil || string(res.Body) != "via http://service.test/x" {
		t.Errorf("%+v, %v", res, err)
	}
	_, err = c.Do(t.Context(), get("http://169.254.169.254/latest/meta-data"))
	wantCode(t, err, diag.PolicyDenied, "credentials")
	for _, host := range []string{"localhost", "LOCALHOST.", "x.localhost", "[::1]", "10.0.0.1"} {
		_, err = c.Do(t.Context(), get("http://"+host+"/"))
		wantCode(t, err, diag.PolicyDenied, "asking http://")
	}
	_, err = New(Params{Proxy: "socks5://user:secret@x"})
	if e := wantCode(t, err, diag.ConfigError, "proxy"); strings.Contains(e.Message, "secret") {
		t.Error(e.Message)
	}
}

func TestNotPublic(t *testing.T) {
	t.Parallel()
	for _, s := range strings.Fields(`0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.1.1 172.16.0.1 172.31.255.255
		192.0.0.1 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
		:: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::
		3fff::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1 ::7f00:1 5f00::1 4000::1`) {
		a := netip.MustParseAddr(s).Unmap()
		if why, _ := notPublic(a); why == "" {
			t.Errorf("%s counts as public", s)
		}
	}
	for _, s := range strings.Fields("1.1.1.1 8.8.8.8 100.128.0.1 172.32.0.1 192.169.0.1 169.253.0.1 2606:4700::1111 64:ff9b::808:808 2002:808:808::1") {
		if why, _ := notPublic(netip.MustParseAddr(s)); why != "" {
			t.Errorf("%s: %s", s, why)
		}
	}
	for _, s := range strings.Fields("169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1") {
		if why, telling := notPublic(netip.MustParseAddr(s)); !telling {
			t.Errorf("%s: %q", s, why)
		}
	}
}

func TestAllowPrivate(t *testing.T) {
	t.Parallel()
	g := func(allow ...string) *guard {
		g, fs := newGuard(Params{AllowPrivate: allow, Dialer: &net.Dialer{}})
		if len(fs) > 0 {
			t.Fatal(fs)
		}
		return g
	}
	for _, c := range []struct {
		g    *guard
		host string
		addr string
		ok   bool
	}{
		{g(), "a.test", "8.8.8.8", true},
		{g(), "a.test", "10.0.0.1", false},
		{g("10.0.0.1"), "a.test", "10.0.0.1", true},
		{g("10.0.0.1"), "a.test", "::ffff:10.0.0.1", true},
		{g("10.0.0.1"), "a.test", "10.0.0.2", false},
		{g("10.0.0.0/8"), "a.test", "10.9.9.9", true},
		{g("localhost"), "LOCALHOST", "127.0.0.1", true},
		{g("localhost"), "localhost.", "::1", true},
		{g("localhost"), "evil.test", "127.0.0.1", false},
		{g("0.0.0.0/0", "::/0", "169.254.0.0/16", "a.test"), "a.test", "169.254.169.254", false},
		{g("169.254.169.254"), "a.test", "169.254.169.254", true},
		{g("fe80::1"), "a.test", "fe80::1%eth0", true},
	} {
		err := c.g.judge(c.host, netip.MustParseAddr(c.addr))
		if (err == nil) != c.ok {
			t.Errorf("%s at %s with %v %v %v: %v", c.host, c.addr, c.g.single, c.g.prefixes, c.g.names, err)
		}
	}
	for _, bad := range []string{"", "http://x", "10.0.0.0/99", "a b", "*", "x/y", "127.1.2.3.4/8"} {
		if _, err := New(Params{AllowPrivate: []string{bad}}); diag.CodeOf(err) != diag.ConfigError {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A name that answers with a private address is refused when the connection is
// made, whatever it answered before (DNS rebinding).
func TestRebinding(t *testing.T) {
	t.Parallel()
	hit := false
	url := server(t, func(http.ResponseWriter, *http.Request) { hit = true })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	for _, addr := range []string{"127.0.0.1", "::ffff:127.0.0.1"} {
		c, err := New(Params{Dialer: &net.Dialer{Resolver: names(t, map[string]string{"public.test.": addr})}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(t.Context(), get("http://public.test:"+port+"/?key=secret"))
		e := wantCode(t, err, diag.PolicyDenied, "public.test is at 127.0.0.1, a loopback address")
		if e.Details["address"] != "127.0.0.1" || strings.Contains(e.Message, "secret") || e.Retryable {
			t.Errorf("%+v", e)
		}
	}
	if hit {
		t.Error("the server was reached")
	}
}

// names is a resolver that knows a few names, by a server of its own.
func names(t *testing.T, table map[string]string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			pc.WriteTo(dnsAnswer(buf[:n], table), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func dnsAnswer(q []byte, table map[string]string) []byte {
	name, i := "", 12
	for q[i] != 0 {
		name += string(q[i+1:i+1+int(q[i])]) + "."
		i += 1 + int(q[i])
	}
	question := q[12 : i+5]
	kind := binary.BigEndian.Uint16(q[i+1:])
	addr, known := netip.ParseAddr(table[name])
	var data []byte
	switch {
	case known != nil:
	case kind == 1 && addr.Is4():
		data = addr.AsSlice()
	case kind == 28 && addr.Is6():
		data = addr.AsSlice()
	}
	out := append([]byte{}, q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	if known != nil {
		out[3] |= 3
	}
	out = append(out, question...)
	if data != nil {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
		out = append(out, data...)
	}
	return out
}

func TestURLs(t *testing.T) {
	t.Parallel()
	c := local(t, func(p *Params) { p.Hosts = []string{"api.test", "*.deep.test", "port.test:8443"} })
	for raw, want := range map[string]diag.Code{
		"https://api.test/x?y#z":        "",
		"https://API.test:99":           "",
		"http://a.deep.test":            "",
		"https://a.b.deep.test":         "",
		"https://port.test:8443/":       "",
		"https://port.test/":            diag.PolicyDenied,
		"https://deep.test":             diag.PolicyDenied,
		"https://notdeep.test":          diag.PolicyDenied,
		"https://api.test.evil.test":    diag.PolicyDenied,
		"https://api.test@evil.test":    diag.ValidationFailed,
		"https://u:p@api.test":          diag.ValidationFailed,
		"ftp://api.test":                diag.ValidationFailed,
		"file:///etc/passwd":            diag.ValidationFailed,
		"//api.test/x":                  diag.ValidationFailed,
		"https:///x":                    diag.ValidationFailed,
		"https://api.test:0":            diag.ValidationFailed,
		"https://api.test:99999":        diag.ValidationFailed,
		"https://api.test/\x00":         diag.ValidationFailed,
		"https://api.test/\r\nX-A: b":   diag.ValidationFailed,
		"https://api.te st/":            diag.ValidationFailed,
		"https://api.test/%zz":          diag.ValidationFailed,
		"":                              diag.ValidationFailed,
		"https://[::1%25eth0]/":         diag.PolicyDenied,
		"https:api.test":                diag.ValidationFailed,
		"javascript:alert(1)":           diag.ValidationFailed,
		"https://api.test\\@evil.test/": diag.ValidationFailed,
	} {
		_, err := c.target(raw)
		if diag.CodeOf(err) != want {
			t.Errorf("%q: %v, want %q", raw, err, want)
		}
	}
	for _, bad := range []string{"", "https://x", "*", "*.", "*.com", "x:0", "x:y", "a/b", "a b", "*.*.test"} {
		if _, err := New(Params{Hosts: []string{bad}}); diag.CodeOf(err) != diag.ConfigError {
			t.Errorf("host %q: %v", bad, err)
		}
	}
	// 127.1 and 0x7f000001 are names here, and no resolver makes addresses of them before the guard sees them.
	for _, raw := range []string{"http://127.0.0.2/", "http://[::1]/", "http://[::ffff:169.254.169.254]/", "http://0/", "http://0.0.0.0/"} {
		if _, err := local(t, nil).Do(t.Context(), get(raw)); err == nil {
			t.Errorf("%s was reached", raw)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var saw []string
	note := func(r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		saw = append(saw, strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("Accept"), r.Header.Get("Content-Type"), string(b)}, "|"))
	}
	other := server(t, func(_ http.ResponseWriter, r *http.Request) { note(r) })
	first := server(t, func(w http.ResponseWriter, r *http.Request) {
		note(r)
		var status int
		var to string
		fmt.Sscanf(r.URL.Query().Get("to"), "%d", &status)
		_, to, _ = strings.Cut(r.URL.Query().Get("to"), " ")
		if status > 0 {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}
	})
	c := local(t, nil)
	send := func(method, to string, body []byte) ([]string, error) {
		saw = nil
		r := Request{Method: method, URL: first + "/?to=" + strings.ReplaceAll(to, " ", "%20"), Body: body, MaxRedirects: 3,
			Header: http.Header{"Authorization": {"Bearer s"}, "X-Api-Key": {"k"}, "Accept": {"a"}, "Content-Type": {"t"}}}
		_, err := c.Do(t.Context(), r)
		return saw, err
	}
	for _, tc := range []struct {
		method, to string
		body       []byte
		last       string
	}{
		{"GET", "302 /same", nil, "GET|/same|Bearer s|k|a|t|"},
		{"GET", "302 " + other + "/other", nil, "GET|/other|||a||"},
		{"POST", "302 /same", []byte("b"), "GET|/same|Bearer s|k|a||"},
		{"POST", "303 " + other + "/other", []byte("b"), "GET|/other|||a||"},
		{"PUT", "307 /same", []byte("b"), "PUT|/same|Bearer s|k|a|t|b"},
		{"HEAD", "303 /same", nil, "HEAD|/same|Bearer s|k|a|t|"},
	} {
		got, err := send(tc.method, tc.to, tc.body)
		if err != nil || got[len(got)-1] != tc.last {
			t.Errorf("%s %s: %q, %v, want %q", tc.method, tc.to, got, err, tc.last)
		}
	}
	for to, code := range map[string]diag.Code{
		"307 " + other:                      diag.PolicyDenied, // the body would go along
		"302 http://169.254.169.254/latest": diag.PolicyDenied,
		"302 http://10.0.0.1/":              diag.PolicyDenied,
		"302 ftp://x/":                      diag.ValidationFailed,
		"302 http://u:p@x/":                 diag.ValidationFailed,
		"302 http://[::1/":                  diag.Network,
	} {
		if _, err := send("POST", to, []byte("b")); diag.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", to, err, code)
		}
	}
	loop := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	_, err := c.Do(t.Context(), Request{Method: "GET", URL: loop, MaxRedirects: 3})
	wantCode(t, err, diag.Network, "more than 3 redirects")
	if res, err := c.Do(t.Context(), get(loop)); err != nil || res.Status != 302 {
		t.Errorf("no redirects wanted: %+v, %v", res, err)
	}
	bound, err := New(Params{AllowPrivate: []string{"127.0.0.1"}, Hosts: []string{strings.TrimPrefix(first, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bound.Do(t.Context(), Request{Method: "GET", URL: first + "/?to=302%20" + other, MaxRedirects: 3})
	wantCode(t, err, diag.PolicyDenied, "not listed in hosts")
}

// A redirect never leads from https to http, nor to a server whose certificate
// does not hold.
func TestRedirectDowngrade(t *testing.T) {
	t.Parallel()
	plain := server(t, func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain, http.StatusFound) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := local(t, func(p *Params) { p.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig })
	_, err := c.Do(t.Context(), Request{Method: "GET", URL: s.URL, MaxRedirects: 1})
	wantCode(t, err, diag.PolicyDenied, "from https to http")
	_, err = local(t, nil).Do(t.Context(), get(s.URL))
	if e := wantCode(t, err, diag.Network, "certificate"); e.Retryable {
		t.Error("an invalid certificate is retryable")
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1000 {
				z.Write(make([]byte, 10_000))
			}
			z.Close()
			return
		}
		io.WriteString(w, strings.Repeat("x", 100))
	})
	c := local(t, nil)
	for max, cut := range map[int64]bool{99: true, 100: false, 101: false} {
		res, err := c.Do(t.Context(), Request{Method: "GET", URL: url, MaxBytes: max})
		if err != nil || res.Truncated != cut || len(res.Body) != int(min(max, 100)) {
			t.Errorf("%d: %d bytes, %v, %v", max, len(res.Body), res.Truncated, err)
		}
	}
	if res, err := c.Do(t.Context(), Request{Method: "GET", URL: url + "/bomb", MaxBytes: 1000}); err != nil || !res.Truncated || len(res.Body) != 1000 {
		t.Errorf("a compressed bomb: %v", err)
	}
	huge := server(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 2*maxHeader)) })
	_, err := c.Do(t.Context(), get(huge))
	wantCode(t, err, diag.Network)
}

func TestTimes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url := server(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	c := local(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Do(ctx, get(url+"/?k=secret"))
	if e := wantCode(t, err, diag.Timeout); !e.Retryable || strings.Contains(e.Message, "secret") {
		t.Errorf("%+v", e)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = c.Do(ctx, get(url))
	wantCode(t, err, diag.Cancelled)
	_, err = c.Do(t.Context(), get("http://127.0.0.1:1/?k=secret"))
	if e := wantCode(t, err, diag.Network, "refused"); !e.Retryable || strings.Contains(e.Message, "secret") {
		t.Errorf("%+v", e)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // the server's goroutine of a broken connection ends by itself
	var seen int
	var script []int
	header := http.Header{}
	play := func(statuses ...int) {
		mu.Lock()
		seen, script = 0, statuses
		mu.Unlock()
	}
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		status := script[min(seen, len(script)-1)]
		seen++
		mu.Unlock()
		if status == 0 {
			c, _, _ := w.(http.Hijacker).Hijack()
			c.Close()
			return
		}
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
	})
	var waits []time.Duration
	c := local(t, func(p *Params) {
		p.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
		p.Random = func() float64 { return 0.5 }
		p.Sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	})
	rule := Retry{Attempts: 4, First: time.Second, Max: 3 * time.Second, Jitter: 0.5, Statuses: []int{429, 503}}
	for _, tc := range []struct {
		name, method string
		script       []int
		after        string
		status       int
		attempts     int
		waits        string
		change       func(*Retry)
	}{
		{"fine at once", "GET", []int{200}, "", 200, 1, "[]", nil},
		{"fine at last", "GET", []int{503, 429, 200}, "", 200, 3, "[750ms 1.5s]", nil},
		{"never", "GET", []int{503}, "", 503, 4, "[750ms 1.5s 2.25s]", nil},
		{"other status", "GET", []int{500}, "", 500, 1, "[]", nil},
		{"POST has effects", "POST", []int{503}, "", 503, 1, "[]", nil},
		{"declared POST", "POST", []int{503, 200}, "", 200, 2, "[750ms]", func(r *Retry) { r.Methods = []string{"POST"} }},
		{"Retry-After", "GET", []int{429, 200}, "2", 200, 2, "[2s]", nil},
		{"Retry-After 0", "GET", []int{429, 200}, "0", 200, 2, "[750ms]", nil},
		{"Retry-After date", "GET", []int{429, 200}, "Tue, 14 Nov 2023 22:13:22 GMT", 200, 2, "[2s]", nil},
		{"Retry-After past", "GET", []int{429, 200}, "Tue, 14 Nov 2017 22:13:22 GMT", 200, 2, "[750ms]", nil},
		{"Retry-After too long", "GET", []int{429, 200}, "3600", 429, 1, "[]", nil},
		{"Retry-After huge", "GET", []int{429, 200}, "99999999999999999999", 200, 2, "[750ms]", nil},
		{"Retry-After noise", "GET", []int{429, 200}, "soon", 200, 2, "[750ms]", nil},
		{"broken connection", "PUT", []int{0, 0, 200}, "", 200, 3, "[750ms 1.5s]", nil},
		{"no retry", "GET", []int{503}, "", 503, 1, "[]", func(r *Retry) { *r = Retry{} }},
	} {
		play(tc.script...)
		waits = []time.Duration{}
		header = http.Header{}
		if tc.after != "" {
			header.Set("Retry-After", tc.after)
		}
		r := Request{Method: tc.method, URL: url, Retry: rule}
		if tc.change != nil {
			tc.change(&r.Retry)
		}
		res, err := c.Do(t.Context(), r)
		if err != nil || res.Status != tc.status || res.Attempts != tc.attempts || fmt.Sprint(waits) != tc.waits {
			t.Errorf("%s: %+v, waits %v, %v", tc.name, res, waits, err)
		}
	}
	play(0)
	_, err := c.Do(t.Context(), Request{Method: "GET", URL: url, Retry: rule})
	if e := wantCode(t, err, diag.Network); e.Details["attempts"] != 4 {
		t.Errorf("%+v", e)
	}
	// No wait goes beyond the end of the call.
	play(503)
	waits = nil
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rule.First, rule.Max = time.Hour, time.Hour
	if res, err := c.Do(ctx, Request{Method: "GET", URL: url, Retry: rule}); err != nil || res.Attempts != 1 || len(waits) != 0 {
		t.Errorf("%+v %v %v", res, waits, err)
	}
}

func TestWaitNeverOverflows(t *testing.T) {
	t.Parallel()
	r := Retry{First: time.Hour, Jitter: 1}
	for n := range 3000 {
		if d := r.wait(n+1, 0.999); d < 0 || d > 24*time.Hour {
			t.Fatalf("%d: %v", n, d)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			http.Error(w, "why", 500)
			return
		}
		io.WriteString(w, "data: a\n\ndata: b\n\n")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
		}
	})
	c := local(t, nil)
	read := func(r Request) ([]string, error) {
		res, err := c.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Stream.Close()
		var got []string
		_, err = Events(res.Stream, SSE, func(e Event) error { got = append(got, string(e.Data)); return nil })
		return got, err
	}
	if got, err := read(get(url)); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
	var got []string
	var err error
	for idle := 300 * time.Millisecond; len(got) < 2 && idle < time.Minute; idle *= 4 { // a busy machine may need more until the events are there
		got, err = read(Request{Method: "GET", URL: url + "/silent", Idle: idle})
	}
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	wantCode(t, err, diag.Timeout, "sent nothing")
	_, err = read(Request{Method: "GET", URL: url, MaxBytes: 10})
	wantCode(t, err, diag.ResourceExceeded, "more than 10 bytes")
	if _, err = read(Request{Method: "GET", URL: url, MaxBytes: 18}); err != nil {
		t.Errorf("exactly the maximum: %v", err)
	}
	if res, err := c.Open(t.Context(), get(url+"/bad")); err != nil || res.Stream != nil || string(res.Body) != "why\n" || res.Status != 500 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://u:p@h.test:1/a%20b?k=secret#f": "https://h.test:1/a%20b",
		"::":                                    "the URL",
		"":                                      "the URL",
	} {
		if got := Shown(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"text/HTML; charset=UTF-8":    "text/html utf-8",
		"application/json":            "application/json ",
		"text/html; charset=\"x":      "text/html ",
		"text/html;;;":                "text/html ",
		"":                            " ",
		"a/b; charset=\"iso-8859-1\"": "a/b iso-8859-1",
	} {
		if kind, charset := MediaType(in); kind+" "+charset != want {
			t.Errorf("%q: %q %q", in, kind, charset)
		}
	}
}
