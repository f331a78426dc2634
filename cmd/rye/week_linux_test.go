package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/testing/testkit"
)

// A weekPage is a page that a newcomer follows in the first week. The pages of one home are
// followed one after the other, in one shell.
type weekPage struct {
	home, file string
	hidden     bool              // blocks in comments are run, too
	long       bool              // followed with RYE_LONG=1 only: it has no block that TestDocumentedCommands does not run
	files      map[string]string // that the newcomer already has, by the path in the directory of the shell
}

// weekPages are in the order of the week. Leo's pages come first: Ada adds his bundle.
var weekPages = []weekPage{
	{home: "leo", file: "docs/how-to/releasing.md", hidden: true},
	{home: "ada", file: "README.md", files: map[string]string{
		"hello/skills/pdf/SKILL.md":             "---\nname: pdf\ndescription: Read a PDF file. Use it when a task names one.\n---\n# PDF\n\nRun scripts/fill.sh FILE.\n",
		"hello/skills/pdf/scripts/fill.sh":      "#!/bin/sh\necho \"filled: $*\"\n",
		"hello/.cursor/rules/style.mdc":         "---\ndescription: Style of TypeScript\nglobs: *.ts\nalwaysApply: false\n---\nNo default exports.\n",
		"hello/.github/copilot-instructions.md": "Use short names.\n",
		"hello/packages/api/AGENTS.md":          "Run the tests of the API.\n",
		"hello/.claude/agents/reviewer.md":      "---\nname: reviewer\ndescription: Reviews a change.\ntools: Read\n---\nReview the change.\n",
	}},
	{home: "ada", file: "docs/how-to/importing.md"},
	{home: "ada", file: "docs/how-to/models.md"},
	{home: "ada", file: "docs/how-to/testing-agents.md"},
	{home: "mia", file: "docs/how-to/mcp-servers.md", hidden: true},
	{home: "max", file: "docs/how-to/mcp.md", hidden: true},
	{home: "ivy", file: "docs/how-to/ci.md", hidden: true, long: true},
	{home: "tom", file: "docs/how-to/writing-tools.md", hidden: true, long: true},
	{home: "kim", file: "docs/how-to/writing-directives-and-knowledge.md", hidden: true, long: true},
	{home: "una", file: "docs/how-to/sharing-trust.md", hidden: true, long: true},
	{home: "eve", file: "docs/tutorials/getting-started.md"},
	{home: "bob", file: "docs/tutorials/first-agent.md"},
}

// A substitution is what the test types in place of a part of a page.
type substitution struct {
	file, page, typed string
	why               string
}

// weekSubstitutions are all differences between the pages and what is typed. $BUNDLE is Leo's
// repository.
var weekSubstitutions = []substitution{
	{"docs/how-to/releasing.md", "--root ada,leo --root-threshold 2 --release ada,leo,eve --release-threshold 2", "--root leo --release leo", "keys of several people"},
	{"README.md", "go run ./cmd/rye tour ", "true ", "TestTourChapters reads the tour"},
	{"README.md", "go test ./... ", "true ", "this test is one of them"},
	{"README.md", "go install ./cmd/rye ./cmd/rye-server", "true", "the test has installed the program"},
	{"README.md", "SOURCE ", "$BUNDLE ", "the name of a bundle"},
	{"README.md", "NAME -- COMMAND ", "files -- mcp-fixture ", "the name and the program of a server"},
	{"docs/how-to/mcp-servers.md", "https://docs.example.com/", "$SERVERS/", "the address of a server"},
	{"docs/how-to/mcp.md", "--http 7333 ", "--http 0 ", "another program may have the port"},
	{"docs/how-to/models.md", "anthropic=claude-sonnet-5", "ollama=llama3.2", "a service with a key"},
	{"README.md", "DIRECTORY ", ".claude ", "the name of a directory"},
}

// weekStatuses are the exit statuses that differ at a terminal, where rye waits for a person.
var weekStatuses = []struct {
	file, command string
	status        int
	why           string
}{
	{"docs/tutorials/first-agent.md", "rye -q run directive notes/urgent file=todo.txt --limit turns=1", 0, "the thread is suspended"},
}

