package selfhost_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// language is a runtime that a project brings, with a tool written for it.
type language struct {
	program string // on PATH
	runtime string
	file    string // of the tool
	source  string
}

func perl() language {
	return language{program: "perl", file: "tools/acme/greet.pl", runtime: `version: 1.0.0
tool_type: runtime
executor_id: rye/core/primitives/subprocess
description: Runs a Perl script. Scalars stand in the environment, all parameters on stdin.
env_config:
  interpreter: {type: system_binary, var: RYE_PERL, binary: perl}
  env: {PERL_UNICODE: SD}
config:
  command: "${RYE_PERL}"
  args: ["-w", "{tool_path}", "{param:who}"]
  input_data: "{params_json}"
  param_env: RYE_PARAM_
  timeout: 60
`, source: `#!/usr/bin/perl
# version: 1.0.0
# tool_type: script
# executor_id: acme/new_runtime
# description: Greet somebody, in Perl.
# config_schema: {"type": "object", "required": ["who"], "additionalProperties": false,
#   "properties": {"who": {"type": "string"}, "times": {"type": "integer", "default": 2}}}
use strict;
my $json = do { local $/; <STDIN> };
my $said = $json =~ /"who":"\Q$ARGV[0]\E"/ ? "true" : "false";
print "a line before the result\n";
printf "{\"greeting\": \"%s\", \"stdin\": %s}\n", join(" ", ("hello $ENV{RYE_PARAM_WHO}") x $ENV{RYE_PARAM_TIMES}), $said;
`}
}

func awk() language {
	return language{program: "awk", file: "tools/acme/greet.awk", runtime: `version: 1.0.0
tool_type: runtime
executor_id: rye/core/primitives/subprocess
description: Runs an awk program.
env_config:
  interpreter: {type: system_binary, var: RYE_AWK, binary: awk}
config:
  command: "${RYE_AWK}"
  args: ["-f", "{tool_path}"]
  param_env: RYE_PARAM_
  timeout: 60
`, source: `# version: 1.0.0
# tool_type: script
# executor_id: acme/new_runtime
# description: Greet somebody, in awk.
# config_schema: {"type": "object", "required": ["who"], "additionalProperties": false,
#   "properties": {"who": {"type": "string"}, "times": {"type": "integer", "default": 2}}}
BEGIN {
  line = "hello " ENVIRON["RYE_PARAM_WHO"]
  for (i = 1; i < ENVIRON["RYE_PARAM_TIMES"]; i++) line = line " hello " ENVIRON["RYE_PARAM_WHO"]
  printf "{\"greeting\": \"%s\", \"stdin\": true}\n", line
}
`}
}

// A new language is one YAML file of a project.
func TestNewLanguage(t *testing.T) {
	l := perl()
	w := speaking(t, l)
	w.write(w.project, "tools/acme/new_runtime.yaml", []byte(l.runtime))
	w.write(w.project, l.file, []byte(l.source))
	greets(t, w, l)
}

// A new type of file is one line in an extractor, and needs no Go either.
func TestNewLanguageWithNewFileType(t *testing.T) {
	l := awk()
	w := speaking(t, l)
	w.write(w.project, "tools/acme/new_runtime.yaml", []byte(l.runtime))
	w.write(w.project, l.file, []byte(l.source))
	signAll(t, w)
	_, err := w.open().executor.Chain(t.Context(), tool("acme/greet"))
	wantCode(t, "an unknown type of file", err, diag.ToolNotFound)
	w.put(w.project, toolExtractor, edited(t, toolExtractor, "  - {ext: .rb,",
		"  - {ext: .awk, parser: rye/core/parsers/header_hash, comment: \"#\"}\n  - {ext: .rb,"))
	greets(t, w, l)
}

// speaking is a world in which a program can be run.
func speaking(t *testing.T, l language) *world {
	t.Helper()
	if _, err := exec.LookPath(l.program); err != nil {
		t.Skipf("%s is not installed", l.program)
	}
	w := newWorld(t)
	w.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.user}
	return w
}

func signAll(t *testing.T, w *world) {
	t.Helper()
	reports, err := w.lenient().primary.Sign(t.Context(), primary.SignCall{Held: policy.Person(), Targets: []string{"*"}, Dir: w.project, Signer: w.key})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.Status == primary.Refused {
			t.Fatalf("%s is refused: %v", r.Path, r.Findings)
		}
	}
}

