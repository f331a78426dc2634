package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// verify compares rye verify with the reference, for every size.
func (b *bench) verify() error {
	fmt.Printf("\n| verify | rye | SHA-256 + Ed25519 alone | ratio | ratio of processor time | rye, memory | reference, memory |\n|---|---|---|---|---|---|---|\n")
	for _, n := range b.sizes {
		dir, err := b.corpus(n)
		if err != nil {
			return err
		}
		got, err := race(b.rounds, b.program(dir, b.rye, "verify"), b.program(dir, b.self, "reference", dir, b.public))
		if err != nil {
			return err
		}
		rye, bare := got[0], got[1]
		fmt.Printf("| %d items | %s | %s | %s | %s | %s | %s |\n", n, rye, bare,
			rye.ratios(bare), ratio(rye.cpu, bare.cpu), mb(rye.rss), mb(bare.rss))
	}
	return nil
}

// corpus writes and signs a project of n items and prints the time to sign.
func (b *bench) corpus(n int) (string, error) {
	dir := filepath.Join(b.work, strconv.Itoa(n))
	if _, err := b.program(b.work, b.self, "corpus", dir, strconv.Itoa(n)).once(); err != nil {
		return "", err
	}
	_, err := b.program(dir, b.rye, "sign", "*").once()
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
	got, err := race(b.spawns, b.program(dir, b.rye, "run", "tool", "demo/hello"), bare)
	if err != nil {
		return err
	}
	first, err := b.emptyCache(dir)
	if err != nil {
		return err
	}
	fmt.Printf("\n| run tool | rye | bare | over it | rye, memory |\n|---|---|---|---|---|\n")
	fmt.Printf("| one-line bash tool | %s | %s | %s | %s |\n", got[0], got[1], got[0].over(got[1]), mb(got[0].rss))
	fmt.Printf("| the same, nothing in the cache | %s | %s | %s | %s |\n", first, got[1], first.over(got[1]), mb(first.rss))
	return nil
}

// hello writes a project with a signed one-line bash tool.
func (b *bench) hello() (dir, file string, err error) {
	dir = filepath.Join(b.work, "tool")
	file = filepath.Join(dir, ".ai", "tools", "demo", "hello.sh")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", "", err
	}
	text := "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: demo\n# description: Say hello.\necho hello\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", "", err
	}
	_, err = b.program(dir, b.rye, "sign", "*").once()
	return dir, file, err
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
	got, err := race(b.spawns, b.program(b.work, b.rye, "version"), b.program(b.work, path))
	if err != nil {
		return err
	}
	fmt.Printf("\n| start | rye version | %s | over it | memory |\n|---|---|---|---|---|\n| process | %s | %s | %s | %s |\n", nothing, got[0], got[1], got[0].over(got[1]), mb(got[0].rss))
	return nil
}
