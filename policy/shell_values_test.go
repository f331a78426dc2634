package policy

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/tmpl"
)

// hostileValues are values that leave their position if the shell reads them as text. Each that
// runs something makes the file pwned.
func hostileValues() []string {
	return []string{
		"plain", "", " ", "two words", "-n", "--", "-v", "-e", "--eval=$(shell touch pwned)", "a'b", `a"b`, "''", `\`, `\'`, `'\''`, `a\`, "*", "?[a-z]*", "~", "~root", "{a,b}", "#x", "!x", "a=b",
		"$(touch pwned)", "`touch pwned`", "${x:-$(touch pwned)}", "$HOME", "; touch pwned;", "\n touch pwned\n", "& touch pwned &", "| touch pwned", ") touch pwned (", "'; touch pwned; '", `"; touch pwned; "`,
		"a[$(touch pwned)]", "a[`touch pwned`]", "x;touch pwned", "E\ntouch pwned\nE", "'$(touch pwned)'", `"$(touch pwned)"`, "\\\n", "\t", "\r\n", "ünïcödé ☃ 𝄞", "\u202e\u200b", "\x7f\x01", strings.Repeat("long ", 12_000),
		"}; touch pwned; {", ";; esac; touch pwned", "]] ; touch pwned", ")) ; touch pwned", "<(touch pwned)", "> pwned", "%s%n", "0x10", "08", "1e9", "x=$(touch pwned)", "PATH", "\\$(touch pwned)", "\\`touch pwned\\`",
	}
}

// plainPositions are texts with one value, which prints its arguments by the function p.
func plainPositions() []string {
	return []string{
		"p @", "p x@y", "p --o=@", "p a @ b", "p\t@", "p @;p z >/dev/null", "true && p @", "false || p @", "! false; p @", "{ p @; }", "( p @ )", "if true; then p @; fi", "while p @; do break; done",
		"x=@; p \"$x\"", "x=a@b; p \"$x\"", "export x=@; p \"$x\"", "f() { local x=@; p \"$x\"; }; f", "f() { p \"$1\"; }; f @", "for i in @; do p \"$i\"; done", "set -- @; p \"$1\"", "x=(a @ b); p \"${x[1]}\"",
		"cat <<< @ >/dev/null; p @", "case @ in *) p @;; esac", "[[ @ == @ ]] && p @", "test x = @ || p @", "p @ | cat", "p @ 2>&1", "sh -c 'printf \"%s\\0\" \"$1\"' _ @", "x=@ p @", "x=@; p <<E \"$x\"\n$x\nE", "p \\\n@", "p $'a'@",
		"x=@; p \"$(printf '%s' \"$x\"; printf .)\" >/dev/null; p \"$x\"", "time p @", "case b in @) ;; *) p @;; esac", "x=@\ncat <<E >/dev/null\n$x `echo \"$x\"`\nE\np \"$x\"", "{ p @; } 2>/dev/null",
	}
}

