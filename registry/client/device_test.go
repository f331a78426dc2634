package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/wire"
)

// deviceIssuer is an issuer whose answers a test decides.
type deviceIssuer struct {
	url     string
	about   map[string]any // changes of its description
	code    map[string]any // changes of the answer with the code
	answers []string       // errors of the token endpoint in turn, "" for the token, "lost" for none
	claims  map[string]any // changes of the claims
	asked   []string       // what the client sent
}

// ServeHTTP implements http.Handler.
func (d *deviceIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	with := func(m, change map[string]any) {
		for k, v := range change {
			m[k] = v
		}
		_ = json.NewEncoder(w).Encode(m)
	}
	_ = r.ParseForm()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		with(map[string]any{"issuer": d.url, "device_authorization_endpoint": d.url + "/device", "token_endpoint": d.url + "/token"}, d.about)
	case "/device":
		d.asked = append(d.asked, r.Form.Get("client_id")+" "+r.Form.Get("scope"))
		with(map[string]any{"device_code": "secret", "user_code": "ABCD-EFGH", "verification_uri": d.url + "/enter", "expires_in": 600}, d.code)
	case "/token":
		d.asked = append(d.asked, r.Form.Get("client_id")+" "+r.Form.Get("device_code")+" "+r.Form.Get("grant_type"))
		answer := d.answers[0]
		if d.answers = d.answers[1:]; answer == "lost" {
			panic(http.ErrAbortHandler)
		}
		if answer != "" {
			w.WriteHeader(http.StatusBadRequest)
			with(map[string]any{"error": answer}, nil)
			return
		}
		claims := map[string]any{"iss": d.url, "aud": siteHost}
		for k, v := range d.claims {
			claims[k] = v
		}
		b, _ := json.Marshal(claims)
		with(map[string]any{"id_token": "e30." + base64.RawURLEncoding.EncodeToString(b) + ".c2ln"}, nil)
	}
}

