package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestServersFromNPM runs scripts against MCP servers as people install them.
func TestServersFromNPM(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no Node here")
	}
	servers := filepath.Join(os.Getenv("RYE_NPM_SERVERS"), "node_modules", "@modelcontextprotocol")
	if _, err := os.Stat(servers); err != nil || !filepath.IsAbs(servers) {
		t.Skip("RYE_NPM_SERVERS names no folder with internal/mcpclient/testdata/npm installed; .ci/run makes one")
	}
	sdk, err := filepath.Abs(filepath.Join("..", "..", "internal", "mcpclient", "testdata", "npm", "sdk.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	cmds := maps.Clone(scriptCommands())
	cmds["npmserver"] = cmdNPMServer
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "scripts", "npm"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SERVERS", servers)
			env.Setenv("SDKSERVER", sdk)
			return scriptHome(env)
		},
		Cmds: cmds,
	})
}

// freeAddress returns an address of this machine where nothing listens. The system does not
// choose its port for a listener at port 0: another test cannot get it before the server
// listens there.
func freeAddress(ts *testscript.TestScript) string {
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			ts.Check(l.Close())
			return l.Addr().String()
		}
	}
	ts.Fatalf("no port is free")
	return ""
}

// cmdNPMServer starts a server on the web with Node and sets a variable to its
// address.
func cmdNPMServer(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "npmserver VARIABLE FILE [ARG…]")
	addr := freeAddress(ts)
	_, port, err := net.SplitHostPort(addr)
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, "node", args[1:]...)
	c.Env = append(os.Environ(), "PORT="+port)
	ts.Check(c.Start())
	ts.Defer(func() {
		cancel()
		_ = c.Wait()
	})
	for range 600 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			ts.Setenv(args[0], "http://"+addr)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("nobody listens on %s", addr)
}