func greets(t *testing.T, w *world, l language) {
	t.Helper()
	ctx := t.Context()
	_, err := w.open().primary.Tool(ctx, primary.Call{Held: policy.Person(), Ref: tool("acme/greet"), Args: []string{"who=you"}})
	if code := diag.CodeOf(err); code != diag.Unsigned && l.program == "perl" {
		t.Errorf("an unsigned tool: %v", err)
	}
	signAll(t, w)
	h := w.open()
	run, err := h.primary.Tool(ctx, primary.Call{Held: policy.Person(), Ref: tool("acme/greet"), Args: []string{"who=you"}})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := run.Data.(map[string]any)
	if data["greeting"] != "hello you hello you" || data["stdin"] != true {
		t.Errorf("the tool answers %v", run.Data)
	}
	if c := run.Metadata.Chain; len(c) != 3 || c[0].Space != "project" || c[1].Ref != "tool:acme/new_runtime" || c[2].Space != "system:rye-core" {
		t.Errorf("the chain is %+v", c)
	}
	_, err = h.primary.Tool(ctx, primary.Call{Held: policy.Person(), Ref: tool("acme/greet"), Args: []string{"times:=\"x\""}})
	wantCode(t, "parameters that do not fit", err, diag.ValidationFailed)
	r, err := verify.Root(ctx, verify.Params{Resolver: w.lenient().resolver, Trust: h.trust}, h.spaces.Of(space.Project))
	if err != nil || r.Failed() {
		t.Errorf("verify: %v, %v", r.Findings, err)
	}
}

const skillExtractor = `version: 1.0.0
tool_type: extractor
executor_id: null
category: rye/core/extractors/skill
description: Reads skills, a folder each, as other programs write them.
kind: skill
folder: skills
item_id: parent_dir
item_file: SKILL.md
signature: detached
extensions:
  - {ext: .md, parser: rye/core/parsers/markdown_knowledge}
search_fields: {name: 3, description: 2}
validation_schema:
  fields:
    name: {type: string, required: true, match_filename: true, pattern: "^[a-z][a-z0-9-]*$"}
    description: {type: string, required: true}
`

const skill = "---\nname: pdf\ndescription: Fill in forms.\n---\n\nRead the form first.\n"

// A new kind is one extractor item: its files are signed, found, verified and
// loaded like any other.
func TestNewKind(t *testing.T) {
	w := newWorld(t)
	ctx, ref := t.Context(), item.Ref{Kind: "skill", ID: "pdf"}
	w.write(w.project, "skills/pdf/SKILL.md", []byte(skill))
	_, err := w.open().resolver.Find(ctx, ref)
	wantCode(t, "a kind without an extractor", err, diag.ToolNotFound)
	w.put(w.project, "tools/rye/core/extractors/skill/skill_extractor.yaml", []byte(skillExtractor))
	_, err = w.open().resolver.Find(ctx, ref)
	wantCode(t, "an unsigned skill", err, diag.Unsigned)
	signAll(t, w)
	if b, err := os.ReadFile(filepath.Join(w.project, ".ai", "skills", "pdf", "SKILL.md")); err != nil || string(b) != skill {
		t.Errorf("signing changed the file itself: %v", err)
	}
	h := w.open()
	it, err := h.primary.Load(ctx, primary.LoadCall{Held: policy.Person(), Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	if it.Meta.Name != "pdf" || string(it.Meta.Body) != "Read the form first." || it.Signature == nil {
		t.Errorf("loaded %q with body %q", it.Meta.Name, it.Meta.Body)
	}
	all, err := h.resolver.All(ctx, "skill")
	if err != nil || len(all) != 1 || all[0].Ref != ref {
		t.Errorf("listed %v, %v", all, err)
	}
	if got, err := h.resolver.Ref(ctx, "pdf"); err != nil || got != ref {
		t.Errorf("the bare id is %v, %v", got, err)
	}
	r, err := verify.Root(ctx, verify.Params{Resolver: w.lenient().resolver, Trust: h.trust}, h.spaces.Of(space.Project))
	if err != nil || r.Failed() || len(r.Files) != 2 {
		t.Errorf("verify: %d files, %v, %v", len(r.Files), r.Findings, err)
	}
	w.write(w.project, "skills/pdf/SKILL.md", []byte(strings.Replace(skill, "Fill in", "Sign", 1)))
	_, err = w.open().resolver.Find(ctx, ref)
	wantCode(t, "a changed skill", err, diag.HashMismatch)
	w.write(w.project, "skills/pdf/SKILL.md", []byte(strings.Replace(skill, "name: pdf", "name: word", 1)))
	reports, err := w.lenient().primary.Sign(ctx, primary.SignCall{Held: policy.Person(), Targets: []string{"skill:*"}, Dir: w.project, Signer: w.key})
	if err != nil || len(reports) != 1 || reports[0].Status != primary.Refused {
		t.Errorf("a skill with another name in it: %+v, %v", reports, err)
	}
}
