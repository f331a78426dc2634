package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/sign"
)

// cmdAlike runs a program twice, the second time with --no-memo, and demands one exit
// status and equal output of both.
func cmdAlike(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "alike STATUS PROGRAM [ARG…]")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var said [2]string
	for i, more := range [][]string{nil, {"--no-memo"}} {
		got := 0
		var exit *exec.ExitError
		switch err := ts.Exec(args[1], append(slices.Clone(args[2:]), more...)...); {
		case errors.As(err, &exit):
			got = exit.ExitCode()
		case err != nil:
			ts.Fatalf("running %s: %v", args[1], err)
		}
		if got != want {
			ts.Fatalf("exit status %d with %q, want %d", got, more, want)
		}
		said[i] = ts.ReadFile("stdout") + "\x00" + ts.ReadFile("stderr")
	}
	if said[0] != said[1] {
		ts.Fatalf("with a memo:\n%s\nwithout:\n%s", said[0], said[1])
	}
}

// cmdRemember adds to the memo in a directory that the signature line of a file is valid,
// whether it is or not. Only a program with the secret of a memo can do that.
func cmdRemember(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 5, "remember DIR FILE KIND ID SEED")
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	_, priv := seededKey(ts, args[4])
	claim := &claimed{}
	pub := priv.Public().(ed25519.PublicKey)
	sub := sign.Subject{Use: sign.UseItem, Kind: args[2], ID: args[3]}
	m := memo.New(ts.MkAbs(args[0]))
	for kind, proofs := range map[memo.Kind]sign.Proofs{memo.Signature: claim, memo.File: sign.ByFile{Proofs: claim, Digest: sha256.Sum256(b)}} {
		_, err = sign.VerifyBoth(b, nil, scriptStyle(ts, args[1], ""), sub, sign.OnlyKey(pub), proofs)
		ts.Check(err)
		m.Add(kind, sha256.Sum256(append(claim.s.Key[:], claim.s.Digest[:]...)))
	}
	ts.Check(m.Refused())
}

// cmdWrongSig changes one digit of the signature in the signature line of a file.
func cmdWrongSig(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "wrongsig FILE")
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.Index(b, []byte("rye:signed:"))
	if at < 0 {
		ts.Fatalf("%s has no signature line", args[0])
	}
	at += len("rye:signed:") + len("2006-01-02T15:04:05Z:") + 2*sha256.Size + len(":") + 40
	if b[at] == 'A' {
		b[at] = 'B'
	} else {
		b[at] = 'A'
	}
	rewrite(ts, path, b)
}

// claimed are Proofs that take any signature for valid and keep it.
type claimed struct{ s sign.Signature }

func (c *claimed) Known(s sign.Signature) bool { c.s = s; return true }

func (c *claimed) Valid(sign.Signature) {}

func (*claimed) KnownKey([ed25519.PublicKeySize]byte) bool { return false }

func (*claimed) ValidKey([ed25519.PublicKeySize]byte) {}
