//go:build unix

package gitcmd

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile is the configuration of a repository that came from an archive, by name:
// lines of name=value, in which EVIL is a program. Each must not run it.
func hostile() map[string][]string {
	ext := []string{"protocol.ext.allow=always", "protocol.allow=always"}
	return map[string][]string{
		"fsmonitor":        {"core.fsmonitor=EVIL"},
		"hooks":            {"core.hooksPath=EVIL.d"},
		"pager":            {"core.pager=EVIL", "pager.status=EVIL", "pager.tag=EVIL", "pager.config=EVIL", "pager.ls-remote=EVIL"},
		"editor":           {"core.editor=EVIL", "sequence.editor=EVIL"},
		"ssh":              {"core.sshCommand=EVIL"},
		"askpass":          {"core.askPass=EVIL"},
		"git proxy":        {"core.gitProxy=EVIL"},
		"alternates":       {"core.alternateRefsCommand=EVIL"},
		"external diff":    {"diff.external=EVIL"},
		"diff command":     {"diff.x.command=EVIL"},
		"textconv":         {"diff.x.textconv=EVIL", "diff.x.cachetextconv=true"},
		"diff filter":      {"interactive.diffFilter=EVIL"},
		"difftool":         {"difftool.x.cmd=EVIL", "diff.tool=x"},
		"merge driver":     {"merge.x.driver=EVIL"},
		"mergetool":        {"mergetool.x.cmd=EVIL", "merge.tool=x"},
		"clean":            {"filter.x.clean=EVIL"},
		"required":         {"filter.x.clean=EVIL", "filter.x.required=true"},
		"smudge":           {"filter.x.smudge=EVIL"},
		"process":          {"filter.x.process=EVIL", "filter.x.required=true"},
		"included":         {"include.path=EVIL.config"},
		"included if":      {"includeIf.gitdir:/.path=EVIL.config"},
		"worktree config":  {"extensions.worktreeConfig=true"},
		"helper":           {"credential.helper=EVIL"},
		"shell helper":     {"credential.helper=!EVIL"},
		"helper of a host": {"credential.HOST.helper=EVIL"},
		"gpg":              {"gpg.program=EVIL", "tag.gpgSign=true"},
		"openpgp":          {"gpg.openpgp.program=EVIL", "tag.gpgSign=true"},
		"x509":             {"gpg.format=x509", "gpg.x509.program=EVIL", "tag.gpgSign=true"},
		"ssh signature":    {"gpg.format=ssh", "gpg.ssh.program=EVIL", "tag.gpgSign=true", "user.signingKey=key::ssh-ed25519 AAAA"},
		"ssh key":          {"gpg.format=ssh", "gpg.ssh.defaultKeyCommand=EVIL", "tag.gpgSign=true"},
		"forced tag":       {"gpg.program=EVIL", "tag.forceSignAnnotated=true"},
		"signed push":      {"gpg.program=EVIL", "push.gpgSign=true"},
		"uploadpack":       {"remote.origin.uploadpack=EVIL"},
		"receivepack":      {"remote.origin.receivepack=EVIL"},
		"pack objects":     {"uploadpack.packObjectsHook=EVIL"},
		"vcs":              append(ext, "remote.origin.vcs=ext", "remote.origin.url=EVIL"),
		"ext":              append(ext, "remote.origin.url=ext::EVIL"),
		"push to ext":      append(ext, "remote.origin.pushurl=ext::EVIL"),
		"instead of":       append(ext, "url.ext::EVIL #.insteadOf=/"),
		"push instead of":  append(ext, "url.ext::EVIL #.pushInsteadOf=/"),
		"lazy fetch":       append(ext, "core.repositoryFormatVersion=1", "extensions.partialClone=evil", "remote.evil.url=ext::EVIL", "remote.evil.promisor=true"),
		"lazy upload":      {"core.repositoryFormatVersion=1", "extensions.partialClone=evil", "remote.evil.url=.", "remote.evil.uploadpack=EVIL", "remote.evil.promisor=true"},
		"lazy ssh":         {"core.repositoryFormatVersion=1", "extensions.partialClone=evil", "remote.evil.url=ssh://a/b", "core.sshCommand=EVIL", "remote.evil.promisor=true"},
		"alias":            {"alias.status=!EVIL", "alias.tag=!EVIL", "alias.push=!EVIL", "alias.ls-remote=!EVIL", "alias.rev-parse=!EVIL"},
		"trailer":          {"trailer.x.command=EVIL", "trailer.x.cmd=EVIL"},
		"archive":          {"tar.x.command=EVIL"},
		"submodule":        {"submodule.sub.update=!EVIL", "submodule.recurse=true", "push.recurseSubmodules=on-demand", "status.submoduleSummary=true"},
		"collection":       {"gc.auto=1", "gc.autoDetach=false", "maintenance.auto=true", "gc.recentObjectsHook=EVIL"},
		"template":         {"init.templateDir=EVIL.d", "commit.template=EVIL"},
		"browser":          {"browser.x.cmd=EVIL", "web.browser=x", "man.x.cmd=EVIL", "help.browser=x"},
	}
}

