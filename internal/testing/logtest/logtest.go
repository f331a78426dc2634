// Package logtest verifies evidence about registries as a third party would: with
// golang.org/x/mod, and with nothing of rye. It is for tests.
package logtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// signedTree returns the tree of a note that one of the keys signed.
func signedTree(file string, keys []string) (t tlog.Tree, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return t, err
	}
	var list []note.Verifier
	for _, k := range keys {
		v, err := note.NewVerifier(k)
		if err != nil {
			return t, err
		}
		list = append(list, v)
	}
	n, err := note.Open(b, note.VerifierList(list...))
	if err != nil {
		return t, err
	}
	lines := strings.Split(n.Text, "\n")
	return parseTree(lines[1] + " " + lines[2])
}

func parseTree(s string) (t tlog.Tree, err error) {
	size, root, _ := strings.Cut(strings.TrimSpace(s), " ")
	if t.N, err = strconv.ParseInt(size, 10, 64); err == nil {
		t.Hash, err = tlog.ParseHash(root)
	}
	return t, err
}

func proofIn(file string) (out []tlog.Hash, err error) {
	b, err := os.ReadFile(file)
	for _, line := range strings.Fields(string(b)) {
		h, bad := tlog.ParseHash(line)
		if bad != nil {
			return nil, bad
		}
		out = append(out, h)
	}
	return out, err
}

// CheckFork returns an error unless a directory of evidence proves two histories of a log.
func CheckFork(dir string) error {
	keys, err := os.ReadFile(filepath.Join(dir, "log-keys"))
	if err != nil {
		return err
	}
	older, e1 := signedTree(filepath.Join(dir, "older.note"), strings.Fields(string(keys)))
	newer, e2 := signedTree(filepath.Join(dir, "newer.note"), strings.Fields(string(keys)))
	if err := errors.Join(e1, e2); err != nil {
		return err
	}
	if older.N == newer.N {
		if older.Hash == newer.Hash {
			return fmt.Errorf("%s: the notes have the same tree", dir)
		}
		return nil
	}
	text, e1 := os.ReadFile(filepath.Join(dir, "prefix"))
	prefix, e2 := parseTree(string(text))
	proof, e3 := proofIn(filepath.Join(dir, "proof"))
	if err := errors.Join(e1, e2, e3); err != nil {
		return err
	}
	err = tlog.CheckTree(proof, newer.N, newer.Hash, prefix.N, prefix.Hash)
	if err != nil {
		return err
	}
	if prefix.N != older.N || prefix.Hash == older.Hash {
		return fmt.Errorf("%s: the newer tree contains the older one", dir)
	}
	return nil
}

// CheckMoved returns an error unless a directory of evidence proves that a log contains two
// releases of one version.
func CheckMoved(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "checkpoint.note"))
	if err != nil {
		return err
	}
	tree, err := parseTree(strings.Join(
		strings.Split(string(b), "\n")[1:3],
		" ",
	))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range []string{"older", "newer"} {
		entry, e1 := os.ReadFile(filepath.Join(dir, name+".entry"))
		text, e2 := os.ReadFile(filepath.Join(dir, name+".index"))
		proof, e3 := proofIn(filepath.Join(dir, name+".proof"))
		n, e4 := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err := errors.Join(e1, e2, e3, e4); err != nil {
			return err
		}
		err := tlog.CheckRecord(proof, tree.N, tree.Hash, n, tlog.RecordHash(entry))
		if err != nil {
			return err
		}
		head, rest, _ := strings.Cut(string(entry), "\nsum ")
		if seen[head] {
			return nil // one version, another sum
		}
		seen[head] = !seen[rest]
	}
	return fmt.Errorf("%s: the entries are about different versions", dir)
}