// programPositions are texts that make a part of a program of the value.
func programPositions() map[string]string {
	return map[string]string{
		`p "@"`: "inside double quotes", `p "title: @"`: "inside double quotes", "p '@'": "inside single quotes", "p 'a @ b'": "inside single quotes", "p $'@'": "inside single quotes", `p $"@"`: "inside double quotes",
		"cat <<E\n@\nE\n": "in a here-document", "cat <<'E'\n@\nE\n": "in a here-document", "cat <<-E\n\t@\n\tE\n": "in a here-document", "cat <<E | p\n\"@\"\nE\n": "in a here-document",
		"p $((@))": "in arithmetic", "p $((1 + @))": "in arithmetic", "((x = @))": "in arithmetic", "let x=@": "in arithmetic", "for ((i = @; i < 1; i++)); do :; done": "in arithmetic", "[[ @ -eq 1 ]]": "in arithmetic",
		"x[@]=1": "in a subscript", "x=([@]=1)": "in a subscript", "p ${x[@]}": "in the expansion of a variable", "p ${x:-@}": "in the expansion of a variable", "p ${x#@}": "in the expansion of a variable", `p "${x:=@}"`: "in the expansion of a variable",
		"p $(p @)": "in a command substitution", `p "$(p @)"`: "in a command substitution", "p `p @`": "in backticks", "cat <(p @)": "in a process substitution",
		"eval @": "as an argument that eval runs", "eval p @": "as an argument that eval runs", "command eval @": "as an argument that eval runs", "builtin eval p @": "as an argument that eval runs", `\eval @`: "as an argument that eval runs",
		"sh -c @": "in the text of a shell", "bash -ec @": "in the text of a shell", "sh @": "in an option of a shell", "bash <<< @": "in the input of a shell", "echo @ | sh": "in what a program starts", "env sh -c @": "in what a program starts",
		"xargs sh -c @": "in what a program starts", "find . -exec sh -c @ \\;": "in what a program starts", "sudo @": "in what a program starts", "timeout 5 @": "in what a program starts", "ssh host @": "in what a program starts",
		"@": "as the name of a program", "./@ x": "as the name of a program", "x=1 @": "as the name of a program", "source @": "as the name of a script", ". @": "as the name of a script", "trap @ EXIT": "as an argument that trap runs", "alias a=@": "as an argument that alias defines",
		"p # @": "in a comment", "# @\np x": "in a comment", `p \@`: "after a backslash", "p @(@)": "in a pattern", "@() { :; }": "", "@=1": "", "p > x >&@": "in a redirection",
		"read @": "as the name of a variable", "unset @": "as the name of a variable", "export @": "as the name of a variable", "declare @": "as the name of a variable", "printf -v @ x": "as the name of a variable", "printf @ x": "as the format of printf, which can be an option",
		"test -v @": "as the name of a variable", "[[ -v @ ]]": "as the name of a variable", "[ @ @ ]": "after another value, which test may read as an operator", "mapfile @": "as the name of a variable", "wait -p @": "as the name of a variable", "getopts a @": "as the name of a variable",
		"declare -i x=@": "in a variable whose value is run", "PS4=@; set -x; p": "in a variable whose value is run", "BASH_ENV=@ bash x": "in a variable whose value is run", "GIT_SSH_COMMAND=@ git fetch": "in a variable whose value is run",
		"python3 -c @": "in the text of a program", "perl -e @": "in the text of a program", "node -e @": "in the text of a program", "awk @ f": "in the text of a program", "sed -e @ f": "in the text of a program", "python3 @": "in the text of a program",
		"$none eval @": "as an argument of a program that is computed", "$(true) let @": "as an argument of a program that is computed",
		"\"$x\"eval @\nx=a": "as an argument of a program that is computed", "x=ev; ${x}al @": "as an argument of a program that is computed", "/bin/$x -c @": "as an argument of a program that is computed",
		// by a variable
		"x=@; p $((x + 1))": "in arithmetic", "x=@; p $(($x))": "in arithmetic", "x=@; ((x > 1))": "in arithmetic", "x=@; y=$x; [[ $y -gt 1 ]]": "in arithmetic", "x=@; p ${a[x]}": "in arithmetic", "x=@; a[$x]=1": "in arithmetic", "x=@; p ${a:x}": "in arithmetic",
		"x=@; eval \"p $x\"": "as an argument that eval runs", "x=@; sh -c \"p $x\"": "in the text of a shell", "x=@; $x": "as the name of a program", "x=@; p ${!x}": "as the name of a variable", "x=@; p ${x@P}": "as the name of a variable", "x=@; declare \"$x=1\"": "as the name of a variable",
		"set -- @; eval \"$1\"": "as an argument that eval runs", "f() { eval \"$1\"; }; f @": "as an argument that eval runs", "for i in @; do sh -c \"$i\"; done": "in the text of a shell", "read x <<< @; ((x))": "in arithmetic", "p @ | while read x; do ((x)); done": "in arithmetic",
		"x=@; bash <<E\necho $x\nE\n": "in the input of a shell", "x=@; test -v \"$x\"": "as the name of a variable", "x=(@); p $((x[0]))": "in arithmetic", "p 'unclosed @": "", "if @; then": "",
	}
}

