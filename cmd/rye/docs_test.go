package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/tour"
)

// The pages of the documentation are programs: their blocks run in order, in
// one scratch home for each page.
//
//	```console                  lines that begin with "$ " are run by sh, the
//	                            lines below are what they print
//	```python title="a/b.py"    a file, written when the block is reached
//
// A page begins with <!-- needs: python3 --> when it uses programs that not
// every machine has.

// pageHome is what the scratch home is called in the pages.
const pageHome = "/home/ada"

// pageProgram is what the path of the program is called in the pages.
const pageProgram = "/usr/local/bin/rye"

// page runs the blocks of one page.
type page struct {
	t    *testing.T
	home string // scratch folder
	dir  string // where the next command runs
	out  strings.Builder
}

func docPages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "docs/*/*/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	return pages
}

func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command of the documentation")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the pages show a Unix shell")
	}
	ran := 0
	for _, file := range docPages(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("\n```console\n")) {
			continue
		}
		ran++
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			needs(t, string(text))
			runPage(t, file, string(text))
		})
	}
	if ran < 6 {
		t.Errorf("only %d pages show commands", ran)
	}
}

// TestReadmeFirstCommands (first-use M9): a reader who copies from the top gets a tool
// that runs. The commands are visible, in this order, and after the installation.
func TestReadmeFirstCommands(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	visible := regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(string(b), "")
	if install, first := strings.Index(visible, "## Install"), strings.Index(visible, "\n$ "); install < 0 || install > first {
		t.Error("the installation is not before the first command")
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\$ (rye \w+( \w+)?)`).FindAllStringSubmatch(visible, 4) {
		got = append(got, m[1])
	}
	if want := []string{"rye key new", "rye init hello", "rye new tool", "rye run tool"}; !slices.Equal(got, want) {
		t.Errorf("the first commands are %q, want %q", got, want)
	}
	if bent := regexp.MustCompile(`(?m)^\$ rye .*\| *(sed|cut|grep|awk)`).FindString(visible); bent != "" {
		t.Errorf("an example is changed for the test: %s", bent)
	}
}

// needs skips a page for which this machine lacks a program.
func needs(t *testing.T, text string) {
	first, _, _ := strings.Cut(text, "\n")
	list, ok := strings.CutPrefix(first, "<!-- needs: ")
	for _, name := range strings.Fields(strings.TrimSuffix(list, " -->")) {
		if _, err := exec.LookPath(name); ok && err != nil {
			t.Skipf("this machine has no %s", name)
		}
	}
}

func runPage(t *testing.T, file, text string) {
	p := &page{t: t, home: scratch(t)}
	p.dir = p.home
	if strings.Contains(text, " ~/rye/") { // the checkout that the page has the reader make
		root, err := filepath.Abs(filepath.Join("..", ".."))
		if err == nil {
			err = os.Symlink(root, filepath.Join(p.home, "rye"))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if !t.Failed() {
				return // the page ended its service
			}
			b, err := os.ReadFile(filepath.Join(p.home, "server.pid"))
			if pid, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil && pid > 1 {
				if running, err := os.FindProcess(pid); err == nil {
					_ = running.Kill()
				}
			}
		})
	}
	rest := text
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		p.out.WriteString(line + "\n")
		rest = after
		info := strings.TrimLeft(line, "`")
		fence := line[:len(line)-len(info)]
		if len(fence) < 3 {
			continue
		}
		block, after, closed := strings.Cut("\n"+rest, "\n"+fence+"\n")
		if !closed {
			t.Fatalf("the block %q is not closed", line)
		}
		block = strings.TrimPrefix(block+"\n", "\n")
		p.out.WriteString(p.block(info, block) + fence + "\n")
		rest = after
	}
	p.compare(file, text)
}