// trap is a repository whose configuration can be changed, and the programs in it.
type trap struct {
	*Repo
	t      *testing.T
	run    func(...string) string
	base   []byte // the configuration without anything hostile
	ran    string // is written by the program
	evil   string
	host   string // of a server that wants a password
	commit string
}

func newTrap(t *testing.T) *trap {
	r, run := scratch(t)
	x := &trap{Repo: r, t: t, run: run, ran: filepath.Join(t.TempDir(), "ran"), evil: filepath.Join(r.WorkTree, "evil.sh")}
	put(t, r, ".gitattributes", "* filter=x diff=x merge=x\n")
	put(t, r, ".ai/a", "a")
	run("add", ".")
	run("commit", "-q", "-m", "one")
	x.commit = run("rev-parse", "HEAD")
	run("init", "-q", "--bare", filepath.Join(r.WorkTree, "up.git"))
	run("remote", "add", "origin", filepath.Join(r.WorkTree, "up.git"))
	put(t, r, "evil.sh", "#!/bin/sh\necho \"$0 $*\" >>'"+x.ran+"'\nexit 1\n")
	put(t, r, "evil.sh.config", "[filter \"x\"]\n\tclean = "+x.evil+"\n")
	put(t, r, ".git/config.worktree", "[filter \"x\"]\n\tclean = "+x.evil+"\n")
	for _, hook := range []string{"pre-push", "reference-transaction", "post-index-change", "pre-commit", "push-to-checkout", "fsmonitor-watchman"} {
		put(t, r, "evil.sh.d/"+hook, "#!/bin/sh\nexec '"+x.evil+"'\n")
		put(t, r, ".git/hooks/"+hook, "#!/bin/sh\nexec '"+x.evil+"'\n")
		for _, dir := range []string{"evil.sh.d/", ".git/hooks/"} {
			if err := os.Chmod(filepath.Join(r.WorkTree, dir+hook), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(x.evil, 0o755); err != nil {
		t.Fatal(err)
	}
	x.base = read(t, filepath.Join(r.GitDir, "config"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	x.host = server.URL
	x.harmless()
	return x
}

// harmless puts programs first in PATH that git starts by default, and that must not
// reach the keys of the person who runs the tests.
func (x *trap) harmless() {
	x.t.Helper()
	dir := x.t.TempDir()
	for _, name := range []string{"gpg", "gpgsm", "ssh-keygen", "ssh"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			x.t.Fatal(err)
		}
	}
	x.env = append(x.env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// set replaces the configuration.
func (x *trap) set(lines ...string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.GitDir, "config"), x.base, 0o644); err != nil {
		x.t.Fatal(err)
	}
	_ = os.Remove(x.ran)
	for _, line := range lines {
		at := strings.LastIndex(line, "=")
		fill := strings.NewReplacer("EVIL", x.evil, "HOST", x.host)
		x.run("config", "--file", filepath.Join(x.GitDir, "config"), fill.Replace(line[:at]), fill.Replace(line[at+1:]))
	}
	// git looks for changes in files that are newer than the index.
	put(x.t, x.Repo, ".ai/a", "a")
}

func (x *trap) check(what string) {
	x.t.Helper()
	if b, err := os.ReadFile(x.ran); err == nil {
		x.t.Errorf("%s: the program of the repository ran: %s", what, b)
		_ = os.Remove(x.ran)
	}
}

// TestProgramsOfTheRepository calls every command that can start programs with each
// setting that names one (security 16).
func TestProgramsOfTheRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a thousand processes")
	}
	x := newTrap(t)
	i := 0
	for name, lines := range hostile() {
		i++
		tag := "v" + strings.Repeat("x", i)
		x.set(lines...)
		_, _ = x.Unclean(t.Context(), "")
		x.check(name + ": status")
		_, _ = x.MakeTag(t.Context(), TagParams{Name: tag, Commit: x.commit, Message: "x", Sign: i%2 == 0})
		x.check(name + ": tag")
		for _, remote := range []string{"origin", "ssh://a@localhost/b", x.host, "git://localhost:1/x", "ext::" + x.evil} {
			_, _ = x.RemoteTag(t.Context(), remote, tag)
			x.check(name + ": ls-remote " + remote)
		}
		_ = x.PushTag(t.Context(), "origin", tag)
		x.check(name + ": push")
	}
	for name, lines := range hostile() {
		x.set(lines...)
		x.plumbing()
		x.check(name + ": plumbing")
	}
}

// plumbing calls what other verbs use.
func (x *trap) plumbing() {
	ctx := x.t.Context()
	missing := strings.Repeat("1", 40)
	if b, err := x.Batch(ctx); err == nil {
		_ = b.Read([]string{missing}, 10, func(int, Object) {})
		_ = b.Close()
	}
	_, _ = x.Sizes(ctx, []string{missing})
	_, _ = x.Tree(ctx, x.commit, "")
	_, _ = x.Staged(ctx, x.commit, "")
	_, _ = x.Resolve(ctx, missing)
	_, _ = x.Tag(ctx, "v")
	_, _ = x.Elsewhere(ctx, func() []string { return []string{missing} })
	_, _ = x.Skipped(ctx, []string{".ai/a"})
	_, _ = x.Ignored(ctx, []string{".ai/a"})
	_, _ = Tracked(ctx, x.WorkTree, x.env)
	blob := x.Encoder().Blob([]byte("a"))
	if err := x.WriteBlobs(ctx, []*Blob{blob}); err == nil {
		_ = x.UpdateIndex(ctx, []Entry{{ModeFile, blob.OID, ".ai/a"}})
	}
	file := filepath.Join(x.WorkTree, ".ai", "a")
	_, _, _ = x.MergeFile(ctx, Versions{file, file, file}, "7")
}

// TestTrap runs git itself: the settings of TestProgramsOfTheRepository do start
// programs.
func TestTrap(t *testing.T) {
	if testing.Short() {
		t.Skip("starts git for each trap")
	}
	x := newTrap(t)
	works := func(name string, args ...string) {
		t.Helper()
		x.set(hostile()[name]...)
		cmd := x.command(t.Context())
		cmd.Args, cmd.Env = append([]string{"git"}, args...), append(slices.Clone(x.env), "GIT_ALLOW_PROTOCOL=file:ext:ssh:http")
		_ = cmd.Run()
		if _, err := os.Stat(x.ran); err != nil {
			t.Errorf("%s: git %q started nothing", name, args)
		}
	}
	works("fsmonitor", "status")
	works("clean", "status")
	works("process", "status")
	works("included", "status")
	works("ssh", "ls-remote", "ssh://a/b")
	works("helper", "ls-remote", x.host)
	works("shell helper", "ls-remote", x.host)
	works("helper of a host", "ls-remote", x.host)
	works("uploadpack", "ls-remote", "origin")
	works("receivepack", "push", "origin", "HEAD:refs/heads/x")
	works("hooks", "push", "origin", "HEAD:refs/heads/y")
	works("ext", "ls-remote", "origin")
	works("vcs", "ls-remote", "origin")
	works("instead of", "ls-remote", "origin")
	works("gpg", "tag", "-m", "x", "a")
	works("ssh signature", "tag", "-m", "x", "b")
	works("ssh key", "tag", "-m", "x", "c")
}

// git status reads the configuration of a submodule, unless an option forbids it.
func TestSubmoduleIsNotRead(t *testing.T) {
	x := newTrap(t)
	x.set()
	sub := filepath.Join(x.WorkTree, "sub")
	x.run("init", "-q", "sub")
	put(t, x.Repo, "sub/.gitattributes", "* filter=x\n")
	put(t, x.Repo, "sub/a", "a")
	x.run("-C", sub, "add", ".")
	x.run("-C", sub, "commit", "-q", "-m", "sub")
	x.run("-c", "advice.addEmbeddedRepo=false", "add", "sub")
	x.run("-C", sub, "config", "filter.x.clean", x.evil)
	put(t, x.Repo, "sub/a", "b")
	_ = os.Remove(x.ran) // the hooks of the repository ran
	if _, err := x.Unclean(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	x.check("status")
	x.run("status", "--ignore-submodules=none")
	if _, err := os.Stat(x.ran); err != nil {
		t.Error("git itself started nothing")
	}
}

// TestOwnProgramsStay: the settings of the user apply where the repository overrides
// them.
func TestOwnProgramsStay(t *testing.T) {
	list := []setting{
		{"credential.helper", "store", false}, {"core.sshcommand", "ssh -4", false},
		{"credential.helper", "evil", true}, {"core.sshcommand", "evil", true}, {"gpg.program", "evil", true},
		{"filter.lfs.clean", "git-lfs", false}, {"credential.https://a.helper", "!a", false}, {"user.name", "a", true},
	}
	options, ignored := overrides(list)
	want := []string{"core.sshcommand=ssh -4", "gpg.program=gpg", "credential.helper=", "credential.helper=store", "credential.https://a.helper=!a"}
	if got := slices.DeleteFunc(options, func(s string) bool { return s == "-c" }); !slices.Equal(got, want) {
		t.Errorf("options %q, want %q", got, want)
	}
	if want := []string{"credential.helper", "core.sshcommand", "gpg.program"}; !slices.Equal(ignored, want) {
		t.Errorf("ignored %q, want %q", ignored, want)
	}
	if options, ignored := overrides(list[:2]); options != nil || ignored != nil {
		t.Errorf("without a repository's programs: %q %q", options, ignored)
	}
}
