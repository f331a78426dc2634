package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/policy"
)

// Rules that are asked where a bundle or a file enters a project, a space or an account, or
// leaves for others, and what a script about one has in it.
func entryRules() map[string]string {
	return map[string]string{
		"patterns":  `demands \d of \d signers`,                             // rules of rye.yaml about signers, by patterns of ids
		"cooldown":  `min-age|COOLDOWN`,                                     // releases wait
		"consent":   `new tool|asked|[Cc]onsent|accept|review|--yes|ttyin`,  // of a person
		"protected": `protected|withheld|POLICY_DENIED|refused|PATH_ESCAPE`, // paths that make programs run
		"keys":      `private key`,                                          // a private key is not shared by mistake
	}
}

// enteringVerbs are the verbs by which content of others enters, or content leaves for
// others: the scripts that show the rules which each asks.
func enteringVerbs() map[string]map[string]string {
	release := map[string]string{"patterns": "pkg_rules_verbs", "cooldown": "pkg_rules_verbs", "consent": "pkg_rules_verbs"}
	shares := map[string]string{"keys": "bundle_private_key"}
	return map[string]map[string]string{
		"add": release, "lock": release, "sync": release, "update": release,
		"vendor": {"patterns": "pkg_rules_verbs"}, "run": {"patterns": "pkg_rules_verbs"},
		"verify": {"patterns": "pkg_rules_verbs", "cooldown": "pkg_rules_verbs", "keys": "bundle_private_key"},
		"audit":  {"patterns": "pkg_rules_verbs", "cooldown": "pkg_rules_verbs"},

		"registry pull": {"patterns": "pkg_rules_registry", "cooldown": "pkg_rules_registry"},
		"serve":         {"patterns": "pkg_rules_registry", "cooldown": "pkg_rules_registry", "consent": "registry_agents", "protected": "fs_protected"},

		"bundle create": shares, "bundle verify": shares, "bundle publish": shares, "registry publish": shares,
		"registry push": {"keys": "bundle_private_key"},
		"hook run":      {"keys": "hook_secrets", "consent": "hook_differs"},

		"import":        {"protected": "import_attacks", "keys": "import_attacks"}, // it has no source with rules, and what it writes is not signed
		"threads apply": {"protected": "attack_apply"},
		"mcp add":       {"consent": "mcp_ask"},
		"mcp refresh":   {"consent": "mcp_refresh"},
		"trust add":     {"consent": "trust_add_ask"},
		"trust accept":  {"consent": "trust_accept"},
		"provider add":  {"consent": "provider_add_terminal"},
		"setup":         {"consent": "setup_found"},
		"review":        {"consent": "adopt_add"},
		"export":        {"protected": "adopt_export"},

		"registry serve": shares, // what others publish
	}
}

// rulesOfAgents are the verbs of rye serve, with the scripts that show the rules which each asks.
func rulesOfAgents() map[string]map[string]string {
	return map[string]map[string]string{
		"search":  {}, // nothing enters
		"load":    {"patterns": "pkg_rules_registry", "cooldown": "pkg_rules_registry"},
		"execute": {"patterns": "pkg_rules_registry", "cooldown": "pkg_rules_registry", "consent": "registry_agents", "protected": "fs_protected"},
		"sign":    {"consent": "serve_ask", "protected": "attack_serve_sign"},
	}
}

