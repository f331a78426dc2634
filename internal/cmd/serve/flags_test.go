package serve

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

func TestCheckAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"7333": true, "0": true, "65535": true, "127.0.0.1:0": true, "[::1]:80": true, "localhost:7333": true, ":7333": true,
		"": false, "foo": false, "65536": false, "99999999999999999999": false, "-1": false, "127.0.0.1": false, "127.0.0.1:": false,
		"::1:80": false, "localhost:http": false, "localhost:-1": false, "http://localhost:80": false, "a:b:1": false,
	} {
		if err := checkAddress(address); (err == nil) != want || err != nil && diag.CodeOf(err) != diag.Usage {
			t.Errorf("checkAddress(%q) = %v", address, err)
		}
	}
}

func TestListenReason(t *testing.T) {
	taken, err := net.Listen("tcp", serveAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = net.Listen("tcp", taken.Addr().String())
	if err == nil {
		t.Fatal("two listen at one address")
	}
	if reason := listenReason(err); runtime.GOOS != "windows" && reason != "port_in_use" {
		t.Errorf("the reason is %q", reason)
	}
	if reason := listenReason(&net.OpError{Err: os.ErrPermission}); reason != "port_privileged" {
		t.Errorf("the reason is %q", reason)
	}
}

func TestParseCapability(t *testing.T) {
	for word, want := range map[string]string{
		"search": "rye.search.*", "draft": "rye.draft.*", "rye.execute.tool.gh.*": "rye.execute.tool.gh.*", "rye.*": "rye.*", "rye.s*.*": "rye.s*.*",
		"rye.[ls]oad.*": "rye.[ls]oad.*",
	} {
		if got, err := parseCapability(word); err != nil || string(got) != want {
			t.Errorf("parseCapability(%q) = %q, %v", word, got, err)
		}
	}
	for word, hint := range map[string]string{
		"serach": "did you mean search?", "rye.exec.*": "did you mean execute?", "rye.Search.*": "did you mean search?", "Sign": "did you mean sign?",
		"nothing": "name verbs", "rye.x*.*": "name verbs", "rye.search.": "write rye.VERB", "*": "name verbs", "rye": "name verbs",
	} {
		_, err := parseCapability(word)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.Usage || !strings.HasPrefix(cli.Hint(e), hint) {
			t.Errorf("parseCapability(%q): %v", word, err)
		}
	}
}
