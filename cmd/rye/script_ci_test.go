package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
)

// cmdWorkflow runs a workflow as the runner of GitHub or GitLab does: it clones the
// repository into a new directory, reads the workflow from the clone, and runs its
// commands with the environment of a runner and an empty home, until one fails. The
// exit status is compared, and stdout and stderr can be matched afterwards. Only go
// install is replaced: the program of the test is on PATH, if the module is right.
//
// EVENT is push or pull_request. repo= is the repository, ref= the branch, base= the
// target of a pull request, before= the commit before a push (default: the parent).
// The clone is $CHECKOUT, the version that the workflow installs $INSTALLED.
func cmdWorkflow(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 4, "workflow STATUS FILE EVENT repo= [ref= base= before=]")
	set := settings(ts, args[3:], "repo ref base before")
	r := &runner{ts: ts, event: args[2], repo: ts.MkAbs(set["repo"]), ref: set["ref"], base: set["base"], before: set["before"]}
	if r.ref == "" {
		r.ref = "main"
	}
	r.dir, r.err = os.MkdirTemp(ts.Getenv("WORK"), ".runner-")
	ts.Check(r.err)
	r.home, r.clone = filepath.Join(r.dir, "home"), filepath.Join(r.dir, "checkout")
	ts.Check(os.Mkdir(r.home, 0o755))
	text := r.git(r.repo, "show", r.ref+":"+args[1])
	doc, _, findings := yamlx.ParseAny([]byte(text))
	ts.Check(diag.FromFindings("reading "+args[1], findings))
	var steps []string
	if strings.Contains(args[1], "gitlab") {
		steps = r.gitlab(doc.(map[string]any))
	} else {
		steps = r.github(doc.(map[string]any))
	}
	script := filepath.Join(r.dir, "steps.sh")
	ts.Check(os.WriteFile(script, []byte(strings.Join(steps, "\n")+"\n"), 0o755))
	ts.Setenv("CHECKOUT", r.clone)
	r.compare(args[0], script)
}

// runner is one run of a workflow.
type runner struct {
	ts                      *testscript.TestScript
	event                   string
	repo, ref, base, before string
	dir, home, clone        string
	env                     []string
	err                     error
}