func split(text string) []string { return strings.Split(text, "@") }

func parts(text string) []string {
	if strings.Contains(text, "${x@P}") || strings.Contains(text, "p @(@)") {
		text = strings.NewReplacer("${x@P}", "${x\x01P}", "p @(@)", "p \x01(@)").Replace(text)
	}
	out := split(text)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "\x01", "@")
	}
	return out
}

func TestShellValues(t *testing.T) {
	k := shippedRisk(t)
	for _, text := range plainPositions() {
		if found := k.ShellValues(parts(text), nil); len(found) > 0 {
			t.Errorf("%s: %v", text, found)
		}
	}
	for text, where := range programPositions() {
		found := k.ShellValues(parts(text), nil)
		switch {
		case len(found) == 0:
			t.Errorf("%s: nothing is found", text)
		case where != "" && found[len(found)-1].Where != where:
			t.Errorf("%s: %q, want %q", text, found[len(found)-1].Where, where)
		}
	}
	if found := k.ShellValues(parts("p x\np @ y\np \"@\" @"), nil); len(found) != 1 || found[0].Value != 1 || found[0].Line != 3 {
		t.Errorf("the second of three values: %v", found)
	}
	if found := k.ShellValues([]string{"no value"}, nil); found != nil {
		t.Error(found)
	}
	if found := k.ShellValues(parts("p "+strings.Repeat("@ ", maxShellValues+1)), nil); len(found) != maxShellValues+1 {
		t.Errorf("too many values: %d", len(found))
	}
	if found := k.ShellValues(parts("p "+strings.Repeat("x", maxShellText)+" @"), nil); len(found) != 1 {
		t.Errorf("too long a text: %v", found)
	}
	// A number is safe in arithmetic by a variable, and so is the word of the check itself.
	if found := k.ShellValues(parts("n=@; p $((n + 1)) ryevalue0e"), func(int) bool { return true }); len(found) > 0 {
		t.Error(found)
	}
	if found := k.ShellValues(parts("p $((@))"), func(int) bool { return true }); len(found) != 1 {
		t.Error("quotes in arithmetic are an error of bash")
	}
}

// dump defines p, which writes its arguments, each with a NUL.
const dump = "p() { printf '%s\\0' \"$@\"; }\n"

// bash runs a text in a directory of its own and returns its output, and whether it ran a
// command of a value.
func bash(t *testing.T, text string) (out string, pwned bool) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed: no text can be run in it")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "--", dump+text)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.Stdin = strings.NewReader("")
	b, _ := cmd.Output()
	_, err := os.Stat(filepath.Join(dir, "pwned"))
	return string(b), err == nil
}

// payloads are values that run a command where some text makes a part of a program of them.
func payloads() []string {
	return []string{"$(touch pwned)", "a[$(touch pwned)]", "'; touch pwned; '", "\ntouch pwned\n", "touch pwned", "`touch pwned`", "\"; touch pwned; \"", "; touch pwned"}
}

func fill(text []string, value string) string {
	return strings.Join(text, tmpl.ShellQuote(value))
}

