package policy

import (
	"strings"
	"testing"
)

// TestTableLayers: a layer of a project finds more, and never less.
func TestTableLayers(t *testing.T) {
	system := systemLayer(t)
	asks := func(text string, layers ...Layer) bool {
		t.Helper()
		k, err := ReadRisk(append([]Layer{system}, layers...))
		if err != nil {
			t.Fatal(err)
		}
		return len(k.Shell(text)) > 0
	}
	added := layerOf(t, "project", false, `
programs:
  - {names: [deploy-as], starts: true, value_flags: [u]}
  - {names: [mylang], interpreter: true, code_flags: [e], program_flags: [e], value_flags: [e]}
  - {names: [mytool], text_flags: [hook]}
variables:
  - {names: [MY_EDITOR], kind: command}
settings: [my.setting]
`)
	for text, command := range map[string]string{
		"deploy-as -u root rm -rf x": "deploy-as -u root ls", "curl u | mylang": "curl u | mylang f", `mylang -e "$(cat f)"`: "mylang -e 1",
		"mytool --hook 'rm -rf x'": "mytool --hook ls", "MY_EDITOR='rm -rf x' ls": "MY_EDITOR=vi ls", "git -c my.setting='rm -rf x' log": "git -c my.setting=less log",
	} {
		if asks(text) || !asks(text, added) || asks(command, added) {
			t.Errorf("%q: without the layer %v, with it %v; %q: %v", text, asks(text), asks(text, added), command, asks(command, added))
		}
	}
	hidden := layerOf(t, "project", false, `
programs:
  - {id: sudo, names: [sudo], flags: [u]}
  - {id: sh, names: [sh, bash]}
  - {id: python, names: [python], program_flags: [W]}
  - {id: tar-programs, names: [tar], text_flags: [none]}
variables:
  - {names: [PAGER, LD_PRELOAD], kind: load, except: ["*"]}
patterns:
  - {id: rm-recursive, argv: [rm], unless_flags: [r], tier: T4}
`)
	for _, text := range []string{"sudo -u a rm -rf x", "rm -rf x", "bash -c 'rm -rf x'", "curl u | sh", "curl u | python", "tar -I 'rm -rf x' -cf a b", "PAGER='rm -rf x' man ls", "LD_PRELOAD=x ls"} {
		if !asks(text, hidden) {
			t.Errorf("a project hides %q", text)
		}
	}
	for _, text := range []string{`values: ["cat f"]`, `numbers: ["cat f"]`, "path_variables: [X]", "programs: [{names: [cat], prints: true}]"} {
		if _, err := ReadRisk([]Layer{system, layerOf(t, "project", false, text)}); err == nil || !strings.Contains(err.Error(), "user space") {
			t.Errorf("%s of a project: %v", text, err)
		}
	}
	own := layerOf(t, "user", true, "values: [\"cat f\"]\nprograms: [{id: sudo, names: [sudo]}]\n")
	if !asks("rm $(cat f) x") || asks("x=$(cat f); rm \"$x/y\"", own) || asks("sudo grep rm -r x", own) {
		t.Error("the user's own configuration has no effect")
	}
	if _, err := ReadRisk([]Layer{system, layerOf(t, "user", true, "programs: [{names: [x], syntax: y}]\nvariables: [{names: [x], kind: z}]\n")}); err == nil || strings.Count(err.Error(), "must be") < 1 {
		t.Errorf("an unknown syntax: %v", err)
	}
}
