package sandbox

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
)

// Limits of a Proxy.
const (
	proxyHeader      = 64 << 10         // bytes of the header of a request
	proxyHeaderTime  = 10 * time.Second // for the header of a request
	proxyIdle        = 5 * time.Minute  // without data in both directions
	proxyConnections = 128              // of the program at a time; more wait
)

// Proxy is the HTTP proxy through which a confined program with the network mode
// hosts reaches the hosts of its profile. It looks names up itself, connects to the
// addresses that it checked, and does not read what is inside TLS: a host that
// serves several names can be reached by all of them.
type Proxy struct {
	p      ProxyParams
	server http.Server
	rt     *http.Transport
	ctx    context.Context // ends the connections of the program
	end    context.CancelFunc
	served chan struct{} // closed when the listener has ended
	record record
}

// ProxyParams configures a Proxy.
type ProxyParams struct {
	Hosts  []string      // patterns of a profile
	Dialer *net.Dialer   // nil means a plain one
	Idle   time.Duration // zero means 5 minutes
}

// StartProxy serves requests that arrive at l until Close or the end of ctx.
func StartProxy(ctx context.Context, l net.Listener, p ProxyParams) *Proxy {
	p.Idle = cmp.Or(p.Idle, proxyIdle)
	x := &Proxy{p: p, served: make(chan struct{})}
	x.ctx, x.end = context.WithCancel(ctx)
	x.rt = &http.Transport{
		DialContext:            x.dial,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        p.Idle,
		MaxResponseHeaderBytes: proxyHeader * 4,
	}
	x.server = http.Server{
		Handler:           x,
		BaseContext:       func(net.Listener) context.Context { return x.ctx },
		ErrorLog:          log.New(io.Discard, "", 0),
		ReadHeaderTimeout: proxyHeaderTime,
		IdleTimeout:       p.Idle,
		MaxHeaderBytes:    proxyHeader,
	}
	// OPTIONS * would be answered without the handler.
	x.server.DisableGeneralOptionsHandler = true
	limited := &limitListener{Listener: l, ctx: x.ctx, free: make(chan struct{}, proxyConnections)}
	go func() {
		defer close(x.served)
		_ = x.server.Serve(limited) // the error only states that the listener ended
	}()
	context.AfterFunc(x.ctx, func() { x.server.Close() })
	return x
}

// Close ends all connections and returns a record of them. It may be called twice.
func (x *Proxy) Close() Connections {
	x.end()
	x.server.Close()
	x.rt.CloseIdleConnections()
	<-x.served
	return x.record.list()
}

// ProxyEnv returns the variables that name a proxy at addr to programs. Requests to
// the program's own loopback do not pass through it, unless the profile lists
// loopback addresses.
func ProxyEnv(addr string, hosts []string) []string {
	u := "http://" + addr
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+u, strings.ToLower(name)+"="+u)
	}
	direct := "localhost,127.0.0.1,::1"
	for _, h := range hosts {
		if strings.HasPrefix(h, "127.") ||
			strings.HasPrefix(h, "::1") ||
			strings.HasPrefix(h, "[::1]") {
			direct = ""
		}
	}
	// Node ignores the variables of a proxy without this one.
	return append(env, "NO_PROXY="+direct, "no_proxy="+direct, "NODE_USE_ENV_PROXY=1")
}

// ServeHTTP serves one request of the program.
func (x *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		x.tunnel(w, r)
		return
	}
	host, port, problem := requested(r)
	if problem != "" {
		x.record.refuse(r.Host, "", "invalid_request")
		http.Error(w, "rye: "+problem, http.StatusBadRequest)
		return
	}
	target, err := httpx.ParseTarget(host, port)
	if err != nil {
		x.record.refuse(host, port, "invalid_host")
		answer(w, err)
		return
	}
	x.forward(w, r, target)
}

// requested returns the host of a request in absolute form. net/http has replaced
// the Host header with it.
func requested(r *http.Request) (host, port, problem string) {
	u := r.URL
	switch {
	case !u.IsAbs():
		return "", "", "this is a proxy: the request needs an absolute URL"
	case u.Scheme != "http":
		return "", "", "only http URLs are forwarded: use CONNECT for " + u.Scheme
	case u.User != nil || u.Opaque != "" || u.Host == "":
		return "", "", "the URL has a user or no host"
	}
	return u.Hostname(), cmp.Or(u.Port(), "80"), ""
}