// weekShown are texts that a person sees after commands whose output no page shows.
var weekShown = []struct{ file, command, text string }{
	{"README.md", "rye setup", "qwen3:8b answered in"},
	{"README.md", `rye "What is`, "Call Bob, and buy milk."},
	{"README.md", "rye run directive team/triage topic=login --explain", "limits        10 turns"},
	{"README.md", "rye run directive team/triage topic=login  ", `"summary": "Call Bob."`},
	{"README.md", "rye hook install", "hooks/pre-commit"},
	{"README.md", "rye init --ci", "created .github/workflows/rye.yml"},
	{"README.md", "rye status", "up to date"},
	{"README.md", "rye add", "1 bundle installed"},
	{"README.md", "rye serve", `"mcpServers"`},
	{"README.md", "rye mcp add", "added MCP server files"},
	{"README.md", "rye import", ".ai/directives/agents/reviewer.md"},
	{"docs/how-to/importing.md", "rye import .claude", "unchanged    .ai/directives/agents/reviewer.md"},
	{"docs/how-to/importing.md", "rye sign directive:", "1 signed"},
	{"docs/how-to/importing.md", "rye run tool skills/pdf", "filled: --name Ada form.pdf"},
	{"docs/how-to/models.md", "rye provider list", "answers"},
	{"docs/how-to/models.md", "rye provider test", "tool_call"},
	{"docs/how-to/models.md", "rye run directive team/triage topic=login --limit", "$0.00/$0.20"},
	{"docs/how-to/models.md", "rye test --model", "1 of 1"},
	{"docs/how-to/testing-agents.md", "rye verify && rye test", "2 tests passed"},
	{"docs/how-to/mcp-servers.md", "rye mcp add docs", "9 tools"},
	{"docs/how-to/mcp-servers.md", "rye mcp add old", "9 tools"},
	{"docs/how-to/mcp.md", "rye serve --http", "serving http://127.0.0.1:"},
	{"docs/how-to/releasing.md", "rye bundle publisher", "valid"},
	{"docs/how-to/releasing.md", "rye bundle revoke", "revoked tools 1.0.0"},
	{"docs/tutorials/first-agent.md", "rye setup", "qwen3:8b answered in"},
	{"docs/tutorials/first-agent.md", "rye -q run directive", "rye threads resume "},
}

// weekNotRun are the blocks of the pages with command lines that are not typed, by a text of
// the block, with the reason.
var weekNotRun = []struct{ file, text, why string }{
	{"docs/how-to/ci.md", "python3 -m venv", "packages from the network: the scripts run_venv_ask and run_deps"},
	{"docs/how-to/testing-agents.md", "FAILED  test:team/triage", "after a change of the directive: the script test_replay"},
	{"docs/how-to/skills.md", "rye add github.com/acme/skills", "a repository of the internet: the script adopt_add"},
	{"docs/how-to/registry.md", "$ rye registry add rye.acme.io", "a registry of the internet: the scripts registry_add and registry_tool"},
	{"docs/how-to/registry.md", "$ rye registry login rye.acme.io", "a registry of the internet: the scripts registry_login and registry_publish"},
	{"docs/how-to/gateway.md", "$ rye gateway serve", "a server: the script gateway_api"},
	{"docs/how-to/gateway.md", "$ rye gateway key new ci", "keys of a server: the script gateway_api"},
	{"docs/how-to/gateway.md", "$ curl -H", "requests to a server: the script gateway_api"},
	{"docs/how-to/registry-operating.md", "$ rye registry serve --data /srv/rye --public-url", "a server: the script registry_serve"},
	{"docs/how-to/registry-operating.md", "$ rye registry admin restore", "data of a server: the script registry_history"},
	{"docs/how-to/registry-operating.md", "--witness KEY=https://w1.example", "witnesses of the internet: the script registry_witness"},
	{"docs/how-to/thread-examples.md", "git clone https://github.com/ryeos/rye", "the page is run in this checkout, with an installed model-server"},
	{"docs/how-to/testing-agents.md", "$ rye test --model anthropic-model", "a service with a key, and a model that fails: the script test_models"},
}

// A weekAnswer is typed when a question ends with the prompt.
type weekAnswer struct {
	file, prompt, typed string
}

var weekAnswers = []weekAnswer{
	{"", "New passphrase: ", "correct horse"},
	{"", "Again: ", "correct horse"},
	{"", "Passphrase of key", "correct horse"},
	{"README.md", "Choose, s skips [1]: ", "1"},
	{"docs/how-to/models.md", "Choose, s skips [1]: ", "1"},
	{"docs/tutorials/first-agent.md", "Choose, s skips [1]: ", "1"},
	{"docs/tutorials/first-agent.md", `Passphrase for your new key "bob", Enter for none: `, ""},
	{"", "Model, its name or number", ""},
	{"", "First question, s skips", ""},
	{"README.md", "Trust this key for kinds bundle, tool of gh/**, tools? [y/N/e(dit)] ", "y"},
	{"README.md", "Add it and sign an item for each tool? [y/N] ", "y"},
	{"docs/how-to/mcp-servers.md", "Add it and sign an item for each tool? [y/N] ", "y"},
	{"docs/how-to/mcp-servers.md", "Accept and sign these changes? [y/N] ", ""},
	{"docs/how-to/mcp.md", "serving http://", "\x03"},
	{"", "May this key endorse colleagues' keys? [y/N] ", ""},
}

