package policy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bashOf returns the path of bash, and skips the test if there is none.
func bashOf(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: its reading cannot be compared")
	}
	return path
}

// acceptedBy reports whether bash parses a text.
func acceptedBy(t testing.TB, bash, text string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-n")
	cmd.Stdin, cmd.Env = strings.NewReader(text), []string{"LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return err == nil && len(out) == 0
}

// comparisons returns how many texts are compared with bash: n, or RYE_SHELL_TEXTS.
func comparisons(t testing.TB, n int) int {
	if s := os.Getenv("RYE_SHELL_TEXTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// parsed reports whether the classifier reads the whole text.
func parsed(k *Risk, text string) bool {
	return !slices.ContainsFunc(k.Shell(text), func(d Danger) bool { return d.ID == unparsed || d.ID == foreign })
}

// TestShellParsesAsBash: bash accepts every text that the classifier parses: otherwise bash
// runs something else than what was read.
func TestShellParsesAsBash(t *testing.T) {
	if testing.Short() {
		t.Skip("starts bash for each text")
	}
	bash, k := bashOf(t), shippedRisk(t)
	var texts []string
	for _, c := range append(corpus(t, "harmless"), corpus(t, "dangerous")...) {
		texts = append(texts, c.command)
	}
	r := rand.New(rand.NewPCG(35, 7))
	for range len(texts) / 2 {
		texts = append(texts, mutated(r, texts[r.IntN(len(texts))]))
	}
	r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	for _, text := range texts[:min(len(texts), comparisons(t, 100))] {
		if strings.ContainsAny(text, "\x00\r") {
			continue
		}
		if parsed(k, text) && !acceptedBy(t, bash, text) {
			t.Errorf("the classifier parses %q, and bash does not", text)
		}
	}
}

// mutated returns a text with a part that is removed, doubled or inserted.
func mutated(r *rand.Rand, s string) string {
	at := r.IntN(len(s) + 1)
	end := min(len(s), at+r.IntN(4))
	parts := []string{"", s[at:end] + s[at:end], "(", ")", "{ ", "; }", "\"", "'", "`", "$(", "${", "|", "&", ";", "\n", "<<", "<<<", ">", "\\", "[[ ", " ]]", "((", "))", "!", "=", "#", " do ", " done ", "case ", " esac"}
	return s[:at] + parts[r.IntN(len(parts))] + s[end:]
}

// stubs are the programs that generated texts start. Each only records its name.
func stubs() []string {
	return []string{"p1", "p2", "p3", "p4", "sudo", "nohup", "setsid", "timeout", "nice", "stdbuf", "flock", "doas", "ionice"}
}

// recorder makes a directory with stubs that write their name to the file .log where they run
// and, if they are programs that start others, start them as those do.
func recorder(t *testing.T) (dir string) {
	dir = t.TempDir()
	for _, name := range stubs() {
		script := "#!/bin/sh\necho " + name + " >> .log\n"
		switch name {
		case "p1", "p2", "p3", "p4":
			script += "echo out\n"
		case "timeout": // -k and -s have a value; the duration is before the program
			script += "while :; do case $1 in -k|-s) shift 2;; -*) shift;; *) break;; esac; done; shift; exec \"$@\"\n"
		case "flock":
			script += "while :; do case $1 in -w|-E) shift 2;; -*) shift;; *) break;; esac; done; shift; [ \"$1\" = -c ] && exec sh -c \"$2\"; exec \"$@\"\n"
		case "sudo", "doas":
			script += "while :; do case $1 in -u|-g) shift 2;; -*) shift;; *=*) shift;; *) break;; esac; done; exec \"$@\"\n"
		case "nice", "ionice":
			script += "while :; do case $1 in -n|-c) shift 2;; -*) shift;; *) break;; esac; done; exec \"$@\"\n"
		case "stdbuf":
			script += "while :; do case $1 in -i|-o|-e) shift 2;; -*) shift;; *) break;; esac; done; exec \"$@\"\n"
		default:
			script += "while :; do case $1 in -*) shift;; *) break;; esac; done; exec \"$@\"\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "bash", "env", "xargs", "find", "cat", "true"} { // run for real
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// shellText generates texts of the shell whose programs are stubs.
type shellText struct{ r *rand.Rand }

func (g shellText) of(list ...string) string { return list[g.r.IntN(len(list))] }

func (g shellText) quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (g shellText) program() string {
	return g.of("p1", "p2", "p3", "p4", `"p1"`, `'p2'`, `p\3`, `$'\x70\x34'`, "p''1", "v=1 p2", "p${none}1", "${none:-p2}", "$v", `"$w"`, "{p1,a}", "p[1]", "p?")
}

func (g shellText) words() string {
	var out []string
	for range g.r.IntN(3) {
		out = append(out, g.of("a", "-x", "--", `"$v"`, "$w", "$(p3)", "`p4`", "<(p1)", "*.none", "{a,b}", "$((1+1))", `"${v:-$(p2)}"`, "'p1'", "n=$(p2)", "${v@P}", "$((i[0]))", "\\;", "'$(p1)'", "${#v}", "${!u}"))
	}
	return strings.Join(out, " ")
}

func (g shellText) simple(depth int) string {
	s := g.program() + " " + g.words()
	if depth <= 0 {
		return s
	}
	inner := g.text(depth - 1)
	return g.of(s, s, s,
		"sudo -u a "+s, "sudo k=1 "+s, "doas "+s, "nohup "+s, "setsid -w "+s, "timeout -k 1 5 "+s, "timeout 5 "+s, "nice -n 3 "+s, "ionice -c 2 "+s, "stdbuf -o L "+s, "flock f "+s, "flock f -c "+g.quote(inner),
		"env a=b "+s, "env -i PATH=\"$PATH\" "+s, "env -u v "+s, "command "+s, "command -p true; "+s, "exec -a n true; "+s, "time "+s, "builtin eval "+g.quote(inner),
		"bash -c "+g.quote(inner), "sh -c "+g.quote(g.program()), "eval "+g.quote(inner), "eval "+s, "trap "+g.quote(g.program())+" EXIT", ". /dev/stdin <<< "+g.quote(inner), "bash <<< "+g.quote(inner), "bash -s <<'E'\n"+inner+"\nE\n",
		"echo "+g.quote(g.program())+" | bash", "echo a | xargs "+s, "echo a | xargs -n 1 -I{} "+s, "echo a | xargs -I{} sh -c 'p2 {}'", "find . -maxdepth 0 -exec "+g.of("p1", "p2", "{}")+" {} \\;", "[[ -n $(p1) ]]", "[[ i -eq 0 ]]", "((i[$(p2)0]))", "let 'i[$(p3)0]=1'", "u='i[$(p4)0]'; : $((u))", "u='i[$(p1)0]'; : ${!u}", "u='$(p2)'; : ${u@P}",
		"f() { "+inner+"; }; f", "f() { \"$@\"; }; f p3", "f() { sh; }; f <<< p1", "alias a="+g.quote(g.program()), "coproc "+s, "cat <<E\n$(p1)\nE\n", "cat <<'E'\n$(p1)\nE\n", "PS4='$(p2)' bash -xc true", "BASH_ENV=/dev/null bash -c "+g.quote(g.program()), "BASH_ENV=/dev/stdin bash -c true <<< p1", "v=p1; $v", "v=(p1 a); \"${v[@]}\"", "set -- p1; $1", "read v <<< p2; $v", "mapfile -C p3 -c 1 v <<< a", "printf -v v p4; $v", "declare -n r=v; r=p1; $v", "test -v 'i[$(p1)0]'", "unset 'i[$(p2)0]'", "hash -p /bin/true p1; p1", "p1() { p2; }; p1")
}

func (g shellText) text(depth int) string {
	s := g.simple(depth)
	if depth <= 0 {
		return s
	}
	other := g.text(depth - 1)
	return g.of(s, s, s+"; "+other, s+" && "+other, s+" || "+other, s+" | "+other, "( "+s+" )", "{ "+s+"\n}", "! "+s, "if "+s+"; then "+other+"; fi", "for v in a p1; do "+s+"; done", "case a in a) "+s+";; esac", "while "+s+"; do break; done", s+" > /dev/null", s+" 2>&1", "until true; do "+s+"; done", s+" & wait", "v=$("+s+")")
}

// TestShellNamesPrograms: of a text that needs no question, every program that bash starts is
// one that the classifier named.
func TestShellNamesPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("starts bash for each text")
	}
	bash, k := bashOf(t), shippedRisk(t)
	dir := recorder(t)
	g := shellText{rand.New(rand.NewPCG(35, 9))}
	compared, started := 0, 0
	for compared < comparisons(t, 50) {
		text := g.text(2)
		if len(k.Shell(text)) > 0 {
			continue
		}
		compared++
		named := map[string]bool{}
		for _, c := range k.table.scan(text).commands {
			named[c.name()] = true
		}
		ran := running(t, bash, dir, text)
		started += len(ran)
		for _, name := range ran {
			if !named[name] {
				t.Errorf("bash starts %s, which the classifier did not name, in %q: %v", name, text, named)
			}
		}
	}
	if started < compared/2 {
		t.Errorf("only %d texts were compared, which started %d programs", compared, started)
	}
	t.Logf("%d texts, %d programs", compared, started)
}

// running returns the stubs that a text starts.
func running(t *testing.T, bash, dir, text string) []string {
	work := t.TempDir() // of this text: one that is still running cannot write to the next
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", text)
	cmd.Dir, cmd.Env = work, []string{"PATH=" + dir, "LC_ALL=C", "HOME=" + work}
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	b, err := os.ReadFile(filepath.Join(work, ".log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(fmt.Errorf("%w: %s", err, out))
	}
	return strings.Fields(string(b))
}
