package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// git measures the hook and verify --rev in a repository of the largest corpus,
// and the plumbing that any such hook must call.
func (b *bench) git() error {
	if _, err := exec.LookPath("git"); err != nil {
		fmt.Println("\ngit: left out, there is no git")
		return nil
	}
	n := b.sizes[len(b.sizes)-1]
	dir, err := b.corpus(n) // already signed by an earlier step: nothing changes
	if err == nil {
		err = b.commit(dir)
	}
	if err == nil {
		err = b.revision(dir, n)
	}
	if err != nil {
		return err
	}
	locked, err := b.locked(n)
	if err == nil {
		err = b.commit(locked)
	}
	if err != nil {
		return err
	}
	of := fmt.Sprintf("%d items", n)
	err = b.hook(dir, "knowledge", of+", key in a file without a passphrase", "")
	if err != nil {
		return err
	}
	stop, socket, err := b.agent(dir)
	if err != nil {
		fmt.Println("\nhook with a key in an agent: left out,", err)
		return nil
	}
	return errors.Join(b.hook(dir, "knowledge", of+", key in an agent", socket),
		b.hook(locked, "directives", of+" with a lock, of which entries change, key in an agent", socket), stop())
}

// commit makes a repository of a project.
func (b *bench) commit(dir string) error {
	for _, words := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "corpus"}, {"gc", "-q"}} {
		_, err := b.inRepo(dir, append(
			[]string{"git", "-c", "gc.auto=0"},
			words...,
		)...).once()
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) inRepo(dir string, argv ...string) program {
	p := b.program(dir, argv...)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		p.env = append(p.env, "GIT_"+who+"_NAME=bench", "GIT_"+who+"_EMAIL=bench@example.test")
	}
	return p
}

func (b *bench) revision(dir string, n int) error {
	got, err := race(
		b.rounds,
		b.inRepo(dir, b.rye, "verify"),
		b.inRepo(dir, b.rye, "verify", "--rev", "HEAD"),
	)
	if err != nil {
		return err
	}
	fmt.Printf("\n| verify %d items | work tree | --rev | ratio | ratio of processor time |\n|---|---|---|---|---|\n", n)
	fmt.Printf(
		"| packed objects | %s | %s | %s | %s |\n",
		got[0],
		got[1],
		ratio(got[1].times, got[0].times),
		ratio(got[1].cpu, got[0].cpu),
	)
	return nil
}

// agent starts an ssh-agent that holds the key: an encrypted key file costs
// 175 ms by design, which would dominate the measurement.
func (b *bench) agent(dir string) (stop func() error, socket string, err error) {
	path, err := exec.LookPath("ssh-agent")
	if err != nil {
		return nil, "", errors.New("there is no ssh-agent")
	}
	socket = filepath.Join(b.work, "agent")
	cmd := exec.Command(path, "-D", "-a", socket)
	cmd.Env = b.env()
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	stop = func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return nil
	}
	for range 100 {
		if _, err = os.Stat(socket); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	add := b.inRepo(dir, b.rye, "key", "agent-add")
	add.env = append(add.env, "SSH_AUTH_SOCK="+socket)
	if _, err := add.once(); err != nil {
		return nil, "", errors.Join(err, stop())
	}
	return stop, socket, nil
}

// hook measures rye hook run pre-commit with some staged items. socket is the socket of the
// agent, "" without one.
func (b *bench) hook(dir, folder, of, socket string) error {
	items, err := filepath.Glob(filepath.Join(dir, ".ai", folder, "*", "*", "*.md"))
	if err != nil {
		return err
	}
	slices.Sort(items)
	run := b.inRepo(dir, b.rye, "hook", "run", "pre-commit")
	if socket != "" {
		run.env = append(run.env, "SSH_AUTH_SOCK="+socket)
	}
	bare := b.inRepo(dir, "git", "diff-index", "--cached", "--raw", "-z", "HEAD")
	fmt.Printf("\n| hook, of %s | rye | git diff-index alone | memory |\n|---|---|---|---|\n", of)
	for _, staged := range []int{0, 1, 20, 100} {
		if staged > len(items) {
			break
		}
		var got, floor sample
		for round := range b.rounds + 1 {
			err := b.stage(dir, items[:staged], round)
			if err != nil {
				return err
			}
			f, err := bare.once()
			if err != nil {
				return err
			}
			o, err := run.once()
			if err != nil {
				return err
			}
			if round > 0 {
				floor.add(f)
				got.add(o)
			}
		}
		if err := b.signedIndex(dir, staged); err != nil {
			return err
		}
		fmt.Printf("| %d staged | %s | %s | %s |\n", staged, got, floor, mb(got.rss))
	}
	_, err = b.inRepo(dir, "git", "-c", "gc.auto=0", "commit", "-q", "-m", "staged").once()
	return err
}

// stage edits the items and adds them, not signed.
func (b *bench) stage(dir string, items []string, round int) error {
	for _, file := range items {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, fmt.Appendf(text, "Round %d.\n", round), 0o644)
		}
		if err != nil {
			return err
		}
	}
	_, err := b.inRepo(dir, append(
		[]string{"git", "add", "--"},
		items...,
	)...).once()
	return err
}

// signedIndex fails unless the measured command did its work.
func (b *bench) signedIndex(dir string, staged int) error {
	diff := exec.Command("git", "diff", "--cached", "--name-only", "--", ".ai") // and not a rye.lock that the hook changed
	diff.Dir, diff.Env = dir, b.env()
	out, err := diff.Output()
	if err != nil {
		return err
	}
	if got := strings.Count(string(out), "\n"); got != staged {
		return fmt.Errorf("%d items are staged, want %d", got, staged)
	}
	_, err = b.inRepo(dir, b.rye, "verify", "--staged").once()
	return err
}