// compare runs the steps in the environment of the runner only.
func (r *runner) compare(status, script string) {
	env := append([]string{"-i", "-C", r.clone, "HOME=" + r.home, "PATH=" + r.ts.Getenv("PATH"), "CI=true", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1"}, r.env...)
	for _, name := range []string{"WORK", "TEST_NOW", "TEST_VERSION", "TMPDIR"} { // of the test, not of a runner
		env = append(env, name+"="+r.ts.Getenv(name))
	}
	cmdExitcode(r.ts, false, append([]string{status, "env"}, append(env, "bash", "-e", "-o", "pipefail", script)...))
}

func (r *runner) git(dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = []string{"HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
		"GIT_AUTHOR_NAME=CI", "GIT_AUTHOR_EMAIL=ci@example.test", "GIT_COMMITTER_NAME=CI", "GIT_COMMITTER_EMAIL=ci@example.test"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.ts.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// checkout clones as actions/checkout and the runner of GitLab do: a new repository,
// a fetch of that depth, a detached head.
func (r *runner) checkout(depth string) {
	r.ts.Check(os.Mkdir(r.clone, 0o755))
	r.git(r.clone, "init", "-q", ".")
	r.git(r.clone, "remote", "add", "origin", r.repo)
	if depth == "0" {
		r.git(r.clone, "fetch", "-q", "--tags", "origin", "+refs/heads/*:refs/remotes/origin/*")
	} else {
		r.git(r.clone, "fetch", "-q", "--no-tags", "--depth="+depth, "file://"+filepath.ToSlash(r.repo), "+refs/heads/"+r.ref+":refs/remotes/origin/"+r.ref)
	}
	if r.event == "pull_request" && depth == "0" { // the merge that GitHub makes of a pull request
		r.git(r.clone, "checkout", "-q", "--detach", "origin/"+r.base)
		r.git(r.clone, "merge", "-q", "--no-ff", "-m", "merge", "origin/"+r.ref)
		return
	}
	r.git(r.clone, "checkout", "-q", "--detach", "origin/"+r.ref)
}

// parent returns the commit before the push.
func (r *runner) parent() string {
	if r.before != "" {
		return r.before
	}
	return r.git(r.repo, "rev-parse", r.ref+"~1")
}

// github returns the commands of a workflow of GitHub, with its expressions evaluated.
func (r *runner) github(doc map[string]any) []string {
	facts := map[string]string{"github.event_name": r.event, "github.base_ref": "", "github.event.before": ""}
	r.env = []string{"GITHUB_ACTIONS=true", "GITHUB_WORKSPACE=" + r.clone, "GITHUB_EVENT_NAME=" + r.event,
		"GITHUB_EVENT_PATH=" + filepath.Join(r.dir, "event.json"), "RUNNER_TEMP=" + r.dir}
	r.ts.Check(os.WriteFile(filepath.Join(r.dir, "event.json"), []byte(`{"repository": {"default_branch": "main"}}`), 0o644))
	if r.event == "pull_request" {
		facts["github.base_ref"] = r.base
		r.env = append(r.env, "GITHUB_BASE_REF="+r.base, "GITHUB_HEAD_REF="+r.ref, "GITHUB_REF=refs/pull/1/merge")
	} else {
		facts["github.event.before"] = r.parent()
		r.env = append(r.env, "GITHUB_BASE_REF=", "GITHUB_REF=refs/heads/"+r.ref)
	}
	job := doc["jobs"].(map[string]any)["verify"].(map[string]any)
	for name, v := range job["env"].(map[string]any) {
		r.env = append(r.env, name+"="+r.expand(v.(string), facts))
	}
	var out []string
	for _, s := range job["steps"].([]any) {
		step := s.(map[string]any)
		if uses, ok := step["uses"].(string); ok {
			r.use(uses, step)
			continue
		}
		out = append(out, r.command(r.expand(step["run"].(string), facts)))
	}
	return out
}

// pinned matches an action that is named by a full commit.
var pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)

func (r *runner) use(action string, step map[string]any) {
	if !pinned.MatchString(action) {
		r.ts.Fatalf("the action %s is not pinned to a full commit", action)
	}
	if strings.HasPrefix(action, "actions/checkout@") {
		depth := "1"
		if with, ok := step["with"].(map[string]any); ok && with["fetch-depth"] != nil {
			depth = fmt.Sprint(with["fetch-depth"])
		}
		r.checkout(depth)
	}
}

// gitlab returns the commands of a pipeline of GitLab.
func (r *runner) gitlab(doc map[string]any) []string {
	job := doc["rye"].(map[string]any)
	vars := job["variables"].(map[string]any)
	r.checkout(fmt.Sprint(vars["GIT_DEPTH"]))
	r.env = []string{"GITLAB_CI=true", "CI_PROJECT_DIR=" + r.clone, "CI_DEFAULT_BRANCH=main"}
	for name, v := range vars {
		r.env = append(r.env, name+"="+fmt.Sprint(v))
	}
	if r.event == "pull_request" {
		r.env = append(r.env, "CI_PIPELINE_SOURCE=merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA="+r.git(r.repo, "merge-base", r.base, r.ref),
			"CI_COMMIT_BEFORE_SHA="+strings.Repeat("0", 40))
	} else {
		r.env = append(r.env, "CI_PIPELINE_SOURCE=push", "CI_COMMIT_BRANCH="+r.ref, "CI_COMMIT_BEFORE_SHA="+r.parent())
	}
	var out []string
	for _, s := range job["script"].([]any) {
		out = append(out, r.command(s.(string)))
	}
	return out
}

// installs matches the one command of a workflow that a test cannot run.
var installs = regexp.MustCompile(`^go install github\.com/ryeos/rye/cmd/rye@(v[0-9][-.0-9a-z]*|[0-9a-f]{40})$`)

func (r *runner) command(line string) string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "go install") {
		return line
	}
	m := installs.FindStringSubmatch(line)
	if m == nil {
		r.ts.Fatalf("%q does not install one version of rye", line)
	}
	r.ts.Setenv("INSTALLED", m[1])
	return "command -v rye >/dev/null"
}

// expand evaluates the expressions ${{ … }} in a text.
func (r *runner) expand(text string, facts map[string]string) string {
	return regexp.MustCompile(`\$\{\{(.*?)\}\}`).ReplaceAllStringFunc(text, func(s string) string {
		x := &expression{facts: facts, words: regexp.MustCompile(`'[^']*'|[a-z_.]+|==|&&|\|\||[(),]`).FindAllString(s[3:len(s)-2], -1)}
		v := x.or()
		if x.err != "" || x.at != len(x.words) {
			r.ts.Fatalf("evaluating %q: %s at word %d of %q", s, x.err, x.at, x.words)
		}
		return v
	})
}

// expression evaluates the part of GitHub's language that workflows of rye use. The
// empty text is false.
type expression struct {
	facts map[string]string
	words []string
	at    int
	err   string
}

func (x *expression) next(word string) bool {
	if x.at < len(x.words) && x.words[x.at] == word {
		x.at++
		return true
	}
	return false
}

func (x *expression) or() string {
	v := x.and()
	for x.next("||") {
		if w := x.and(); v == "" {
			v = w
		}
	}
	return v
}

func (x *expression) and() string {
	v := x.equal()
	for x.next("&&") {
		if w := x.equal(); v != "" {
			v = w
		}
	}
	return v
}

func (x *expression) equal() string {
	v := x.value()
	if !x.next("==") {
		return v
	}
	if strings.EqualFold(v, x.value()) {
		return "true"
	}
	return ""
}

func (x *expression) value() string {
	if x.at == len(x.words) {
		x.err = "a value is missing"
		return ""
	}
	word := x.words[x.at]
	x.at++
	if strings.HasPrefix(word, "'") {
		return strings.Trim(word, "'")
	}
	if word == "format" && x.next("(") {
		text := x.or()
		for i := 0; x.next(","); i++ {
			text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", i), x.or())
		}
		if !x.next(")") {
			x.err = "a parenthesis is missing"
		}
		return text
	}
	v, known := x.facts[word]
	if !known {
		x.err = "unknown: " + word
	}
	return v
}
