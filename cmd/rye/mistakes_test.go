package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A mistake is a file of testdata/mistakes/*.txtar: what a newcomer types, what it prints, and
// that its hint leads on. Its lines are
//
//	set: LINE          prepare: sh runs it, and it must succeed
//	$ LINE             the mistake, run by sh
//	type: TEXT         an answer that is typed at a terminal, in order (Linux only)
//	exit: N            its exit status
//	out: TEXT          a text of its output
//	with: WORD=VALUE   what a person writes for a WORD of the hinted command
//	in: DIRECTORY      where the hinted command is run, if it is not the project
//	second: yes        the hint names two commands, both of which are run
//	do: LINE           what a person does if no hint has a command
//	hint: N            the exit status of the hinted command, if it is not 0
//	then: LINE         what succeeds after the hint, if it is not the mistake itself; - for nothing
//	page: NAME         a page of the first week that has its command
//	question: NAME     the question at which it is made
//	kept: LINE         what succeeds at once after the mistake: nothing was decided, and nothing lost
//
// A typed $MODEL is the address of the model, and ^D the end of the input. The comment of a file
// has the pages of all its mistakes.
// The test runs the first command that the hint names literally, then the mistake again.
type mistake struct {
	name               string
	set, out           []string
	typed, with        []string
	pages              []string
	question           string
	line, do, then, in string
	kept               string
	second             bool
	exit, hint         int
	env                []string
}

func TestMistakes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the lines are for sh")
	}
	for _, name := range []string{"git", "sh"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no ", name)
		}
	}
	model, servers := weekServices(t)
	home := mistakeHome(t)
	perVerb := mistakesPerVerb()
	total := 0
	for verb, all := range mistakes(t) {
		if len(all) < 3 {
			t.Errorf("%s has only %d mistakes", verb, len(all))
		}
		total += len(all)
		for i, m := range all {
			if i == perVerb {
				break
			}
			t.Run(verb+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				m.run(t, home, "MODEL="+model, "SERVERS="+servers)
			})
		}
	}
	if total < 100 {
		t.Errorf("there are only %d mistakes", total)
	}
}

// mistakesPerVerb is the number of mistakes that run of each file. .ci/run makes all of them;
// each takes a seventh of a second of processor time.
func mistakesPerVerb() int {
	switch {
	case testing.Short():
		return 1
	case os.Getenv("RYE_LONG") == "":
		return 2
	}
	return math.MaxInt
}

// mistakes returns the mistakes by the name of their file.
func mistakes(t *testing.T) map[string][]*mistake {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "mistakes", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]*mistake{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		verb := strings.TrimSuffix(filepath.Base(file), ".txtar")
		var ofAll []string
		for line := range strings.Lines(string(a.Comment)) {
			page, ok := strings.CutPrefix(strings.TrimSpace(line), "page: ")
			if !ok {
				t.Fatalf("%s: the line %q is not a page", file, line)
			}
			ofAll = append(ofAll, page)
		}
		for _, f := range a.Files {
			m, err := readMistake(f)
			if err != nil {
				t.Fatalf("%s: %s: %v", file, f.Name, err)
			}
			m.pages = append(m.pages, ofAll...)
			out[verb] = append(out[verb], m)
		}
	}
	return out
}

func readMistake(f txtar.File) (*mistake, error) {
	m := &mistake{name: f.Name, exit: -1}
	for line := range strings.Lines(string(f.Data)) {
		line = strings.TrimRight(line, "\n")
		key, value, _ := strings.Cut(line, " ")
		var err error
		switch key {
		case "", "#":
		case "set:":
			m.set = append(m.set, value)
		case "$":
			m.line = value
		case "type:":
			m.typed = append(m.typed, value)
		case "exit:":
			m.exit, err = strconv.Atoi(value)
		case "out:":
			m.out = append(m.out, value)
		case "with:":
			m.with = append(m.with, value)
		case "do:":
			m.do = value
		case "hint:":
			m.hint, err = strconv.Atoi(value)
		case "in:":
			m.in = value
		case "second:":
			m.second = true
		case "then:":
			m.then = value
		case "page:":
			m.pages = append(m.pages, value)
		case "question:":
			m.question = value
		case "kept:":
			m.kept = value
		default:
			err = fmt.Errorf("the line %q has no known key", line)
		}
		if err != nil {
			return nil, err
		}
	}
	if (m.question != "") != (m.kept != "") || m.question != "" && len(m.typed) == 0 {
		return nil, fmt.Errorf("a mistake at a question needs the lines question:, type: and kept:")
	}
	if m.line == "" || m.exit < 0 || len(m.out) == 0 {
		return nil, fmt.Errorf("it needs the lines $, exit: and out:")
	}
	return m, nil
}

// mistakeHome makes the home that each mistake has a copy of: a key, and the project hello in
// git with a tool and a directive.
func mistakeHome(t *testing.T) string {
	t.Helper()
	home := scratch(t)
	const script = `git config --global user.name Ada && git config --global user.email ada@example.test && git config --global init.defaultBranch main
rye key new --owner ada --no-passphrase && rye init hello && cd hello && git init -q && rye new tool demo/hello --lang bash && rye new directive demo/triage
git add -A && git commit -qm first`
	if out, status := (&mistake{}).shell(t, home, home, script); status != 0 {
		t.Fatal(out)
	}
	return home
}

// shell runs lines of a shell and returns their output.
func (m *mistake) shell(t *testing.T, home, dir, script string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	return m.output(t, cmd, home, dir)
}

func (m *mistake) output(t *testing.T, cmd *exec.Cmd, home, dir string) (string, int) {
	t.Helper()
	none := "http://127.0.0.1:1"
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + home, "USER=ada", "LANG=C.UTF-8", "TZ=UTC", "NO_COLOR=1", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH"),
		"TEST_VERSION=v0.4.1", "OLLAMA_HOST_URL=" + none, "LLAMA_CPP_URL=" + none, "VLLM_URL=" + none, "LOCAL_LLM_URL=" + none}, m.env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), home, "~"), cmd.ProcessState.ExitCode()
}

var (
	mistakeHint    = regexp.MustCompile(`(?m)^rye: hint: (.*)$`)
	mistakeMeant   = regexp.MustCompile(`did you mean (.*?)\?( |$)`)
	mistakeCommand = regexp.MustCompile("`((?:rye|git|chmod) [^`]+)`")
)

// hintedCommand returns the first command of the hints of an output, and what they ask whether
// it was meant.
func hintedCommand(out string, second bool) (command, meant string) {
	for _, h := range mistakeHint.FindAllStringSubmatch(out, -1) {
		hint := h[1]
		if strings.HasPrefix(hint, "usage: ") {
			continue // it has placeholders
		}
		if m := mistakeMeant.FindStringSubmatch(hint); m != nil {
			return "", strings.Trim(m[1], `"`)
		}
		if all := mistakeCommand.FindAllStringSubmatch(hint, -1); len(all) > 1 && second {
			return all[0][1] + " && " + all[1][1], ""
		} else if len(all) > 0 {
			return all[0][1], ""
		}
		if i := strings.Index(hint+" ", "rye "); i == 0 || i > 0 && strings.HasSuffix(hint[:i], ": ") {
			words := strings.Fields(hint[i:])
			quoted := false
			end := slices.IndexFunc(words, func(w string) bool {
				prosaic := !quoted && (slices.Contains(prose(), w) || strings.HasPrefix(w, "("))
				quoted = quoted != ((strings.Count(w, `"`)+strings.Count(w, "'"))%2 == 1)
				return prosaic
			})
			if end > 0 {
				words = words[:end]
			}
			return strings.Trim(strings.Join(words, " "), ";,:"), ""
		}
	}
	return "", ""
}

func (m *mistake) run(t *testing.T, template string, env ...string) {
	m.env = env
	home := t.TempDir()
	if b, err := exec.Command("cp", "-a", template+"/.", home).CombinedOutput(); err != nil { // with the modes of the files
		t.Fatal(err, string(b))
	}
	dir := filepath.Join(home, "hello")
	for _, line := range m.set {
		if out, status := m.shell(t, home, dir, line); status != 0 {
			t.Fatalf("%s: the exit status is %d\n%s", line, status, out)
		}
	}
	out, status := m.made(t, home, dir)
	t.Logf("$ %s\n%s(%d)", m.line, out, status)
	if status != m.exit {
		t.Errorf("the exit status is %d, not %d", status, m.exit)
	}
	for _, text := range m.out {
		if !strings.Contains(out, text) {
			t.Errorf("the output has no %q", text)
		}
	}
	if m.question != "" {
		if !strings.Contains(out, mistakeQuestions[m.question]) {
			t.Errorf("the output has no question %q", mistakeQuestions[m.question])
		}
		if got, status := m.shell(t, home, dir, m.kept); status != 0 {
			t.Errorf("%s: the exit status is %d\n%s", m.kept, status, got)
		}
	}
	m.leadsOn(t, home, dir, out)
}

// leadsOn does what the hints of an output name, and then what has failed.
func (m *mistake) leadsOn(t *testing.T, home, dir, out string) {
	t.Helper()
	next, meant := hintedCommand(out, m.second)
	word := meant
	if kind, id, isRef := strings.Cut(meant, ":"); isRef && !strings.Contains(kind, " ") && !strings.HasPrefix(id, "//") {
		word = id
	}
	switch {
	case meant != "" && !strings.Contains(m.then, word):
		t.Fatalf("the hint asks for %q, and then: does not use it", meant)
	case next != "" && m.do != "":
		t.Fatalf("the hint names %q, so that do: is not used", next)
	case next == "" && m.do == "" && m.then == "":
		t.Fatal("no hint names a command: do: and then: have what the message leads to")
	case next == "":
		next = m.do
	}
	next = strings.ReplaceAll(next, "://~", "://"+home)
	for _, w := range m.with {
		word, value, _ := strings.Cut(w, "=")
		if !strings.Contains(next, word) {
			t.Fatalf("the hint %q has no word %s", next, word)
		}
		next = strings.ReplaceAll(next, word, value)
	}
	if m.in != "" {
		next = "cd " + m.in + " && " + next
	}
	if next != "" {
		got, status := m.shell(t, home, dir, next)
		t.Logf("next: %s\n%s(%d)", next, got, status)
		if status != m.hint {
			t.Errorf("%s: the exit status is %d, not %d", next, status, m.hint)
		}
	}
	then := m.then
	switch then {
	case "-":
		return
	case "":
		then = m.line
	}
	got, status := m.shell(t, home, dir, then)
	t.Logf("then: %s\n%s(%d)", then, got, status)
	if status != 0 {
		t.Errorf("%s: the exit status after the hint is %d", then, status)
	}
}

// made makes the mistake, at a terminal if something is typed.
func (m *mistake) made(t *testing.T, home, dir string) (string, int) {
	t.Helper()
	if len(m.typed) == 0 {
		return m.shell(t, home, dir, m.line)
	}
	if runtime.GOOS != "linux" {
		t.Skip("terminals of tests are Linux only")
	}
	answers := filepath.Join(t.TempDir(), "answers")
	if err := os.WriteFile(answers, []byte(m.answers()), 0o600); err != nil {
		t.Fatal(err)
	}
	return m.output(t, exec.CommandContext(t.Context(), "typist", answers, "sh", "-c", m.line), home, dir)
}

// answers returns the typed text. The end of the input has no end of a line.
func (m *mistake) answers() string {
	var b strings.Builder
	for _, typed := range m.typed {
		if typed == "^D" {
			break // typist types it after the last line
		}
		for _, v := range m.env {
			name, value, _ := strings.Cut(v, "=")
			typed = strings.ReplaceAll(typed, "$"+name, value)
		}
		b.WriteString(typed + "\n")
	}
	return b.String()
}