// otherVerbs bring no content of others into a project, a space or an account, or only what
// the row states.
func otherVerbs() string {
	return `
init new approve deny status list search show chain load delta tree why prune remove outdated info diff sbom
config show  config set  config policy  cache info  cache gc  cache verify  tour doctor version explain completion help sign
graph run  graph resume  graph step  graph fork  graph list  graph log  graph validate  graph show  spawn
threads list  threads tree  threads answer  threads approve  threads deny  threads send  threads wait  threads cancel  threads kill
threads tail  threads verify  threads cost  threads show  threads result  threads resume  threads chain  threads handoff  threads wake
threads gc  threads rebuild  threads accept  threads suspend  threads search  threads diff  threads drop  threads rename  test  test record
hook install  hook uninstall  hook merge
key new  key list  key use  key export  key rotate  key revoke  key agent-add  key log
trust list  trust refresh  trust remove  trust endorse  trust explain  trust interpreter  trust language-server  trust directory  trust accept-move
mcp list  mcp remove  bundle sign  bundle list  bundle inspect  bundle revoke  bundle publisher
export skill  registry add  registry list  registry import  registry use  registry remove  registry forgive  registry search  registry info  registry monitor
registry verify  registry login  registry logout  registry whoami  registry key-add  registry key-remove  registry yank  registry unyank
registry unlist  registry relist  registry delete  registry revoke  registry export  registry witness
registry admin doctor  registry admin backup  registry admin restore  registry admin rotate-key  registry admin namespace grant  registry admin namespace withdraw
registry admin delete  registry admin block-key  registry admin unblock-key  registry admin reports
chat  chat list  chat rename  chat export
gateway serve  gateway open  gateway audit  gateway key new  gateway key list  gateway key revoke
provider list  provider prices  provider test  provider login  provider logout
`
}

// A new verb is listed with the rules that it asks, or as one that brings nothing.
func TestRulesOfVerbs(t *testing.T) {
	entering, verbs := enteringVerbs(), map[string]int{}
	walkCommands([]*cli.Command{bothPrograms()}, func(path []*cli.Command) {
		if name := strings.TrimPrefix(cli.PathName(path), "rye"); name != "" {
			verbs[strings.TrimSpace(name)]++
		}
	})
	others := regexp.MustCompile(`  +|\n`).Split(strings.TrimSpace(otherVerbs()), -1)
	var other []string
	for _, words := range others {
		if _, known := verbs[words]; known || !strings.Contains(words, " ") {
			other = append(other, words)
			continue
		}
		other = append(other, strings.Fields(words)...) // verbs of one word
	}
	for name := range verbs {
		if _, enters := entering[name]; enters == slices.Contains(other, name) {
			t.Errorf("rye %s must be in enteringVerbs with the rules that it asks about content of others, or in otherVerbs if it brings and shares none", name)
		}
	}
	for _, name := range other {
		if verbs[name] == 0 {
			t.Errorf("there is no verb %q", name)
		}
	}
	for name, rules := range entering {
		for rule, script := range rules {
			if problem := ruleProblem(name, rule, script); verbs[name] == 0 || problem != "" {
				t.Errorf("rye %s, rule %s: %s", name, rule, problem)
			}
		}
	}
	for _, verb := range []policy.Verb{policy.Search, policy.Load, policy.Execute, policy.Sign} {
		rules, known := rulesOfAgents()[string(verb)]
		if !known {
			t.Errorf("the verb %s of rye serve is in no list", verb)
		}
		for rule, script := range rules {
			if problem := ruleProblem("the agents' "+string(verb), rule, script); problem != "" {
				t.Errorf("%s of rye serve, rule %s: %s", verb, rule, problem)
			}
		}
	}
	for _, bad := range [][3]string{{"the agents' sign", "keys", "serve_ask"}, {"the agents' sign", "protected", "pkg_rules_registry"}, {"add", "keys", "pkg_rules_verbs"}, {"add", "cooldown", "nothing"}, {"tour", "cooldown", "pkg_rules_verbs"}} {
		if ruleProblem(bad[0], bad[1], bad[2]) == "" {
			t.Errorf("%v passes", bad)
		}
	}
}

// ruleProblem returns why a script does not show that a verb asks a rule.
func ruleProblem(verb, rule, script string) string {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", script+".txtar"))
	if err != nil {
		return err.Error()
	}
	call := regexp.MustCompile(`(?m)(rye( -\S+( \S*[/$]\S*| core| tools)?)*|mcp \S+|^git commit.*) ` + verb + `\b`)
	if word, ok := strings.CutPrefix(verb, "the agents' "); ok {
		call = regexp.MustCompile(`(?m)^` + word + ` \{`)
	}
	switch verb {
	case "hook run":
		call = regexp.MustCompile(`git commit`)
	case "registry serve":
		call = regexp.MustCompile(`regup|registry serve`)
	}
	switch {
	case !call.Match(b):
		return script + " does not run it"
	case !regexp.MustCompile(entryRules()[rule]).Match(b):
		return script + " has nothing about the rule"
	}
	return ""
}