// forward sends a request in absolute form to its host.
func (x *Proxy) forward(w http.ResponseWriter, r *http.Request, target httpx.Target) {
	if err := x.permitted(target); err != nil {
		answer(w, err)
		return
	}
	host := target.String()
	back := httputil.ReverseProxy{
		Transport:     x.rt,
		FlushInterval: -1,
		ErrorLog:      x.server.ErrorLog,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL = &url.URL{
				Scheme:     "http",
				Host:       host,
				Path:       r.URL.Path,
				RawPath:    r.URL.RawPath,
				RawQuery:   r.URL.RawQuery,
				ForceQuery: r.URL.ForceQuery,
			}
			pr.Out.Host = strings.TrimSuffix(host, ":80")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			answer(w, err)
		},
	}
	back.ServeHTTP(w, r)
}

// tunnel connects the program with a host, as CONNECT asks for.
func (x *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	// RequestURI, because net/url has removed a user from r.Host.
	host, port, err := net.SplitHostPort(r.RequestURI)
	if err != nil {
		x.record.refuse(r.RequestURI, "", "invalid_request")
		http.Error(w, "rye: CONNECT needs a host and a port", http.StatusBadRequest)
		return
	}
	target, err := httpx.ParseTarget(host, port)
	if err != nil {
		x.record.refuse(host, port, "invalid_host")
		answer(w, err)
		return
	}
	if err := x.permitted(target); err != nil {
		answer(w, err)
		return
	}
	far, err := x.connect(r.Context(), target)
	if err != nil {
		answer(w, err)
		return
	}
	defer far.Close()
	near, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answer(w, err)
		return
	}
	defer near.Close()
	defer context.AfterFunc(x.ctx, func() { near.Close(); far.Close() })()
	near.SetDeadline(time.Time{})
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	join(near, early.Reader, far)
}

// join copies in both directions until both ended, or one failed. The limit of idle
// time is in the connections themselves.
func join(near net.Conn, first io.Reader, far net.Conn) {
	var both sync.WaitGroup
	half := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(to, from)
		closer, ok := to.(interface{ CloseWrite() error })
		if err == nil && ok && closer.CloseWrite() == nil {
			return // the other direction may continue
		}
		near.Close()
		far.Close()
	}
	both.Go(func() { half(far, first) })
	both.Go(func() { half(near, far) })
	both.Wait()
}

// dial connects a forwarded request, whose target ServeHTTP has checked.
func (x *Proxy) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	target, err := httpx.ParseTarget(host, port)
	if err != nil {
		return nil, err
	}
	return x.connect(ctx, target)
}

// connect connects to a permitted target and records the connection.
func (x *Proxy) connect(ctx context.Context, target httpx.Target) (net.Conn, error) {
	conn, err := target.Connect(ctx, x.p.Dialer, listedAddress(x.p.Hosts, target))
	if err != nil {
		if diag.CodeOf(err) == diag.PolicyDenied {
			x.record.refuse(target.Host, portText(target.Port), "private_address")
		}
		return nil, err
	}
	entry := x.record.open(target)
	return &countedConn{Conn: conn, idle: x.p.Idle, entry: entry}, nil
}

// permitted returns the error of a target that the profile does not list.
func (x *Proxy) permitted(target httpx.Target) error {
	if hostListed(x.p.Hosts, target) {
		return nil
	}
	x.record.refuse(target.Host, portText(target.Port), "host_not_listed")
	return diag.New(diag.PolicyDenied, "connecting to %s: the host is not listed in sandbox.hosts", target).
		WithReason("host_not_listed").WithDetail("host", target.String())
}

// answer reports an error of rye or of the host to the program.
func answer(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	var typed *diag.Error
	switch {
	case !errors.As(err, &typed):
	case typed.Code == diag.PolicyDenied:
		status = http.StatusForbidden
	case typed.Code == diag.ValidationFailed:
		status = http.StatusBadRequest
	case typed.Code == diag.Timeout:
		status = http.StatusGatewayTimeout
	}
	http.Error(w, "rye: "+err.Error(), status)
}
