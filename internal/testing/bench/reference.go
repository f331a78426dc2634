package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// reference does the minimum of a check of signatures: read every file below
// dir/.ai, hash it, verify one Ed25519 signature. It has no metadata, trust or
// scope. It fails unless all of them verify, so that the measured work was done.
func reference(dir string, public ed25519.PublicKey) error {
	root := filepath.Join(dir, ".ai")
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path == filepath.Join(root, "cache") {
			return filepath.SkipDir // rye verify does not read it either
		}
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	var next, good atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(files); i = next.Add(1) - 1 {
				if signed(root, files[i], public) {
					good.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if int(good.Load()) != len(files) {
		return fmt.Errorf("%d of %d signatures verify", good.Load(), len(files))
	}
	fmt.Println(len(files), "verified")
	return nil
}

// signed splits one file at its signature line and verifies it.
func signed(root, path string, public ed25519.PublicKey) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	start := 0
	if bytes.HasPrefix(b, []byte("#!")) {
		start = bytes.IndexByte(b, '\n') + 1
	}
	end := start + bytes.IndexByte(b[start:], '\n') + 1
	_, line, ok := bytes.Cut(b[start:end], []byte("rye:signed:"))
	if !ok || len(line) < 21+65+87+64 {
		return false
	}
	h := sha256.New()
	h.Write(b[:start])
	h.Write(b[end:])
	sum := hex.EncodeToString(h.Sum(nil))
	sig, err := base64.RawStdEncoding.DecodeString(string(line[86:172]))
	if err != nil || string(line[21:85]) != sum {
		return false
	}
	rel, _ := filepath.Rel(root, path)
	folder, id, _ := strings.Cut(filepath.ToSlash(rel), "/")
	kind := map[string]string{"tools": "tool", "directives": "directive", "knowledge": "knowledge"}[folder]
	statement := fmt.Sprintf("rye.dev/sig/v1\nkind %s\nid %s\ntime %s\nkey %s\nsize %d\nsha256 %s\n",
		kind, strings.TrimSuffix(id, filepath.Ext(id)), line[:20], line[173:237], start+len(b)-end, sum)
	return ed25519.Verify(public, []byte(statement), sig)
}
