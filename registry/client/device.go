package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/registry/wire"
)

// Limits of the device flow.
const (
	maxIssuerAnswer = 256 << 10
	maxDeviceWait   = 30 * time.Minute
	deviceInterval  = 5 * time.Second // RFC 8628: the default, and what slow_down adds
	maxInterval     = time.Minute
	maxUserCode     = 64
	maxVerifyURI    = 512
	deviceGrant     = "urn:ietf:params:oauth:grant-type:device_code"
)

// DeviceCode is what a person enters at an issuer.
type DeviceCode struct {
	Issuer, URI, Code string
	Expires           time.Time
}

// issuer asks the issuer of a namespace for a token.
type issuer struct {
	h     *Host
	about wire.OIDC
	http  *httpx.Client
	local bool // the registry is on this machine, so its issuer may be
}

// DeviceToken returns an ID token that proves the owner of a namespace, which a person
// permits at the issuer that the registry names (RFC 8628). The id of the client is the host
// of the registry, so no registry can ask for a token that a different registry accepts.
func (h *Host) DeviceToken(ctx context.Context, ns string, show func(DeviceCode)) (string, error) {
	d, err := h.Discover(ctx)
	if err != nil {
		return "", err
	}
	alias, _, _ := strings.Cut(ns, "~")
	i := slices.IndexFunc(d.OIDC, func(o wire.OIDC) bool {
		return o.Alias == alias
	})
	if i < 0 {
		return "", diag.New(diag.AuthFailed, "asking for a token: registry %s names no issuer %q", h.Name, alias)
	}
	u, err := url.Parse(h.remote.addresses[0])
	x := &issuer{h: h, about: d.OIDC[i], local: err == nil && wire.IsLoopback(u.Host)}
	params := httpx.Params{Proxy: h.c.p.Proxy, Now: h.c.p.Now}
	if x.local {
		params.AllowPrivate = []string{"127.0.0.1"}
	}
	if x.http, err = httpx.New(params); err != nil {
		return "", err
	}
	defer x.http.Close()
	return x.token(ctx, show)
}

func (x *issuer) failed(format string, args ...any) error {
	return diag.New(diag.AuthFailed, "asking %s for a token: "+format, append(
		[]any{printable(x.about.Issuer)},
		args...,
	)...).
		WithReason("registry_issuer")
}

// endpoint returns an error unless an address is one of https, or of this machine for a
// registry that is on it.
func (x *issuer) endpoint(name, s string) error {
	u, err := url.Parse(s)
	if err != nil ||
		u.User != nil ||
		u.Scheme != "https" && !(x.local && u.Scheme == "http" && u.Hostname() == "127.0.0.1") {
		return x.failed("its %s %q does not begin with https://", name, printable(s))
	}
	return nil
}

func (x *issuer) token(ctx context.Context, show func(DeviceCode)) (string, error) {
	if err := x.endpoint("address", x.about.Issuer); err != nil {
		return "", err
	}
	var about struct {
		Issuer string `json:"issuer"`
		Device string `json:"device_authorization_endpoint"`
		Token  string `json:"token_endpoint"`
	}
	err := x.call(
		ctx,
		strings.TrimSuffix(x.about.Issuer, "/")+"/.well-known/openid-configuration",
		nil,
		&about,
	)
	if err != nil {
		return "", err
	}
	switch {
	case about.Issuer != x.about.Issuer:
		return "", x.failed("its description names %q", printable(about.Issuer))
	case about.Device == "":
		return "", x.failed("it has no device flow; get an ID token in another way and use --token-file")
	}
	err = errors.Join(
		x.endpoint("device_authorization_endpoint", about.Device),
		x.endpoint("token_endpoint", about.Token),
	)
	if err != nil {
		return "", err
	}
	var code deviceCode
	err = x.call(
		ctx,
		about.Device,
		url.Values{"client_id": {x.h.Name}, "scope": {"openid"}},
		&code,
	)
	if err != nil {
		return "", err
	}
	if code.Error != "" ||
		code.Device == "" ||
		code.User == "" ||
		code.Expires <= 0 {
		return "", x.failed("it gave no code: %s", printable(code.Error))
	}
	if err := x.endpoint("verification_uri", code.URI); err != nil {
		return "", err
	}
	if !enterable(code.User, maxUserCode) || !enterable(code.URI, maxVerifyURI) {
		return "", x.failed("a person cannot enter its code %q at %q", printable(code.User), printable(code.URI))
	}
	until := x.h.c.p.Now().Add(min(
		time.Duration(min(code.Expires, 86400))*time.Second,
		maxDeviceWait,
	))
	show(DeviceCode{
		Issuer:  printable(x.about.Issuer),
		URI:     printable(code.URI),
		Code:    printable(code.User),
		Expires: until,
	})
	return x.poll(ctx, about.Token, code, until)
}