// TestWeek follows the pages of the first week literally, at a pseudo-terminal and with a
// scripted model.
func TestWeek(t *testing.T) {
	if testing.Short() {
		t.Skip("follows ten pages")
	}
	for _, name := range []string{"git", "python3", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no ", name)
		}
	}
	model, servers := weekServices(t)
	long := os.Getenv("RYE_LONG") != ""
	var leo *weekShell
	for i := 0; i < len(weekPages); {
		name := weekPages[i].home
		sh := newWeekShell(t, name, leo, "OLLAMA_HOST_URL="+model, "SERVERS="+servers)
		var pages []weekPage
		for ; i < len(weekPages) && weekPages[i].home == name; i++ {
			if long || !weekPages[i].long {
				pages = append(pages, weekPages[i])
			}
		}
		follow := func(t *testing.T) {
			sh.t = t
			for _, p := range pages {
				sh.follow(p)
			}
		}
		if leo == nil { // the others need his repository
			leo = sh
			t.Run(name, follow)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			follow(t)
		})
	}
}

// weekShell is the shell of a person: what it exports and its directory last.
type weekShell struct {
	t               *testing.T
	home, dir, file string
	env             []string
}

func newWeekShell(t *testing.T, name string, leo *weekShell, env ...string) *weekShell {
	home, bundles := scratch(t), ""
	if leo != nil {
		bundles = "file://" + leo.home
	}
	none := "http://127.0.0.1:1"
	return &weekShell{t: t, home: home, dir: home, env: append(env,
		"HOME="+home, "USER="+name, "PATH="+os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC", "PAGER=cat",
		"GIT_CONFIG_NOSYSTEM=1", "BUNDLE="+bundles+"/tools", "TEST_VERSION=v0.4.1", "LLAMA_CPP_URL="+none, "VLLM_URL="+none, "LOCAL_LLM_URL="+none,
		"DOCS_TOKEN=a-token-of-a-server",
	)}
}

// follow runs the blocks of a page in order.
func (sh *weekShell) follow(p weekPage) {
	sh.t.Helper()
	sh.file = p.file
	for name, text := range p.files {
		(&page{t: sh.t, dir: sh.dir}).write(name, text)
	}
	b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(p.file)))
	if err != nil {
		sh.t.Fatal(err)
	}
	for _, block := range pageBlocks(string(b)) {
		if block.hidden && !p.hidden {
			continue
		}
		if slices.ContainsFunc(weekNotRun, func(n struct{ file, text, why string }) bool {
			return n.file == p.file && strings.Contains(block.body, n.text)
		}) {
			continue
		}
		if block.title != "" {
			(&page{t: sh.t, dir: sh.dir}).write(block.title, block.body)
			continue
		}
		for _, c := range block.commands() {
			sh.run(c)
		}
	}
}

// run types a command line and demands its exit status.
func (sh *weekShell) run(c pageCommand) {
	sh.t.Helper()
	line := c.line
	for _, s := range weekSubstitutions {
		if s.file == sh.file {
			line = strings.ReplaceAll(line, s.page, s.typed)
		}
	}
	for _, s := range weekStatuses {
		if s.file == sh.file && s.command == c.line {
			c.status = s.status
		}
	}
	out, status := sh.typed(line)
	sh.t.Logf("%s:%d: %s\n%s", sh.file, c.at, line, out)
	if status != c.status {
		sh.t.Fatalf("%s:%d: %s\nthe exit status is %d, not %d\n%s", sh.file, c.at, line, status, c.status, out)
	}
	for _, s := range weekShown {
		if s.file == sh.file && strings.HasPrefix(c.line, s.command) && !strings.Contains(ansi.ReplaceAllString(out, ""), s.text) {
			sh.t.Errorf("%s:%d: %s\ndoes not show %q\n%s", sh.file, c.at, line, s.text, out)
		}
	}
}

