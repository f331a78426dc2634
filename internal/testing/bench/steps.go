package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// verify compares rye verify with the reference, for every size.
func (b *bench) verify() error {
	fmt.Printf("\n| verify | rye | SHA-256 + Ed25519 alone | ratio | ratio of processor time | rye, memory | reference, memory |\n|---|---|---|---|---|---|---|\n")
	for _, n := range b.sizes {
		dir, err := b.corpus(n)
		if err != nil {
			return err
		}
		got, err := race(
			b.rounds,
			b.program(dir, b.rye, "verify", "--no-memo"),
			b.program(dir, b.self, "reference", dir, b.public),
		)
		if err != nil {
			return err
		}
		rye := got[0]
		bare := got[1]
		fmt.Printf("| %d items | %s | %s | %s | %s | %s | %s |\n", n, rye, bare,
			rye.ratios(bare), ratio(rye.cpu, bare.cpu), mb(rye.rss), mb(bare.rss))
	}
	if err := b.verifyAgain(); err != nil {
		return err
	}
	return b.verifyLocked()
}

// verifyAgain compares the second verify, with a memo, with sha256sum of the same files.
// The first round of a race fills the memo.
func (b *bench) verifyAgain() error {
	sums, err := exec.LookPath("sha256sum")
	if err != nil {
		fmt.Println("\nverify with a memo: left out, there is no sha256sum")
		return nil
	}
	fmt.Printf("\n| with a memo | verify | sha256sum -c | ratio | ratio of processor time | locked: verify | lock --check | locked: sha256sum -c | verify, memory |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, n := range b.sizes {
		free := filepath.Join(b.work, strconv.Itoa(n))
		locked := ""
		if locked, err = b.locked(n); err != nil {
			return err
		}
		var lists []string
		for _, dir := range []string{free, locked} {
			list, err := sumsOf(dir)
			if err != nil {
				return err
			}
			lists = append(lists, list)
		}
		got, err := race(b.rounds, b.program(free, b.rye, "verify"), b.program(free, sums, "-c", "--quiet", lists[0]),
			b.program(locked, b.rye, "verify"), b.program(locked, b.rye, "lock", "--check"), b.program(locked, sums, "-c", "--quiet", lists[1]))
		if err != nil {
			return err
		}
		fmt.Printf("| %d items | %s | %s | %s | %s | %s, %s of processor time without a lock | %s, %s | %s | %s |\n", n, got[0], got[1], got[0].ratios(got[1]), ratio(got[0].cpu, got[1].cpu),
			got[2], ratio(got[2].cpu, got[0].cpu), got[3], ratio(got[3].cpu, got[0].cpu), got[4], mb(got[2].rss))
	}
	return nil
}

// sumsOf writes the list for sha256sum -c of the items of a project, next to it.
func sumsOf(dir string) (string, error) {
	var list bytes.Buffer
	root := filepath.Join(dir, ".ai")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), path)
		return nil
	})
	if err != nil {
		return "", err
	}
	return dir + ".sums", os.WriteFile(dir+".sums", list.Bytes(), 0o644)
}

// verifyLocked compares the commands that judge a lock with verify of the same files
// without one.
func (b *bench) verifyLocked() error {
	fmt.Printf("\n| with a lock, without a memo | verify without | verify | ratio of processor time | lock --check (it has a memo) | ratio of processor time | verify, memory |\n|---|---|---|---|---|---|---|\n")
	for _, n := range b.sizes {
		free, err := b.corpus(n)
		if err != nil {
			return err
		}
		dir, err := b.locked(n)
		if err != nil {
			return err
		}
		got, err := race(
			b.rounds,
			b.program(free, b.rye, "verify", "--no-memo"),
			b.program(dir, b.rye, "verify", "--no-memo"),
			b.program(dir, b.rye, "lock", "--check"),
		)
		if err != nil {
			return err
		}
		fmt.Printf("| %d items | %s | %s | %s | %s | %s | %s |\n", n, got[0], got[1], ratio(got[1].cpu, got[0].cpu),
			got[2], ratio(got[2].cpu, got[0].cpu), mb(got[1].rss))
	}
	return nil
}

// locked writes a project of n items and one more tool, demo/hello, with a lock.
func (b *bench) locked(n int) (string, error) {
	dir := filepath.Join(b.work, strconv.Itoa(n)+"-locked")
	_, err := os.Stat(filepath.Join(dir, "rye.lock"))
	if err == nil {
		return dir, nil
	}
	if err := b.withHello(dir, n); err != nil {
		return "", err
	}
	_, err = b.program(dir, b.rye, "lock").once()
	return dir, err
}

// unlocked writes the project of locked without its lock.
func (b *bench) unlocked(n int) (string, error) {
	dir := filepath.Join(b.work, strconv.Itoa(n)+"-unlocked")
	return dir, b.withHello(dir, n)
}

func (b *bench) withHello(dir string, n int) error {
	_, err := b.program(
		b.work,
		b.self,
		"corpus",
		dir,
		strconv.Itoa(n),
	).once()
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(dir, "rye.yaml"), []byte("rye: 1\n"), 0o644)
	if err != nil {
		return err
	}
	_, err = b.helloIn(dir)
	return err
}

