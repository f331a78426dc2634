package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// sandbox compares rye run of the same one-line script in each rung, and without a
// sandbox, with bash alone.
func (b *bench) sandbox() error {
	shell, err := exec.LookPath("bash")
	if err != nil {
		fmt.Println("\nsandbox: left out, there is no bash")
		return nil
	}
	dir, file, err := b.hello()
	if err != nil {
		return err
	}
	if err := b.unconfined(dir, file); err != nil {
		return err
	}
	bare := b.program(dir, shell, file)
	tool := func(words ...string) program {
		return b.program(dir, append([]string{b.rye, "run"}, words...)...)
	}
	got, err := race(b.spawns, bare, tool("tool", "demo/hello"), tool("tool", "demo/bare"), tool("tool", "rye/bash/bash", "command=echo hello"),
		tool("tool", "demo/hello", "--dry-run"), b.program(dir, b.rye, "version"))
	if err != nil {
		return err
	}
	fmt.Printf("\n| one-line bash tool | rye | bash alone | over it |\n|---|---|---|---|\n")
	for i, name := range []string{"", "in the best rung of this machine", "risk T4, no sandbox", "`rye/bash/bash`", "only planned (`--dry-run`)", "`rye version`"} {
		if i > 0 {
			row(name, got[i], got[0])
		}
	}
	return b.landlocked(dir, shell, file)
}

func row(name string, s, bare sample) {
	fmt.Printf("| %s | %s | %s | %s |\n", name, s, bare, s.over(bare))
}

// unconfined adds a tool that runs without a sandbox, and the user's permission for it.
func (b *bench) unconfined(dir, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "rye:signed") {
			kept = append(kept, line)
		}
	}
	text = []byte(strings.Replace(strings.Join(kept, ""), "# category: demo\n", "# category: demo\n# risk: T4\n", 1))
	err = os.WriteFile(filepath.Join(filepath.Dir(file), "bare.sh"), text, 0o644)
	if err != nil {
		return err
	}
	_, err = b.program(dir, b.rye, "sign", "demo/bare").once()
	if err != nil {
		return err
	}
	home := filepath.Join(b.work, "home")
	keys, _ := filepath.Glob(filepath.Join(home, "config", "rye", "trust", "key-*.toml"))
	if len(keys) != 1 {
		return errors.New("the key of the bench was not found")
	}
	signer := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(keys[0]), "key-"), ".toml")
	allowance := filepath.Join(home, ".ai", "config", "agent", "allowance.yaml")
	permit := fmt.Sprintf("schema_version: 1.0.0\ncategory: agent\nsandbox: {unconfined: [{ref: \"tool:demo/bare\", signer: \"ed25519:%s\"}]}\n", signer)
	err = errors.Join(
		os.MkdirAll(filepath.Dir(allowance), 0o755),
		os.WriteFile(allowance, []byte(permit), 0o644),
	)
	if err != nil {
		return err
	}
	_, err = b.program(home, b.rye, "sign", allowance).once()
	return err
}

// inLandlock is the part of sandbox that runs where new namespaces are refused.
func inLandlock(rye, work, dir, shell, file, rounds string) error {
	if err := refuseNamespaces(); err != nil {
		return err
	}
	n, err := strconv.Atoi(rounds)
	if err != nil {
		return err
	}
	b := &bench{rye: rye, work: work}
	got, err := race(
		n,
		b.program(dir, shell, file),
		b.program(dir, rye, "run", "tool", "demo/hello"),
	)
	if err != nil {
		return err
	}
	row("without namespaces (`landlock`)", got[1], got[0])
	return nil
}
