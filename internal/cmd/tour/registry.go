package tour

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/lock"
)

// The registry of the tour. Its host exists in the tour only: --url names the address.
const (
	tourRegistry = "rye.example"
	tourBundle   = "registry:" + tourRegistry + "/demo/news"
)

// findServer looks for rye-server, and prints how to install it if the chapters about a registry
// cannot be shown.
func (t *tour) findServer(ctx context.Context) {
	if runtime.GOOS == "windows" {
		return // these chapters are empty there
	}
	if _, t.noServer = self.Server(ctx, t.c.World); t.noServer != nil {
		t.c.UI.Note("the chapters about a registry are left out: %v", t.noServer)
		t.c.UI.Note("they need: %s", cli.Hint(diag.Typed(t.noServer)))
	}
}

// registry publishes a bundle to a registry of its own.
func (t *tour) registry(ctx context.Context) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	data := filepath.Join(t.dir, "registry")
	address, key, stop, err := t.serveRegistry(ctx, data)
	if err != nil {
		return err
	}
	t.registryData = data
	t.registryURL = address
	t.serving = append(t.serving, stop)
	return t.in(filepath.Join(t.dir, "news"), func() error {
		return errors.Join(
			t.rye(ctx, 0, "The operator grants your key a namespace.", "key", "export", ">", "you.toml"),
			t.rye(ctx, 0, "", "registry", "admin", "namespace", "grant", "demo", "you.toml", "--data", data),
			t.rye(ctx, 0, "Pin the key of the log: from now on rye compares every state of it with those that it saw.", "registry", "add", tourRegistry, "--url", address, "--log-key", key),
			t.rye(ctx, 0, "A bundle with one tool. Its rye.yaml, which the signed manifest lists, has the name for the registry.", "init"),
			t.write(lock.ProjectFileName, "rye: 1\nname: "+tourBundle+"\n"),
			t.newsTool(ctx),
			t.rye(ctx, 0, "", "bundle", "create", "news", "--version", "1.0.0"),
			t.rye(ctx, 0, "Publish it. The answer has a proof that the log contains it.", "registry", "publish"),
		)
	})
}

// fromRegistry adds the bundle, and changes what the registry serves.
func (t *tour) fromRegistry(ctx context.Context) error {
	if t.registryURL == "" {
		return nil
	}
	err := errors.Join(
		t.rye(ctx, 0, "Search on your computer, without sending the query.", "registry", "search", "news"),
		t.rye(ctx, 0, "Add it: rye verifies the log, the archive and the author's signature.", "add", tourBundle),
		t.rye(ctx, 0, "", "run", "tool", "news/greet", "name=registry"),
	)
	if err != nil {
		return err
	}
	err = spoilArchive(filepath.Join(t.registryData, "public", "archive"))
	if err != nil {
		return err
	}
	return t.rye(ctx, cli.ExitStatus(diag.HashMismatch), "The operator changes one archive. Anybody can verify all files of a registry.", "registry", "verify", t.registryURL)
}

// serveRegistry starts a registry in a process of its own, and returns its address and the
// key of its log.
func (t *tour) serveRegistry(ctx context.Context, data string) (address, key string, stop func(), err error) {
	args := []string{"registry", "serve", "--data", data, "--addr", "127.0.0.1:0", "--public-url", "https://" + tourRegistry}
	t.say("A registry is static files with a log that only grows. This one serves your computer only.")
	t.out("%s\n", t.c.UI.Style(
		cli.Cyan,
		"$ rye "+strings.Join(args, " "),
	))
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, t.c.Self, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.dir, t.env(), 5*time.Second
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", "", nil, diag.New(diag.ExecutionFailed, "running rye registry serve: %w", err)
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}
	at := regexp.MustCompile(`on (http://[0-9.:]+): `)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := at.FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
		_, rest, ok := strings.Cut(lines.Text(), "key of the log: ")
		if ok {
			return address, strings.TrimSpace(rest), stop, nil
		}
	}
	stop()
	return "", "", nil, diag.New(diag.ExecutionFailed, "running rye registry serve: it ended before it served")
}

// newsTool writes and signs the tool of the bundle.
func (t *tour) newsTool(ctx context.Context) error {
	name, text := tourTool()
	rel := filepath.Join(".ai", "tools", "news", "greet"+filepath.Ext(name))
	return errors.Join(t.write(rel, strings.ReplaceAll(text, "category: demo", "category: news")),
		t.rye(ctx, 0, "", "sign", "tool:news/greet"))
}

// spoilArchive changes the first archive below a directory.
func spoilArchive(dir string) error {
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := os.Chmod(p, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(p, []byte("another file"), 0o644); err != nil {
			return err
		}
		return fs.SkipAll
	})
	if err != nil {
		return diag.New(diag.FileSystemError, "changing an archive: %w", err)
	}
	return nil
}
