package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bundleCount is how many bundles the project of the packages step requires.
const bundleCount = 20

// job is a measurement of several processes, or of one that needs preparations
// outside the measured time.
type job struct {
	name    string
	prepare func() error // nil: nothing
	parts   []program    // one after the other
}

func (j job) once() (sum outcome, err error) {
	if j.prepare != nil {
		if err := j.prepare(); err != nil {
			return sum, err
		}
	}
	for _, p := range j.parts {
		o, err := p.once()
		if err != nil {
			return sum, err
		}
		sum.elapsed = sum.elapsed + o.elapsed
		sum.cpu = sum.cpu + o.cpu
		sum.rss = max(sum.rss, o.rss)
	}
	return sum, nil
}

// packages measures the verbs about bundles in a project that requires 20 from
// repositories of this machine, and 20 plain shallow fetches by git into empty
// repositories, which is the minimum for any tool that uses git.
func (b *bench) packages() error {
	if _, err := exec.LookPath("git"); err != nil {
		fmt.Println("\npackages: left out, there is no git")
		return nil
	}
	project, err := b.requiring()
	if err != nil {
		return err
	}
	cold := func(files ...string) func() error {
		return func() error { return b.forget(project, files...) }
	}
	rye := func(words ...string) []program {
		return []program{b.program(project, append([]string{b.rye}, words...)...)}
	}
	jobs := []job{
		{name: "20 × git fetch --depth 1", prepare: b.emptyRepositories, parts: b.plainFetches()},
		{name: "rye lock, nothing locked or cached", prepare: cold("rye.lock", "rye.sum"), parts: rye("lock")},
		{name: "rye lock, nothing to do", parts: rye("lock")},
		{name: "rye lock --check", parts: rye("lock", "--check")},
		{name: "rye sync --frozen, nothing to do", parts: rye("sync", "--frozen")},
		{name: "rye sync --frozen, all from the cache", prepare: func() error { return b.uninstall(project) }, parts: rye("sync", "--frozen")},
		{name: "rye verify", parts: rye("verify")},
		{name: "rye version", parts: rye("version")},
	}
	got := make([]sample, len(jobs))
	for round := range b.rounds + 1 {
		for i, j := range jobs {
			o, err := j.once()
			if err != nil {
				return err
			}
			if round > 0 {
				got[i].add(o)
			}
		}
	}
	fmt.Printf("\n| %d bundles | time | processor time | ratio of processor time | memory |\n|---|---|---|---|---|\n", bundleCount)
	for i, j := range jobs {
		fmt.Printf(
			"| %s | %s | %s | %s | %s |\n",
			j.name,
			got[i],
			sample{times: got[i].cpu},
			ratio(got[i].cpu, got[0].cpu),
			mb(got[i].rss),
		)
	}
	return nil
}

func (b *bench) remote(i int) string {
	return filepath.Join(b.work, "remotes", fmt.Sprintf("bundle%02d", i))
}

// requiring makes the repositories of the bundles and a project that requires
// all of them.
func (b *bench) requiring() (string, error) {
	text := "rye: 1\nrequire:\n"
	for i := range bundleCount {
		if err := b.publish(i); err != nil {
			return "", err
		}
		text += "  file://" + b.remote(i) + ": v1.0.0\n"
	}
	project := filepath.Join(b.work, "requiring")
	err := os.MkdirAll(filepath.Join(project, ".ai"), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(project, "rye.yaml"), []byte(text), 0o644)
	}
	return project, err
}

// publish makes one bundle of ten items, signed, listed, committed and tagged.
func (b *bench) publish(i int) error {
	dir := b.remote(i)
	if err := writeCorpus(dir, 10*i, 10); err != nil {
		return err
	}
	name := filepath.Base(dir)
	for _, words := range [][]string{
		{b.rye, "sign", "*"}, {b.rye, "bundle", "create", name, "--version", "1.0.0"},
		{"git", "init", "-q"}, {"git", "add", "."}, {"git", "commit", "-q", "-m", name}, {"git", "tag", "-a", "v1.0.0", "-m", name},
	} {
		_, err := b.inRepo(dir, words...).once()
		if err != nil {
			return err
		}
	}
	return nil
}

// forget removes what was installed and cached, and files of the project.
func (b *bench) forget(project string, files ...string) error {
	var errs []error
	for _, f := range files {
		err := os.Remove(filepath.Join(project, f))
		if !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	errs = append(
		errs,
		b.aside(filepath.Join(b.work, "home", "cache")),
		b.uninstall(project),
	)
	return errors.Join(errs...)
}

func (b *bench) uninstall(project string) error {
	return b.aside(filepath.Join(project, ".ai", "bundles"))
}

// aside renames a directory, if it exists. It is not removed, because file systems
// delay the creation of files after many were removed.
func (b *bench) aside(dir string) error {
	where := filepath.Join(b.work, "aside")
	if err := os.MkdirAll(where, 0o755); err != nil {
		return err
	}
	at, err := os.MkdirTemp(where, "")
	if err == nil {
		err = os.Rename(dir, filepath.Join(at, "was"))
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (b *bench) fetched(i int) string {
	return filepath.Join(b.work, "fetched", fmt.Sprint(i))
}

func (b *bench) emptyRepositories() error {
	err := b.aside(filepath.Join(b.work, "fetched"))
	if err != nil {
		return err
	}
	for i := range bundleCount {
		_, err := b.program(
			b.work,
			"git",
			"init",
			"-q",
			"--bare",
			b.fetched(i),
		).once()
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) plainFetches() []program {
	var out []program
	for i := range bundleCount {
		words := strings.Fields("git fetch -q --depth 1")
		out = append(out, b.program(b.fetched(i), append(words, "file://"+b.remote(i), "refs/tags/v1.0.0")...))
	}
	return out
}