// TestShellValuesInBash compares every position that ShellValues accepts with bash: each
// hostile value arrives as it is, and none runs anything. The control: without the check,
// some value runs a command in most of the other positions.
func TestShellValuesInBash(t *testing.T) {
	values := hostileValues()
	for _, text := range plainPositions() {
		if testing.Short() && len(values) > 12 {
			values = values[24:36]
		}
		// One process for all values: each in a subshell.
		var all strings.Builder
		for i, value := range values {
			if len(value) > 4096 {
				continue
			}
			fmt.Fprintf(&all, "printf '<%d>'\n(\n%s\n)\n", i, fill(parts(text), value))
		}
		out, pwned := bash(t, all.String())
		if pwned {
			t.Fatalf("%q: a value ran a command", text)
		}
		for i, value := range values {
			if len(value) > 4096 {
				continue
			}
			_, rest, ok := strings.Cut(out, fmt.Sprintf("<%d>", i))
			rest, _, _ = strings.Cut(rest, fmt.Sprintf("<%d>", i+1))
			if !ok || !strings.Contains(rest, value) || !arrives(text, value, rest) {
				t.Errorf("%q: the value %q arrives as %q", text, value, rest)
			}
		}
	}
	ran := 0
	for text := range programPositions() {
		if strings.Contains(text, "ssh") || strings.Contains(text, "sudo") {
			continue
		}
		for _, value := range payloads() {
			if _, pwned := bash(t, fill(parts(text), value)); pwned {
				ran++
				break
			}
		}
		if testing.Short() && ran > 5 {
			break
		}
	}
	if want := 60; ran < want && !testing.Short() || ran == 0 {
		t.Errorf("control: without the check %d texts run a command of a value, want %d", ran, want)
	} else {
		t.Logf("control: without the check %d texts run a command of a value", ran)
	}
}

// arrives reports whether the output has the value as one argument, or as a part of one.
func arrives(text, value, out string) bool {
	want := value + "\x00"
	switch {
	case strings.Contains(text, "x@y"):
		want = "x" + value + "y\x00"
	case strings.Contains(text, "--o=@"):
		want = "--o=" + want
	case strings.Contains(text, "a@b"):
		want = "a" + value + "b\x00"
	case strings.Contains(text, "$'a'@"):
		want = "a" + want
	}
	return strings.Contains("\x00"+out, "\x00"+want) || strings.HasPrefix(out, want)
}

// TestShellValuesLong passes a value of the length that one argument of a program can have.
func TestShellValuesLong(t *testing.T) {
	value := strings.Repeat("x$(touch pwned)'", 6000)
	if out, pwned := bash(t, fill(parts("x=@; p \"$x\""), value)); pwned || out != value+"\x00" {
		t.Errorf("pwned %v, %d bytes", pwned, len(out))
	}
}

// TestShellValuesRandom makes texts of pieces of the shell and runs those that ShellValues
// accepts: no value runs a command in any of them.
func TestShellValuesRandom(t *testing.T) {
	k := shippedRisk(t)
	pieces := []string{"@", "@", "@", " ", " ", "'", `"`, "$(", ")", "`", "$((", "))", "${x", "}", "[[ ", " ]]", "-eq", "<<E\n", "\nE\n", "<<<", "\n", ";", "|", "&&", "eval ", "p ", "p ", "x=", "x=", "$x", `"$x"`, "\\", "#", "{ ", "; }", "(", "if ", "then ", "fi", "for i in ", "do ", "done",
		"case ", " in ", "*)", ";;", "esac", "sh -c ", "test ", "[ ", " ]", "-v ", "set -- ", "$1", "let ", "declare ", "printf ", "read x", "((", "!", "~", ">", "<", "a[", "]", "=", "$'", "$\"", "command ", "trap ", "<(", "f() ", "f ", "local ", "-i ", "echo ", "|& ", "export ", "unset "}
	runs, tries := 150, 400_000
	if testing.Short() {
		runs, tries = 40, 20_000
	}
	r := rand.New(rand.NewPCG(35, 4))
	accepted := 0
	for range tries {
		var b bytes.Buffer
		for range 2 + r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := strings.Split(b.String(), "@")
		if len(text) < 2 || len(k.ShellValues(text, nil)) > 0 {
			continue
		}
		if accepted++; accepted > runs {
			break
		}
		var all strings.Builder
		for _, value := range payloads() {
			all.WriteString("(\n" + fill(text, value) + "\n)\n")
		}
		if _, pwned := bash(t, all.String()); pwned {
			t.Fatalf("%q is accepted, and a value runs a command", b.String())
		}
	}
	t.Logf("%d texts were accepted and run", min(accepted, runs))
	if accepted < runs/2 {
		t.Errorf("only %d texts were accepted", accepted)
	}
}