// typed runs a line of a shell at a terminal and answers its questions.
func (sh *weekShell) typed(line string) (string, int) {
	sh.t.Helper()
	master, tty, err := testkit.OpenPTY()
	if err != nil {
		sh.t.Skip("no pseudo-terminal: ", err)
	}
	if err := testkit.Resize(tty, 100, 40); err != nil {
		sh.t.Fatal(err)
	}
	state := filepath.Join(sh.home, ".state")
	script := "test ! -e " + state + " || . " + state + "\n" + line + "\nstatus=$?\n{ export -p; echo \"cd '$PWD'\"; } >" + state + "\nexit $status\n"
	x := &terminal{t: sh.t, master: master, tty: tty, cmd: exec.Command("bash", "-c", script)}
	x.cmd.Dir, x.cmd.Env = sh.home, sh.env
	x.start()
	tty.Close()
	b, answered := make([]byte, 64<<10), 0
	for {
		if err := master.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			sh.t.Fatal(err)
		}
		n, err := master.Read(b)
		x.out.Write(b[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			sh.t.Fatalf("%s: it waits for an answer:\n%s", line, x.out.String()[answered:])
		case err != nil: // the program has closed the terminal
			status := x.status()
			if dir, err := os.ReadFile(state); err == nil {
				_, last, _ := strings.Cut(string(dir[strings.LastIndex(string(dir), "\ncd '"):]), "'")
				sh.dir = strings.TrimSuffix(last, "'\n")
			}
			return x.out.String(), status
		}
		shown := ansi.ReplaceAllString(x.out.String()[answered:], "")
		for _, a := range weekAnswers {
			if (a.file == "" || a.file == sh.file) && strings.Contains(shown, a.prompt) {
				answered = x.out.Len()
				x.send(a.typed + "\n")
				break
			}
		}
	}
}

// ansi matches what changes colours and the cursor.
var ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]|\x1b[78]|\r`)

// A pageCommand is a command line of a block, with the exit status that the page shows.
type pageCommand struct {
	at     int
	line   string
	status int
}

// commands returns the command lines of a block: each line of sh, and each one after "$ ".
func (b pageBlock) commands() (out []pageCommand) {
	more := false
	for i, line := range strings.Split(strings.TrimSuffix(b.body, "\n"), "\n") {
		command, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case more:
			out[len(out)-1].line += "\n" + line
		case b.info == "sh" || prompt && (b.info == "console" || b.info == "text"):
			out = append(out, pageCommand{at: b.at + i, line: command})
		case b.info == "console" && len(out) > 0:
			_, _ = fmt.Sscanf(line, "(exit status %d)", &out[len(out)-1].status)
		}
		more = len(out) > 0 && (b.info == "sh" || prompt || more) && strings.HasSuffix(line, "\\")
	}
	return out
}

// notTyped reports whether weekNotRun has a block.
func notTyped(file string, b pageBlock) bool {
	return slices.ContainsFunc(weekNotRun, func(n struct{ file, text, why string }) bool {
		return n.file == file && strings.Contains(b.body, n.text)
	})
}

// TestWeekTables: each block of a page with commands is run by a test or has a reason, and each
// row of the tables above is used.
func TestWeekTables(t *testing.T) {
	used := map[string]bool{}
	blocks := 0
	for _, path := range docPages(t) {
		rel, _ := filepath.Rel(filepath.Join("..", ".."), path)
		file := filepath.ToSlash(rel)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		followed := slices.ContainsFunc(weekPages, func(p weekPage) bool { return p.file == file })
		always := slices.ContainsFunc(weekPages, func(p weekPage) bool { return p.file == file && !p.long })
		for _, b := range pageBlocks(string(text)) {
			commands := b.commands()
			if b.title != "" || b.hidden || len(commands) == 0 {
				continue
			}
			blocks++
			listed := notTyped(file, b)
			if b.info != "console" && !always && !listed && !strings.HasPrefix(file, "docs/reference/") { // a reference shows excerpts
				t.Errorf("%s:%d: no test runs this block, and weekNotRun has no reason:\n%s", file, b.at, b.body)
			}
			for _, n := range weekNotRun {
				used[n.file+n.text] = used[n.file+n.text] || n.file == file && strings.Contains(b.body, n.text)
			}
			if !followed || listed {
				continue
			}
			for _, c := range commands {
				for _, s := range weekSubstitutions {
					used[s.file+s.page] = used[s.file+s.page] || s.file == file && strings.Contains(c.line, s.page)
				}
				for _, s := range weekShown {
					used[s.file+s.command] = used[s.file+s.command] || s.file == file && strings.HasPrefix(c.line, s.command)
				}
				for _, s := range weekStatuses {
					used[s.file+s.command] = used[s.file+s.command] || s.file == file && s.command == c.line
				}
			}
		}
	}
	if blocks < 80 {
		t.Errorf("only %d blocks have commands", blocks)
	}
	unused := func(file, key string) {
		if !used[file+key] {
			t.Errorf("%s has no %q; remove its row", file, key)
		}
	}
	for _, s := range weekSubstitutions {
		unused(s.file, s.page)
	}
	for _, s := range weekShown {
		unused(s.file, s.command)
	}
	for _, s := range weekStatuses {
		unused(s.file, s.command)
	}
	for _, n := range weekNotRun {
		unused(n.file, n.text)
	}
}
