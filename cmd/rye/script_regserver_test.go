package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
)

// registries are the served registries of all scripts by their directory.
var registries sync.Map

// cmdRegUp serves the registry in a directory and sets a variable to its address.
func cmdRegUp(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "regup DIR VARIABLE [PUBLIC-URL [FLAG...]]")
	words := []string{"registry", "serve", "--data", args[0], "--addr", "127.0.0.1:0"}
	if len(args) > 2 {
		words = append(append(words, "--public-url", args[2]), args[3:]...)
	}
	serveFor(ts, args[0], words, map[string]string{args[1]: `on (http://\S+):`})
}

// cmdWitUp serves the witness in a directory for a log, and sets NAME to its key and address.
func cmdWitUp(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 4, "witup DIR VARIABLE NAME LOGKEY")
	words := []string{"registry", "witness", "--data", args[0], "--addr", "127.0.0.1:0", "--name", args[2], "--log", args[3]}
	serveFor(ts, args[0], words, map[string]string{args[1] + "_URL": `on (http://\S+)`, args[1]: `key of the witness: (\S+)`})
}

// serveFor starts rye in the background, until the script or regdown ends it. It sets each
// variable to what its pattern finds in the messages.
func serveFor(ts *testscript.TestScript, dir string, words []string, set map[string]string) {
	c := exec.Command("rye", words...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "LANG", "TZ"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	out, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	registries.Store(ts.MkAbs(dir), c)
	ts.Defer(func() { _ = c.Process.Kill(); _ = c.Wait() })
	r := bufio.NewReader(out)
	for text := ""; ; {
		line, err := r.ReadString('\n')
		text += line
		for name, pattern := range set {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(line); m != nil {
				ts.Setenv(name, m[1])
				delete(set, name)
			}
		}
		if len(set) == 0 {
			go io.Copy(io.Discard, r)
			return
		}
		if err != nil {
			ts.Fatalf("rye %s did not start: %s", words[1], text)
		}
	}
}

// cmdRegDown stops a registry as the operator does.
func cmdRegDown(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "regdown DIR")
	v, ok := registries.Load(ts.MkAbs(args[0]))
	if !ok {
		ts.Fatalf("%s is not served", args[0])
	}
	c := v.(*exec.Cmd)
	ts.Check(c.Process.Signal(os.Interrupt))
	_ = c.Wait()
}

// cmdRegSend publishes the bundle of a directory, without the checks that a client makes
// before.
func cmdRegSend(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: regsend DIR ID VERSION URL KEY-DIR")
	}
	archive, sum := packBundle(ts, ts.MkAbs(args[0]))
	signer, err := sign.OpenFileSigner(filepath.Join(ts.MkAbs(args[4]), "key.pem"), nil)
	ts.Check(err)
	s := wire.Statement{Registry: registryHost(ts, args[3]), Action: wire.ActionPublish, ID: args[1], Version: args[2], Body: item.DigestOf(archive).String(), Sum: sum}
	header, err := s.Sign(context.Background(), signer, time.Now())
	ts.Check(err)
	r, err := http.NewRequest("POST", args[3]+wire.APIPath+"/publish", bytes.NewReader(archive))
	ts.Check(err)
	r.Header.Set(wire.StatementHeader, header)
	a, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	ts.Check(err)
	if a.StatusCode == http.StatusOK {
		got, err := wire.ParseReceipt(b)
		ts.Check(err)
		fmt.Fprintf(ts.Stdout(), "log entry %d\n", got.Index)
	} else {
		fmt.Fprintf(ts.Stderr(), "%s %s", a.Status, b)
	}
	if neg == (a.StatusCode == http.StatusOK) {
		ts.Fatalf("the status is %s: %s", a.Status, b)
	}
}

func registryHost(ts *testscript.TestScript, url string) string {
	a, err := http.Get(url + wire.DiscoveryPath)
	ts.Check(err)
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	ts.Check(err)
	_, rest, _ := strings.Cut(string(b), `"host":"`)
	host, _, _ := strings.Cut(rest, `"`)
	return host
}

// packBundle returns the archive of a bundle and the hash of its tree.
func packBundle(ts *testscript.TestScript, dir string) (archive []byte, sum string) {
	var files []wire.File
	ts.Check(filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		if err != nil || d.IsDir() || !source.Carried(rel) {
			return err
		}
		info, err := d.Info()
		ts.Check(err)
		b, err := os.ReadFile(p)
		files = append(files, wire.File{Path: rel, Executable: info.Mode()&0o111 != 0, Data: b})
		return err
	}))
	archive, err := wire.Pack(files)
	ts.Check(err)
	list, err := wire.Unpack(context.Background(), bytes.NewReader(archive), func(wire.File) error { return nil })
	ts.Check(err)
	sum, err = treehash.Of(list)
	ts.Check(err)
	return archive, sum
}