// compare demands that the page says what happened, or rewrites it: as a whole,
// so that one page tells of one key, and only when it differs in more than
// what differs from run to run.
func (p *page) compare(file, text string) {
	got := p.out.String()
	if stable(text) == stable(got) {
		return
	}
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	a, b := strings.Split(stable(text), "\n"), strings.Split(stable(got), "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	p.t.Errorf("line %d differs; RYE_UPDATE_GOLDEN=1 go test ./cmd/rye writes what happens\n page: %q\n  now: %q",
		i+1, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
}

// stable replaces what differs from run to run.
func stable(text string) string {
	text = regexp.MustCompile(`"duration_ms": \d+`).ReplaceAllString(text, `"duration_ms": 0`)
	text = regexp.MustCompile(`\b[0-9a-f]{8}( [0-9a-f]{8}){7}\b`).ReplaceAllString(text, "<fingerprint>")
	text = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`).ReplaceAllString(text, "<hex>")
	text = regexp.MustCompile(`-01[0-9a-hjkmnp-tv-z]{24}\b`).ReplaceAllString(text, "-<ulid>") // of a run
	text = regexp.MustCompile(`(?m)^(\S+-<ulid>) \d+ running$`).ReplaceAllString(text, "$1 <pid> running")
	text = regexp.MustCompile(`(?m)^(\[.* ok) (\d+\.\ds|\d+ ms)$`).ReplaceAllString(text, "$1") // the time of a node
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d(T[0-9:]+(\.\d+)?Z)?`).ReplaceAllString(text, "<date>")
	text = regexp.MustCompile(`(?m)^\d+  `).ReplaceAllString(text, "<n>  ")                   // of threads that started at the same time
	text = regexp.MustCompile(`(?m) (AGE|\d+ (s|min))  +`).ReplaceAllString(text, " <age>  ") // in a column
	text = regexp.MustCompile(`[A-Za-z0-9+/]{86}`).ReplaceAllString(text, "<signature>")
	text = regexp.MustCompile(`h1:[A-Za-z0-9+/]{43}=`).ReplaceAllString(text, "<tree hash>")
	return regexp.MustCompile(`"[A-Za-z0-9+/]{43}="`).ReplaceAllString(text, "<public key>")
}

// block does what a block says and returns what it should say.
func (p *page) block(info, body string) string {
	if _, title, isFile := strings.Cut(info, ` title="`); isFile {
		p.write(strings.TrimSuffix(title, `"`), body)
	}
	if info != "console" {
		return body
	}
	var out strings.Builder
	for line := range strings.Lines(body) {
		if words, ok := strings.CutPrefix(line, "$ "); ok {
			out.WriteString(line + p.run(strings.TrimSpace(words)))
		}
	}
	return out.String()
}

func (p *page) write(name, body string) {
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// run runs one line and returns what a terminal would show, and the exit
// status when it is not 0.
func (p *page) run(line string) string {
	if dir, ok := strings.CutPrefix(line, "cd "); ok {
		p.dir = filepath.Join(p.dir, dir)
		return ""
	}
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = p.dir, p.env()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	text := strings.ReplaceAll(string(out), p.home, pageHome)
	if rye, err := exec.LookPath("rye"); err == nil {
		text = strings.ReplaceAll(text, rye, pageProgram)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	switch code := cmd.ProcessState.ExitCode(); code {
	case 0:
	case cli.ExitStatus(diag.Internal):
		p.t.Fatalf("%s: a bug is not documented\n%s", line, text)
	default:
		text += "(exit status " + cli.Itoa(code) + ")\n"
	}
	return text
}

// env is a home of its own with a passphrase in a file: the process has no
// terminal to type one.
func (p *page) env() []string {
	env := []string{
		"HOME=" + p.home, "USER=ada", "RYE_PASSPHRASE_FILE=" + filepath.Join(p.home, ".passphrase"),
		"LANG=C.UTF-8", "TZ=UTC", "NO_COLOR=1", "GIT_CONFIG_NOSYSTEM=1", "TEST_VERSION=v0.4.1",
	}
	for _, name := range []string{"PATH", "TMPDIR"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}

// scratch returns an empty home, under the name that the system itself uses.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("", "rye-docs-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".passphrase"), []byte("correct horse\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tour.RemoveAll(dir) })
	return dir
}

// Every relative link of the documentation leads to a file.
func TestDocumentedLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	pages := docPages(t)
	for _, name := range []string{"CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		pages = append(pages, filepath.Join("..", "..", name))
	}
	seen := 0
	for _, file := range pages {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: the link %s leads nowhere", file, m[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d links were found", seen)
	}
}

// The script runs exactly the file of the example.
func TestExampleDirectiveIsTested(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", "run_example_directive.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("..", "..", "examples", "directives", "repository_summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(script, append([]byte("-- .ai/directives/examples/repository_summary.md --\n"), b...)) {
		t.Error("run_example_directive.txtar does not contain the text of the example")
	}
}

// The page runs the files of the example threads, shows three of them as they are, and hides
// nothing that a reader needs for the scripted service.
func TestExampleThreadsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "thread-examples.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"repository_review.md", "history.md", "recent_commits.sh"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "examples", "threads", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(page, append([]byte("/"+name+"\"\n"), b...)) {
			t.Errorf("docs/how-to/thread-examples.md does not show the text of %s", name)
		}
	}
	if n := bytes.Count(page, []byte("title=\".ai/")); n != 3 {
		t.Errorf("the page shows %d items, and this test compares 3", n)
	}
	if hidden := regexp.MustCompile(`(?s)<!--.*?-->`).FindAllString(string(page), -1); strings.Contains(strings.Join(hidden, ""), "model-server") {
		t.Error("a reader does not see how the scripted service starts")
	}
}

// The page runs exactly the files of the examples.
func TestExampleGraphsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "graph-examples.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "graphs", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	files = append(files, filepath.Join("..", "..", "examples", "graphs", "git_tag.sh"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		language := strings.TrimPrefix(filepath.Ext(name), ".")
		if block := "```" + language + " title=\".ai/tools/examples/" + name + "\"\n" + string(b) + "```\n"; !bytes.Contains(page, []byte(block)) {
			t.Errorf("docs/how-to/graph-examples.md does not contain the text of %s", name)
		}
	}
}
