package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// seededKey returns the signer whose 32 seed bytes all are one number.
func seededKey(ts *testscript.TestScript, seed string) (*sign.FileSigner, ed25519.PrivateKey) {
	n, err := strconv.ParseUint(seed, 10, 8)
	ts.Check(err)
	priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(n)}, ed25519.SeedSize))
	return sign.NewFileSigner(priv, "seed "+seed), priv
}

// settings reads name=value words.
func settings(ts *testscript.TestScript, words []string, known string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || !strings.Contains(" "+known+" ", " "+name+" ") {
			ts.Fatalf("%q is none of: %s", w, known)
		}
		out[name] = value
	}
	return out
}

// instant reads a time in full, or a length of time from now.
func instant(ts *testscript.TestScript, text, otherwise string) time.Time {
	if text == "" {
		text = otherwise
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t
	}
	d, err := time.ParseDuration(text)
	ts.Check(err)
	return time.Now().UTC().Add(d).Truncate(time.Second)
}

// cmdMakeKey writes key.pem, key.toml (the trust document), grant.toml,
// revocation.toml and earlier.toml of the key with that seed into a folder, and
// sets the variable named like the
// folder, in capitals, to its fingerprint. own=yes makes it the user's own key.
func cmdMakeKey(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "mkkey DIR SEED [owner= from= to= kinds= ns= may= own=]")
	dir := ts.MkAbs(args[0])
	set := settings(ts, args[2:], "owner from to kinds ns may own")
	signer, priv := seededKey(ts, args[1])
	scope := doc.Scope{Kinds: words(set["kinds"], "*"), Namespaces: words(set["ns"], "**"), May: words(set["may"], "sign,release")}
	from, to := instant(ts, set["from"], "-1h"), instant(ts, set["to"], "2160h")
	owner := set["owner"]
	if owner == "" {
		owner = filepath.Base(dir)
	}
	if name, err := strconv.Unquote(`"` + owner + `"`); err == nil {
		owner = name
	}
	ctx := context.Background()
	name, document, err := doc.NewKey(ctx, doc.KeyParams{Owner: owner, NotBefore: from, NotAfter: to, Scope: scope, Now: from}, signer)
	ts.Check(err)
	grantName, grant, err := doc.NewGrant(ctx, doc.PermissionParams{Document: document, NotBefore: from, NotAfter: to, Scope: scope, Now: from}, signer)
	ts.Check(err)
	_, revocation, err := doc.NewRevocation(ctx, doc.RevocationParams{Reason: doc.ReasonCompromised, CutOff: from, Now: from}, signer)
	ts.Check(err)
	writeKey(ts, filepath.Join(dir, "key.pem"), priv)
	ts.Check(os.WriteFile(filepath.Join(dir, "key.toml"), document, 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, "grant.toml"), grant, 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, "revocation.toml"), revocation, 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, "earlier.toml"), earlierKey(ts, owner, signer.Public()), 0o600))
	fp := sign.FingerprintOf(signer.Public())
	ts.Setenv(strings.ToUpper(filepath.Base(dir)), fp.String())
	if set["own"] == "" {
		return
	}
	dirs := userdirs.For(ts.Getenv, runtime.GOOS)
	ts.Check(testkit.AddOwnKey(dirs.Trust(), trust.File{Name: name, Data: document}, trust.File{Name: grantName, Data: grant}))
	writeKey(ts, filepath.Join(dirs.Keys(), "key-"+fp.String()+".pem"), priv)
}

// earlierKey writes a key as the earlier format kept it in trusted_keys.
func earlierKey(ts *testscript.TestScript, owner string, pub ed25519.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(pub)
	ts.Check(err)
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return fmt.Appendf(nil, "owner = %q\n\n[public_key]\npem = \"\"\"\n%s\"\"\"\n", owner, text)
}

func words(list, otherwise string) []string {
	if list == "" {
		list = otherwise
	}
	return strings.Split(list, ",")
}

// cmdSignWith signs a file with the key of a seed, as any kind and id, at any
// time: what a forger with a key of their own can do.
func cmdSignWith(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 4, "signwith SEED FILE KIND ID [time= style= use= detached=]")
	set := settings(ts, args[4:], "time style use detached")
	signer, _ := seededKey(ts, args[0])
	path := ts.MkAbs(args[1])
	b, err := os.ReadFile(path)
	ts.Check(err)
	use := sign.UseItem
	if set["use"] != "" {
		use = sign.Use(set["use"])
	}
	sub := sign.Subject{Use: use, Kind: args[2], ID: args[3]}
	if args[2] == "bundle" {
		sub = bundle.Subject(args[3])
	}
	at := instant(ts, set["time"], "0s")
	if set["detached"] != "" {
		out, _, err := sign.SignDetached(context.Background(), b, nil, sub, signer, at)
		ts.Check(err)
		ts.Check(os.WriteFile(path+".rye-sig", out, 0o644))
		return
	}
	out, _, err := sign.Sign(context.Background(), b, scriptStyle(ts, path, set["style"]), sub, signer, at)
	ts.Check(err)
	rewrite(ts, path, out)
}

func scriptStyle(ts *testscript.TestScript, path, name string) sign.Style {
	if name == "" {
		name = map[string]string{".md": "<!--", ".js": "//", ".mjs": "//"}[filepath.Ext(path)]
	}
	if name == "" {
		name = "#"
	}
	style, ok := sign.StyleByName(name)
	if !ok {
		ts.Fatalf("there is no style %q", name)
	}
	return style
}

// cmdReplace puts one text in place of the first occurrence of another; \n, \t,
// \xNN and \uNNNN are escapes.
func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 3, "replace FILE OLD NEW")
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	from, to := unescape(ts, args[1]), unescape(ts, args[2])
	if !strings.Contains(string(b), from) {
		ts.Fatalf("%s does not hold %q", args[0], from)
	}
	rewrite(ts, path, []byte(strings.Replace(string(b), from, to, 1)))
}

func unescape(ts *testscript.TestScript, text string) string {
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
	ts.Check(err)
	return s
}

// cmdSwapLines exchanges one line, by its number, between two files.
func cmdSwapLines(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 3, "swaplines N FILE FILE")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var files [2][][]byte
	for i := range files {
		b, err := os.ReadFile(ts.MkAbs(args[i+1]))
		ts.Check(err)
		files[i] = bytes.SplitAfter(b, []byte("\n"))
		if n < 1 || n > len(files[i]) {
			ts.Fatalf("%s has no line %d", args[i+1], n)
		}
	}
	files[0][n-1], files[1][n-1] = files[1][n-1], files[0][n-1]
	for i := range files {
		rewrite(ts, ts.MkAbs(args[i+1]), bytes.Join(files[i], nil))
	}
}

// cmdBigFile writes a JSON object with one text of that many bytes.
func cmdBigFile(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 3, "bigjson FILE NAME BYTES")
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	text := `{"` + args[1] + `": "` + strings.Repeat("x", n) + `"}`
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// cmdNoFiles demands that a folder holds no file whose name has that suffix.
func cmdNoFiles(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "nofiles DIR SUFFIX")
	err := filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, args[1]) {
			ts.Fatalf("there is %s", path)
		}
		return err
	})
	ts.Check(err)
}

func writeKey(ts *testscript.TestScript, path string, priv ed25519.PrivateKey) {
	data, err := sign.NewKeyFile(path, priv, nil)
	ts.Check(err)
	ts.Check(os.WriteFile(path, data, 0o600))
}
