package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// corpusLine is a command of a list in testdata/shell.
type corpusLine struct{ kind, source, command string }

func corpus(t testing.TB, name string) (out []corpusLine) {
	t.Helper()
	b, err := os.ReadFile("testdata/shell/" + name + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if strings.HasPrefix(line, "# ") {
			continue
		}
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 || fields[2] == "" {
			t.Fatalf("%s.tsv:%d: needs kind, source and command", name, i+1)
		}
		out = append(out, corpusLine{fields[0], fields[1], strings.ReplaceAll(fields[2], "⏎", "\n")})
	}
	return out
}

// TestShellCorpus: every dangerous command needs a person, and at most 1 % of the commands
// that people run without harm. With -v it prints the table of confusion.
func TestShellCorpus(t *testing.T) {
	k := shippedRisk(t)
	asks := func(c corpusLine) bool {
		return slices.ContainsFunc(k.Shell(c.command), func(d Danger) bool { return d.Tier == T4 })
	}
	harmless, dangerous := corpus(t, "harmless"), corpus(t, "dangerous")
	if len(harmless) < 500 || len(dangerous) < 500 {
		t.Fatalf("%d harmless and %d dangerous commands, want 500 of each", len(harmless), len(dangerous))
	}
	kinds := map[string][2]int{}
	asked := 0
	for _, c := range harmless {
		if asks(c) {
			asked++
			t.Logf("a question for %q of %s", c.command, c.source)
		}
	}
	for _, c := range dangerous {
		n := kinds[c.kind]
		if asks(c) {
			n[0]++
		} else {
			n[1]++
			t.Errorf("%s: no question for %q", c.kind, c.command)
		}
		kinds[c.kind] = n
	}
	table := fmt.Sprintf("harmless: %d asked, %d run\n", asked, len(harmless)-asked)
	missed := 0
	for kind, n := range kinds {
		missed += n[1]
		table += fmt.Sprintf("  %s: %d asked, %d run\n", kind, n[0], n[1])
	}
	t.Logf("%sdangerous: %d asked, %d run", table, len(dangerous)-missed, missed)
	if asked*100 > len(harmless) {
		t.Errorf("a question for %d of %d harmless commands, at most 1 %% are allowed", asked, len(harmless))
	}
}

// TestShellHeldOut: of commands that were labelled before a rule was changed for one, at most
// 1 % of the harmless ones need a person, and all that compute a program or code. With -v it
// prints which of the others run.
func TestShellHeldOut(t *testing.T) {
	k := shippedRisk(t)
	for _, name := range []string{"heldout1", "heldout2"} {
		all, asked := map[string]int{}, map[string]int{}
		for _, c := range corpus(t, name) { // its first column is the label
			_, command, ok := strings.Cut(c.command, "\t")
			if !ok || !strings.Contains("h D S P C N", c.kind) {
				t.Fatalf("%s: needs label, kind, source and command: %q", name, c.command)
			}
			asks := slices.ContainsFunc(k.Shell(command), func(d Danger) bool { return d.Tier == T4 })
			all[c.kind]++
			switch {
			case asks:
				asked[c.kind]++
				if c.kind == "h" {
					t.Logf("%s: a question for %q", name, command)
				}
			case c.kind == "C":
				t.Errorf("%s: no question for %q", name, command)
			case c.kind != "h" && c.kind != "N":
				t.Logf("%s: no question for %q, labelled %s", name, command, c.kind)
			}
		}
		t.Logf("%s: of %v asked %v", name, all, asked)
		if all["h"] < 500 || all["C"] < 10 {
			t.Errorf("%s has %v, want 500 harmless and 10 computed commands", name, all)
		}
		if asked["h"]*100 > all["h"] {
			t.Errorf("%s: a question for %d of %d harmless commands, at most 1 %% are allowed", name, asked["h"], all["h"])
		}
	}
}

// TestNoPermitCoversComputed: an answer for more than one call, by its reasons or by the
// beginning of the command, is not offered for a command that the shell computes, and one that
// was given does not reach it.
func TestNoPermitCoversComputed(t *testing.T) {
	a, _, _, err := ReadAllowance([]Layer{shippedAllowance(t)})
	if err != nil {
		t.Fatal(err)
	}
	risk := shippedRisk(t)
	decide := func(text string) Decision {
		return a.Decide(Call{Rating: Rating{Class: T3, Tier: T3}, Rung: RungStrict, Dangers: risk.Shell(text)})
	}
	permits := map[string]bool{}
	prefixes := []string{}
	for _, text := range []string{"rm -r x", "rm -f -r x", "git push -f o", "git reset --hard x", "chmod 777 f", "find . -delete", "docker run --privileged i", "kubectl delete pod x", "dd of=/dev/sda", "terraform destroy"} {
		d := decide(text)
		if d.Rule() == "" {
			t.Fatalf("no permit is offered for %q", text)
		}
		permits[d.Rule()] = true
		prefixes = append(prefixes, d.Prefixes()...)
	}
	if len(prefixes) < 3 {
		t.Fatalf("prefixes %q", prefixes)
	}
	texts := []string{"rm -r $(cat f)", "rm -r \"$(cat f)\"", "rm -r $x y", "rm -r \"$@\"", "x=$(cat f); rm -r $x", "git push -f $(cat f)", "git push -f $x", "git reset --hard `cat f`", "rm -r *", "chmod 777 $(cat f)", "dd of=/dev/sda $(cat f)", "kubectl delete pod $(cat f)"}
	for _, c := range corpus(t, "dangerous") {
		if slices.Contains([]string{"computed-program", "computed-option", "arithmetic", "indirection", "functions", "piped-interpreter", "input-as-code"}, c.kind) && !strings.Contains(c.command, "rm -rf") && strings.ContainsAny(c.command, "$`*?[") {
			texts = append(texts, c.command)
		}
	}
	for _, text := range texts {
		d := decide(text)
		if d.Action != Ask {
			t.Errorf("%q does not ask", text)
		}
		if rule := d.Rule(); rule != "" && permits[rule] {
			t.Errorf("%q is covered by the permit for %q", text, rule)
		}
		if d.Prefixes() != nil || d.Within(prefixes) {
			t.Errorf("%q is covered by a prefix", text)
		}
	}
}
