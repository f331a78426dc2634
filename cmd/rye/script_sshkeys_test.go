package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/sign"
)

// cmdServeKeys serves the files of a directory over HTTPS, as a host does for the ssh
// keys of its users, until the script ends. It sets a variable to the address and
// SSL_CERT_FILE to its certificate. /away redirects to another host.
func cmdServeKeys(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "servekeys DIR VARIABLE")
	dir := ts.MkAbs(args[0])
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away.keys" {
			http.Redirect(w, r, "https://localhost:1/leo.keys", http.StatusFound)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, path.Base(r.URL.Path)))
	}))
	ts.Defer(s.Close)
	ca := filepath.Join(dir, "ca.pem")
	ts.Check(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	ts.Setenv("SSL_CERT_FILE", ca)
	ts.Setenv(args[1], s.URL)
}

// cmdSSHLine appends the public key of a seed to a file, as a line of ssh, and sets a
// variable to its fingerprint in the form of ssh.
func cmdSSHLine(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 3, "sshline SEED FILE VARIABLE")
	signer, _ := seededKey(ts, args[0])
	var wire []byte
	for _, part := range [][]byte{[]byte("ssh-ed25519"), signer.Public()} {
		wire = append(binary.BigEndian.AppendUint32(wire, uint32(len(part))), part...)
	}
	f, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = fmt.Fprintln(f, "ssh-ed25519", base64.StdEncoding.EncodeToString(wire))
	ts.Check(err)
	ts.Check(f.Close())
	ts.Setenv(args[2], sign.SSHFingerprint(signer.Public()))
}