// TestDeviceFlow is RFC 8628 as a client sees it.
func TestDeviceFlow(t *testing.T) {
	t.Parallel()
	seconds := func(n ...int) (out []time.Duration) {
		for _, s := range n {
			out = append(out, time.Duration(s)*time.Second)
		}
		return out
	}
	pending := "authorization_pending"
	for name, c := range map[string]struct {
		ns    string
		do    func(d *deviceIssuer)
		fails string // "" for a token
		waits []time.Duration
	}{
		"token":            {do: func(d *deviceIssuer) { d.answers = []string{pending, ""} }, waits: seconds(5, 5)},
		"interval":         {do: func(d *deviceIssuer) { d.answers, d.code = []string{pending, ""}, map[string]any{"interval": 2} }, waits: seconds(2, 2)},
		"interval of zero": {do: func(d *deviceIssuer) { d.answers, d.code = []string{""}, map[string]any{"interval": 0} }, waits: seconds(1)},
		"slow down":        {do: func(d *deviceIssuer) { d.answers = []string{"slow_down", pending, "slow_down", ""} }, waits: seconds(5, 10, 10, 15)},
		"lost answer":      {do: func(d *deviceIssuer) { d.answers = []string{"lost", ""} }, waits: seconds(5, 10)},
		"refused":          {do: func(d *deviceIssuer) { d.answers = []string{pending, "access_denied"} }, fails: "the person refused it", waits: seconds(5, 5)},
		"expired":          {do: func(d *deviceIssuer) { d.answers = []string{"expired_token"} }, fails: "the code expired", waits: seconds(5)},
		"expired here":     {do: func(d *deviceIssuer) { d.answers, d.code = []string{pending, ""}, map[string]any{"expires_in": 9} }, fails: "the code expired", waits: seconds(5, 5)},
		"another error":    {do: func(d *deviceIssuer) { d.answers = []string{"invalid_client"} }, fails: `"invalid_client"`, waits: seconds(5)},
		"other audience":   {do: func(d *deviceIssuer) { d.answers, d.claims = []string{""}, map[string]any{"aud": "rye.other"} }, fails: "not for rye.example alone", waits: seconds(5)},
		"two audiences": {do: func(d *deviceIssuer) {
			d.answers, d.claims = []string{""}, map[string]any{"aud": []string{siteHost, "x"}}
		}, fails: "not for rye.example alone", waits: seconds(5)},
		"other issuer": {do: func(d *deviceIssuer) {
			d.answers, d.claims = []string{""}, map[string]any{"iss": "https://evil.example"}
		}, fails: "of the issuer", waits: seconds(5)},
		"description":    {do: func(d *deviceIssuer) { d.about = map[string]any{"issuer": "https://evil.example"} }, fails: "its description names"},
		"no device flow": {do: func(d *deviceIssuer) { d.about = map[string]any{"device_authorization_endpoint": ""} }, fails: "it has no device flow"},
		"plain http":     {do: func(d *deviceIssuer) { d.about = map[string]any{"token_endpoint": "http://token.example/token"} }, fails: "does not begin with https://"},
		"another host": {do: func(d *deviceIssuer) {
			d.about = map[string]any{"device_authorization_endpoint": "http://169.254.169.254/x"}
		}, fails: "does not begin with https://"},
		"address to open": {do: func(d *deviceIssuer) { d.code = map[string]any{"verification_uri": "file:///etc/passwd"} }, fails: "does not begin with https://"},
		"code in words":   {do: func(d *deviceIssuer) { d.code = map[string]any{"user_code": "ABCD, then run x"} }, fails: "a person cannot enter"},
		"long code":       {do: func(d *deviceIssuer) { d.code = map[string]any{"user_code": strings.Repeat("A", 65)} }, fails: "a person cannot enter"},
		"look-alike host": {do: func(d *deviceIssuer) {
			d.code = map[string]any{"verification_uri": "https://g\u0456thub.example/"}
		}, fails: "a person cannot enter"},
		"no code":           {do: func(d *deviceIssuer) { d.code = map[string]any{"error": "unauthorized_client"} }, fails: "it gave no code: unauthorized_client"},
		"issuer not listed": {ns: "gitlab~acme", do: func(*deviceIssuer) {}, fails: `names no issuer "gitlab"`},
	} {
		s, d := newSite(t), &deviceIssuer{}
		srv := httptest.NewServer(d)
		t.Cleanup(srv.Close)
		d.url = srv.URL
		c.do(d)
		s.put(wire.DiscoveryPath, wire.NewDiscovery(siteHost, s.key, []wire.OIDC{{Alias: "github", Issuer: d.url, OwnerClaim: "owner"}}, wire.Limits{}).Render())
		now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
		var waits []time.Duration
		h := s.host()
		h.c.p.Now = func() time.Time { return now }
		h.c.p.Sleep = func(_ context.Context, d time.Duration) error {
			waits, now = append(waits, d), now.Add(d)
			return nil
		}
		var shown []DeviceCode
		ns := c.ns
		if ns == "" {
			ns = "github~acme"
		}
		token, err := h.DeviceToken(t.Context(), ns, func(x DeviceCode) { shown = append(shown, x) })
		if (err == nil) != (c.fails == "") || err != nil && (diag.CodeOf(err) != diag.AuthFailed || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %v", name, err)
		}
		if c.fails == "" && token == "" {
			t.Errorf("%s: no token", name)
		}
		if !slices.Equal(waits, c.waits) {
			t.Errorf("%s: waits %v, want %v", name, waits, c.waits)
		}
		if len(c.waits) > 0 && (len(shown) != 1 || shown[0].Code != "ABCD-EFGH" || d.asked[0] != siteHost+" openid" || d.asked[len(d.asked)-1] != siteHost+" secret "+deviceGrant) {
			t.Errorf("%s: shown %v, asked %v", name, shown, d.asked)
		}
	}
}

// An issuer on this machine is asked only for a registry on this machine.
func TestDeviceFlowLocal(t *testing.T) {
	t.Parallel()
	x := &issuer{about: wire.OIDC{Issuer: "http://127.0.0.1:1"}}
	if err := x.endpoint("address", x.about.Issuer); diag.CodeOf(err) != diag.AuthFailed {
		t.Error(err)
	}
	if x.local = true; x.endpoint("address", x.about.Issuer) != nil {
		t.Error("a registry of this machine has an issuer of this machine")
	}
}
