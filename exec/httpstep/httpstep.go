// Package httpstep sends the HTTP request of a tool that runs on the http_client
// primitive. It fills the templates of a verified configuration, adds the
// credential, sends the request within the declared bounds, and returns the
// response as a tool result or passes its events to sinks.
//
// It resolves no items and merges no configuration: package exec does both. It
// does not decide which hosts may be reached: the configuration lists them, and
// internal/httpx enforces the list.
package httpstep

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// Call is one request of a tool.
type Call struct {
	Ref        string         // the tool's ref, for messages
	Config     map[string]any // merged and validated, with every sink resolved
	Parameters map[string]any
	Absent     []string // declared parameters that the caller did not set
	Env        map[string]string
	// Public lists the variables of Env whose values are not secret because an
	// item states them or rye sets them.
	Public   []string
	Dir      string                    // directory that file sinks write in, absolute
	Boundary policy.Boundary           // what file sinks may write
	OnEvent  func(proc.Stream, []byte) // receives each event's data; nil ignores them
	Now      func() time.Time          // required
}

// exchange is one Call in progress.
type exchange struct {
	call   Call
	config *config
	secret *httpfill.Redactor
	shown  string // the URL without its secret parts
}

// Do sends the request and returns the tool's result. The result is not nil
// whenever a response arrived; the error then states why it is a failure. No
// secret appears in either.
func (c Call) Do(ctx context.Context) (map[string]any, error) {
	start := c.Now()
	conf, fs := readConfig(c.Config)
	if err := diag.FromFindings("reading the configuration of the request", fs); err != nil {
		return nil, err
	}
	x := &exchange{call: c, config: conf, secret: newRedactor(c, conf)}
	data, err := x.run(ctx)
	if data != nil {
		data["duration_ms"] = c.Now().Sub(start).Milliseconds()
	}
	return data, x.secret.Err(err)
}

func (x *exchange) run(ctx context.Context) (map[string]any, error) {
	req, hosts, err := x.request()
	if err != nil {
		return nil, err
	}
	x.shown = x.secret.Text(httpx.Shown(req.URL))
	proxy, err := x.filler().Plain("proxy", x.config.proxy)
	if err != nil {
		return nil, err
	}
	client, err := httpx.New(httpx.Params{
		Hosts:          hosts,
		AllowPrivate:   x.config.allowPrivate,
		Proxy:          proxy,
		ConnectTimeout: x.config.connectTimeout,
		Now:            x.call.Now,
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if x.config.stream {
		return x.stream(ctx, client, req)
	}
	res, err := client.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	return x.result(res)
}
