package httpx

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// Every spelling of an address but the standard one, and everything that other
// parsers divide at another position, is not a target.
func TestParseTarget(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Target{
		"API.Test": {Host: "api.test"}, "api.test.": {Host: "api.test"}, "xn--bcher-kva.test": {Host: "xn--bcher-kva.test"}, "a_b.test": {Host: "a_b.test"},
		"1.2.3.4.test": {Host: "1.2.3.4.test"}, "0::1": {Host: "::1", Addr: netip.MustParseAddr("::1")},
		"127.0.0.1":        {Host: "127.0.0.1", Addr: netip.MustParseAddr("127.0.0.1")},
		"::ffff:127.0.0.1": {Host: "127.0.0.1", Addr: netip.MustParseAddr("127.0.0.1")},
		"::FFFF:7f00:1":    {Host: "127.0.0.1", Addr: netip.MustParseAddr("127.0.0.1")},
	} {
		want.Port = 443
		if got, err := ParseTarget(in, "443"); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", ".", "..", "a..b", "0x7f.1", "0x7f000001", "0x", "127.1", "0177.0.0.1", "2130706433", "127.0.0.1.", "127.0.0.01", "０x7f.1", "127。0。0。1",
		"u@api.test", "api.test@evil.test", "api.test#evil", "api.test/..", "api.test\\evil", "api.test%2eevil", "api.test\x00.evil", "api.test\r\n", " api.test", "bücher.test",
		"\u212Aube.test", "fe80::1%eth0", "[::1]", "*", strings.Repeat("a", 64) + ".test", strings.Repeat("a.", 200) + "test"} {
		if got, err := ParseTarget(in, "443"); diag.CodeOf(err) != diag.ValidationFailed {
			t.Errorf("%q is accepted as %+v, %v", in, got, err)
		}
	}
	for _, port := range []string{"", "0", "65536", "-1", "+443", "0443", " 443", "443 ", "0x1bb", "https", "4294967739"} {
		if _, err := ParseTarget("api.test", port); diag.CodeOf(err) != diag.ValidationFailed {
			t.Errorf("port %q: %v", port, err)
		}
	}
}

// Only an address that the caller permits by itself may be private: a name that
// resolves to it is refused.
func TestConnect(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	d := &net.Dialer{Resolver: names(t, map[string]string{"rebind.test.": "127.0.0.1", "cloud.test.": "169.254.169.254"})}
	connect := func(host string, private bool) error {
		target, err := ParseTarget(host, port)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := target.Connect(t.Context(), d, private)
		if err == nil {
			conn.Close()
		}
		return err
	}
	for _, host := range []string{"127.0.0.1", "::ffff:127.0.0.1"} {
		if err := connect(host, true); err != nil {
			t.Errorf("%s, which is permitted: %v", host, err)
		}
	}
	for _, c := range []struct {
		host, reason string
		private      bool
	}{
		{"127.0.0.1", "private_address", false}, {"::1", "private_address", false}, {"10.0.0.1", "private_address", false},
		{"rebind.test", "private_address", false}, {"REBIND.test.", "private_address", true},
		{"169.254.169.254", "", false}, {"cloud.test", "", true}, {"::ffff:169.254.169.254", "", false},
	} {
		var e *diag.Error
		if err := connect(c.host, c.private); !errors.As(err, &e) || e.Code != diag.PolicyDenied || e.Reason != c.reason || e.Details["address"] == nil {
			t.Errorf("%s: %v", c.host, err)
		}
	}
	if err := connect("absent.test", true); diag.CodeOf(err) != diag.Network {
		t.Errorf("an unknown name: %v", err)
	}
}

// FuzzParseTarget: a target is in one form, which every parser reads alike.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"api.test", "API.test.", "0x7f.1", "::ffff:127.0.0.1", "fe80::1%1", "a@b", "1.2.3.4"} {
		f.Add(s, "443")
	}
	f.Fuzz(func(t *testing.T, host, port string) {
		got, err := ParseTarget(host, port)
		if err != nil {
			return
		}
		again, err := ParseTarget(got.Host, strconv.Itoa(int(got.Port)))
		if err != nil || again != got {
			t.Errorf("%q is %+v, and that is %+v, %v", host, got, again, err)
		}
		u, err := url.Parse("http://" + got.String() + "/")
		if err != nil || u.Hostname() != got.Host || u.User != nil || strings.ToLower(got.Host) != got.Host {
			t.Errorf("%q: %+v, %v", host, u, err)
		}
	})
}