// enterable reports whether a text is what a person types: visible ASCII without spaces. A
// longer one, or one in words, could ask the person for something else.
func enterable(s string, limit int) bool {
	return len(s) <= limit &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r > '~'
		})
}

// deviceCode is the answer of a device authorization endpoint.
type deviceCode struct {
	Device   string `json:"device_code"`
	User     string `json:"user_code"`
	URI      string `json:"verification_uri"`
	Expires  int64  `json:"expires_in"`
	Interval *int64 `json:"interval"`
	Error    string `json:"error"`
}

// poll asks for the token until the person answered or the code expired.
func (x *issuer) poll(
	ctx context.Context,
	endpoint string,
	code deviceCode,
	until time.Time,
) (string, error) {
	every := deviceInterval
	if code.Interval != nil {
		every = time.Duration(min(
			max(*code.Interval, 1),
			int64(maxInterval/time.Second),
		)) * time.Second
	}
	form := url.Values{"grant_type": {deviceGrant}, "device_code": {code.Device}, "client_id": {x.h.Name}}
	for {
		err := x.h.c.p.Sleep(ctx, every)
		if err != nil {
			return "", err
		}
		if !x.h.c.p.Now().Before(until) {
			return "", x.failed("the code expired before a person entered it")
		}
		var answer struct {
			Error string `json:"error"`
			Token string `json:"id_token"`
		}
		err = x.call(ctx, endpoint, form, &answer)
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case diag.CodeOf(err) == diag.Network || diag.CodeOf(err) == diag.Timeout: // RFC 8628, 3.5: ask less often
			every = min(2*every, maxInterval)
		case err != nil:
			return "", err
		case answer.Error == "authorization_pending":
		case answer.Error == "slow_down":
			every += deviceInterval
		case answer.Error == "access_denied":
			return "", x.failed("the person refused it")
		case answer.Error == "expired_token":
			return "", x.failed("the code expired before a person entered it")
		case answer.Error != "":
			return "", x.failed("it answers %q", printable(answer.Error))
		default:
			return answer.Token, x.meant(answer.Token)
		}
	}
}

// meant returns an error for a token that is not of the issuer and for the registry alone: it
// is not sent to the registry, which verifies the signature.
func (x *issuer) meant(token string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return x.failed("its answer has no ID token")
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer   string `json:"iss"`
		Audience any    `json:"aud"`
	}
	if err == nil {
		err = json.Unmarshal(b, &claims)
	}
	list, ok := claims.Audience.([]any)
	if ok && len(list) == 1 {
		claims.Audience = list[0]
	}
	switch {
	case err != nil:
		return x.failed("its ID token cannot be read: %w", err)
	case claims.Issuer != x.about.Issuer:
		return x.failed("its ID token is of the issuer %q", printable(claims.Issuer))
	case claims.Audience != x.h.Name:
		return x.failed("its ID token is not for %s alone", x.h.Name)
	}
	return nil
}

// call reads a JSON object; with a form it is a POST, whose errors are objects, too.
func (x *issuer) call(ctx context.Context, address string, form url.Values, into any) error {
	r := httpx.Request{
		Method:   "GET",
		URL:      address,
		MaxBytes: maxIssuerAnswer,
		Header:   http.Header{"Accept": {"application/json"}},
	}
	if form != nil {
		r.Method, r.Body = "POST", []byte(form.Encode())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a, err := x.http.Do(ctx, r)
	switch {
	case err != nil:
		return err
	case a.Truncated:
		return diag.New(diag.TooLarge, "reading %s: it is longer than %d bytes", httpx.Shown(address), maxIssuerAnswer)
	case !a.OK() && (form == nil || a.Status < 400 || a.Status >= 500):
		return x.failed("the status of %s is %d", httpx.Shown(address), a.Status)
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return x.failed("the answer of %s (status %d) is not a JSON object: %w", httpx.Shown(address), a.Status, err)
	}
	return nil
}