// corpus writes and signs a project of n items and prints the time to sign.
func (b *bench) corpus(n int) (string, error) {
	dir := filepath.Join(b.work, strconv.Itoa(n))
	_, err := b.program(
		b.work,
		b.self,
		"corpus",
		dir,
		strconv.Itoa(n),
	).once()
	if err != nil {
		return "", err
	}
	_, err = b.program(dir, b.rye, "sign", "*").once()
	return dir, err
}

// runTool compares rye run of a one-line bash tool with bash alone.
func (b *bench) runTool() error {
	shell, err := exec.LookPath("bash")
	if err != nil {
		fmt.Println("\nrun tool: left out, there is no bash")
		return nil
	}
	dir, file, err := b.hello()
	if err != nil {
		return err
	}
	bare := b.program(dir, shell, file)
	bare.stdin = "{}"
	got, err := race(
		b.spawns,
		b.program(dir, b.rye, "run", "tool", "demo/hello"),
		bare,
	)
	if err != nil {
		return err
	}
	first, err := b.emptyCache(dir)
	if err != nil {
		return err
	}
	fmt.Printf("\n| run tool | rye | bare | over it | rye, memory |\n|---|---|---|---|---|\n")
	fmt.Printf(
		"| one-line bash tool | %s | %s | %s | %s |\n",
		got[0],
		got[1],
		got[0].over(got[1]),
		mb(got[0].rss),
	)
	fmt.Printf(
		"| the same, nothing in the cache | %s | %s | %s | %s |\n",
		first,
		got[1],
		first.over(got[1]),
		mb(first.rss),
	)
	return b.runLocked(dir)
}

// manyItems is the size of a corpus with 5,000 tools.
const manyItems = 8334

// runLocked compares a run in a project of many locked tools with the same run in the same
// project without a lock, and in a project that has nothing else.
func (b *bench) runLocked(alone string) error {
	n := manyItems
	if b.rounds < 5 {
		n = b.sizes[len(b.sizes)-1]
	}
	dir, err := b.locked(n)
	if err != nil {
		return err
	}
	same, err := b.unlocked(n)
	if err != nil {
		return err
	}
	time.Sleep(4 * time.Second) // the sandbox remembers what is in a directory that changed three seconds ago
	argv := []string{b.rye, "run", "tool", "demo/hello"}
	plan := append(argv, "--dry-run")
	var programs []program
	for _, words := range [][]string{argv, plan} {
		programs = append(
			programs,
			b.program(dir, words...),
			b.program(same, words...),
			b.program(alone, words...),
		)
	}
	got, err := race(b.spawns, programs...)
	if err != nil {
		return err
	}
	for i, name := range []string{"the same among %d locked tools, compared with ", "the same, only planned (`--dry-run`), among %d locked tools, compared with "} {
		many := got[3*i]
		for k, other := range []string{"those tools without a lock", "a project of this tool"} {
			one := got[3*i+1+k]
			fmt.Printf(
				"| "+name+"%s | %s | %s | %s; of processor time %s | %s |\n",
				n*6/10,
				other,
				many,
				one,
				many.over(one),
				ms(median(many.cpu)-median(one.cpu)),
				mb(many.rss),
			)
		}
	}
	return nil
}

// hello writes a project with a signed one-line bash tool.
func (b *bench) hello() (dir, file string, err error) {
	dir = filepath.Join(b.work, "tool")
	file, err = b.helloIn(dir)
	return dir, file, err
}

// helloIn writes the tool into a project and signs what is not signed there.
func (b *bench) helloIn(dir string) (file string, err error) {
	file = filepath.Join(dir, ".ai", "tools", "demo", "hello.sh")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	text := "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: demo\n# description: Say hello.\necho hello\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", err
	}
	_, err = b.program(dir, b.rye, "sign", "*").once()
	return file, err
}

// emptyCache measures the first run of a tool: its bytes must reach the disk.
func (b *bench) emptyCache(dir string) (s sample, err error) {
	cache := filepath.Join(b.work, "cache")
	p := b.program(dir, b.rye, "run", "tool", "demo/hello")
	p.env = append(p.env, "RYE_CACHE="+cache)
	for range b.rounds {
		o, err := p.once()
		if err = errors.Join(err, discard(cache)); err != nil {
			return s, err
		}
		s.add(o)
	}
	return s, nil
}

// discard removes a folder that holds read-only folders, if it is there.
func discard(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}

// start compares rye version with a program that does nothing.
func (b *bench) start() error {
	nothing := "true"
	if runtime.GOOS == "windows" {
		nothing = "where.exe"
	}
	path, err := exec.LookPath(nothing)
	if err != nil {
		return err
	}
	executable, err := os.Stat(b.rye)
	if err != nil {
		return err
	}
	got, err := race(
		b.spawns,
		b.program(b.work, b.rye, "version"),
		b.program(b.work, path),
	)
	if err != nil {
		return err
	}
	fmt.Printf("\n| start | rye version | %s | over it | memory | size of the executable |\n|---|---|---|---|---|---|\n| process | %s | %s | %s | %s | %.1f MB |\n",
		nothing, got[0], got[1], got[0].over(got[1]), mb(got[0].rss), float64(executable.Size())/1e6)
	return nil
}
