package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/testing/bench/rulemodel"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// shellCommands is the work (-B: a cached file of the same second and size would hide the
// correction) that each agent does: a bug that is found, corrected and tested.
var shellCommands = []string{"cat calc.py", "python3 -B test_calc.py", "sed -i 's/a - b/a + b/' calc.py", "python3 -B test_calc.py && echo all is well"}

const peerTask = "TASK-peer: correct the bug in calc.py and run its test."

// shellRule runs the commands, one a turn, by whatever tool runs commands.
func shellRule(r *rulemodel.Request) scripted.Send {
	if n := len(r.Calls); n < len(shellCommands) {
		call, known := shellCall(r, shellCommands[n])
		if !known {
			return rulemodel.Lost("a tool that runs commands, among %q", r.Tools)
		}
		return r.Do(call)
	}
	if !strings.Contains(r.Last().Result, "all is well") {
		return rulemodel.Lost("the output of the test, in %q", r.Last().Result)
	}
	return scripted.Send{Text: "The bug is corrected."}
}

// shellCall returns the call that runs a command.
func shellCall(r *rulemodel.Request, command string) (scripted.Call, bool) {
	switch {
	case r.Offers("Bash"):
		return scripted.Call{Name: "Bash", Input: object{"command": command, "description": "Run a command"}}, true
	case r.Offers("exec_command"):
		return scripted.Call{Name: "exec_command", Input: object{"cmd": command}}, true
	case r.Offers("shell_command"):
		return scripted.Call{Name: "shell_command", Input: object{"command": command}}, true
	case r.Offers("shell"):
		return scripted.Call{Name: "shell", Input: object{"command": []any{"bash", "-c", command}}}, true
	case r.Offers("rye__bash__bash"), r.Offers("rye_execute"):
		return r.Use(bashID, object{"command": command}), true
	}
	return scripted.Call{}, false
}

// peer is one program that does the work.
type peer struct {
	name, dialect string
	argv          []string
	env           []string
}

// peers compares rye with claude and codex on the same work, if RYE_NPM_PROGRAMS names the
// folder in which npm installed them.
func (b *bench) peers() error {
	packages := filepath.Join(os.Getenv("RYE_NPM_PROGRAMS"), "node_modules")
	claude := ""
	codex := ""
	if filepath.IsAbs(packages) {
		claude = first(filepath.Join(packages, "@anthropic-ai", "claude-code-*", "claude"))
		codex = first(filepath.Join(packages, "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	}
	fmt.Printf("\n| the same work | end | turns | first request | tokens a turn | identical beginning | time | processor time | memory |\n|---|---|---|---|---|---|---|---|---|\n")
	rye, err := b.peer("rye", scripted.Chat, func(string) peer {
		return peer{argv: []string{b.rye, "run", "prompt", peerTask}}
	})
	if err != nil {
		return err
	}
	if claude == "" || codex == "" {
		fmt.Println("\nclaude and codex: left out, RYE_NPM_PROGRAMS names no folder with both")
		return nil
	}
	other, err := b.peer("claude", scripted.Anthropic, func(url string) peer {
		return peer{
			argv: []string{claude, "-p", peerTask, "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--output-format", "json"},
			env:  []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-bench-12345678", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1"},
		}
	})
	if err == nil {
		err = rye.below(other)
	}
	if err != nil {
		return err
	}
	other, err = b.peer("codex", scripted.Responses, func(url string) peer {
		return peer{
			argv: []string{codex, "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config", "--sandbox", "danger-full-access", "--model", "gpt-5.1-codex",
				"-c", fmt.Sprintf("openai_base_url=%q", url+"/v1"), peerTask},
		}
	})
	if err == nil {
		err = rye.below(other)
	}
	return err
}

// peerFigures are what a program sent for the work.
type peerFigures struct {
	name       string
	firstBytes int
	turnTokens int64
}

// below reports figures that are not smaller than the figures of another program.
func (f peerFigures) below(other peerFigures) error {
	if f.firstBytes >= other.firstBytes {
		return fmt.Errorf("the first request of %s has %d bytes, the one of %s %d", f.name, f.firstBytes, other.name, other.firstBytes)
	}
	if f.turnTokens >= other.turnTokens {
		return fmt.Errorf("%s sends %d tokens a turn, %s %d", f.name, f.turnTokens, other.name, other.turnTokens)
	}
	return nil
}

// peer runs one program in a project of its own and prints its row.
func (b *bench) peer(name, dialect string, make func(url string) peer) (peerFigures, error) {
	model := rulemodel.New(dialect, rulemodel.Marked{Marker: "TASK-peer", Rule: shellRule})
	if name != "rye" {
		model.AcceptAll()
	}
	server := httptest.NewServer(model)
	defer server.Close()
	dir := filepath.Join(b.work, "peers", name)
	err := writeAll(dir, map[string]string{
		"calc.py":                     "def add(a, b):\n    return a - b\n",
		"test_calc.py":                "from calc import add\n\nassert add(2, 3) == 5, 'AssertionError: add(2, 3) must be 5'\n",
		".ai/tools/bench/model.yaml":  fmt.Sprintf(agentModel, server.URL),
		".ai/config/agent/agent.yaml": "schema_version: \"1.0.0\"\ncategory: agent\ndescription: The model of the bench.\nproviders: [bench/model]\n",
	})
	if err != nil {
		return peerFigures{}, err
	}
	_, err = b.program(dir, b.rye, "sign", "*").once()
	if err != nil {
		return peerFigures{}, err
	}
	err = writeAll(filepath.Join(b.work, "home"), map[string]string{".codex/auth.json": `{"OPENAI_API_KEY":"sk-bench-12345678"}`})
	if err != nil {
		return peerFigures{}, err
	}
	p := make(server.URL)
	c := exec.Command(p.argv[0], p.argv[1:]...)
	c.Dir = dir
	c.Env = append(b.env(), p.env...)
	var said bytes.Buffer
	c.Stdout = &said
	c.Stderr = &said
	start := time.Now()
	failure := c.Run()
	elapsed := time.Since(start)
	s := model.Stats()
	end := "done"
	switch {
	case len(s.Lost) > 0:
		end = "lost: the model did not read " + shorten(s.Lost[0])
	case failure != nil:
		end = "failed: " + shorten(
			failure.Error()+" "+strings.Join(model.Problems(), " ")+" "+said.String(),
		)
	case contains("calc.py", "a + b")(dir) != nil:
		end = "failed: the bug is not corrected"
	}
	figures := peerFigures{name: name, firstBytes: s.FirstBytes, turnTokens: s.Input / int64(max(s.Requests, 1))}
	cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	fmt.Printf("| %s | %s | %d | %.1f kB, %d tools | %d | %.3f | %s | %s | %s |\n", name, end, s.Requests, float64(s.FirstBytes)/1000, s.ToolsOffered,
		figures.turnTokens, s.SamePrefix(), ms(elapsed), ms(cpu), mb(residentSize(c.ProcessState)))
	if end != "done" {
		return peerFigures{}, fmt.Errorf("the work with %s: %s", name, end)
	}
	return figures, nil
}

// first returns the first path that matches a pattern, "" for none.
func first(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}
