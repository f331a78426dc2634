//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

const crashTool = "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: %s\n# description: Number %d.\necho %d\n"

const crashJSON = "{\n  \"version\": \"1.0.%d\",\n  \"tool_type\": \"script\",\n  \"executor_id\": \"rye/core/primitives/subprocess\",\n  \"category\": \"%s\",\n  \"description\": \"Show a version.\",\n  \"config\": {\"command\": \"git\", \"args\": [\"--version\"]}\n}\n"

// crashFiles writes n unsigned tools and returns their contents by id. Every
// tenth carries its signature in a file beside it.
func crashFiles(l *lab, n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		folder := fmt.Sprintf("area%d", i%7)
		rel, text := fmt.Sprintf("%s/t%03d.sh", folder, i), fmt.Sprintf(crashTool, folder, i, i)
		if i%10 == 9 {
			rel, text = fmt.Sprintf("%s/t%03d.json", folder, i), fmt.Sprintf(crashJSON, i, folder)
		}
		files[rel] = text
	}
	restore(l, files)
	return files
}

// restore makes every file unsigned again.
func restore(l *lab, files map[string]string) {
	for rel, text := range files {
		l.write(".ai/tools/"+rel, text)
		err := os.Remove(filepath.Join(l.dir, ".ai", "tools", rel+extract.DetachedExt))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.t.Fatal(err)
		}
	}
}

// wholeness counts the files that are signed, and fails for one that is
// neither the old nor the new one.
func wholeness(l *lab, files map[string]string, keys sign.Keys) (signed int) {
	l.t.Helper()
	hash := sign.Hash()
	for rel, old := range files {
		path := filepath.Join(l.dir, ".ai", "tools", rel)
		sub := extract.Subject(item.Ref{Kind: item.Tool, ID: strings.TrimSuffix(rel, filepath.Ext(rel))})
		b := l.read(path)
		sig, err := os.ReadFile(path + extract.DetachedExt)
		switch {
		case err == nil:
			if _, err := sign.VerifyDetached(b, sig, sub, keys); err != nil || string(b) != old {
				l.t.Errorf("%s with its signature is neither old nor new: %v\n%q", rel, err, sig)
			}
			signed++
		case string(b) == old:
		default:
			sp, err := sign.SplitFile(b, hash)
			if err == nil {
				_, err = sign.Verify(b, hash, sub, keys)
			}
			if err != nil || !bytes.Equal(sp.Body(), []byte(old)) {
				l.t.Errorf("%s is neither old nor new: %v\n%q", rel, err, b)
			}
			signed++
		}
	}
	return signed
}

// ownKeys returns the one key of the lab.
func ownKeys(l *lab) sign.Keys {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.home, "data", "rye", "keys", "key-*.pem"))
	if err != nil || len(found) != 1 {
		l.t.Fatalf("private keys %q, %v", found, err)
	}
	s, err := sign.OpenFileSigner(found[0], func() ([]byte, error) { return nil, nil })
	if err != nil {
		l.t.Fatal(err)
	}
	return sign.OnlyKey(s.Public())
}

// TestCrashSign kills rye sign at random instants: every file is the old or
// the new one, whole, and the next rye sign heals the project.
func TestCrashSign(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes at many moments")
	}
	l := newLab(t)
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	files := crashFiles(l, 200)
	keys := ownKeys(l)
	span := l.span("sign", "*")
	if n := wholeness(l, files, keys); n != len(files) {
		t.Fatalf("%d of %d files are signed after a whole run", n, len(files))
	}
	within, left := 0, 0
	// A kill may come before the first file or after the last one: half of them do. More
	// rounds follow until one did not.
	for round := 0; round < rounds(25) || within == 0 && round < 500; round++ {
		restore(l, files)
		l.killed(span, "sign", "*")
		if n := wholeness(l, files, keys); n > 0 && n < len(files) {
			within++
		}
		if tmp := leftovers(t, l.dir); len(tmp) > left {
			left = len(tmp)
			leftoversAreHidden(l)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d rounds were killed with some files signed; %d temporary files stayed", within, left)
	if within == 0 {
		t.Error("no kill fell between the first and the last file: nothing was tested")
	}
	l.must("sign", "*")
	l.must("verify")
	if tmp := leftovers(t, l.dir); len(tmp) > 0 {
		t.Errorf("rye sign left temporary files: %q", tmp)
	}
	if n := wholeness(l, files, keys); n != len(files) {
		t.Errorf("%d of %d files are signed after the next rye sign", n, len(files))
	}
}

// leftoversAreHidden wants every temporary file to be where git and rye verify do not
// look.
func leftoversAreHidden(l *lab) {
	l.t.Helper()
	hidden := filepath.Join(l.dir, ".ai", "cache", "tmp") + string(filepath.Separator)
	for _, path := range leftovers(l.t, l.dir) {
		if !strings.HasPrefix(path, hidden) {
			l.t.Errorf("%s is outside %s", path, hidden)
		}
	}
	if _, all, _ := l.run("verify", "--json"); strings.Contains(all, ".rye-tmp-") {
		l.t.Errorf("rye verify reports a temporary file:\n%s", all)
	}
}
