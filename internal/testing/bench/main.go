// Command bench measures the rye program against bare references in the same
// run and prints ratios; bench/run builds both and calls it.
//
// It measures whole processes and is not part of the program. The benchmarks of
// single functions are in the packages of those functions; no test checks the
// figures.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	err := run(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the bench itself, or one of the helpers that it starts as processes.
func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "corpus" {
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return writeCorpus(args[1], 0, n)
	}
	if len(args) == 3 && args[0] == "reference" {
		public, err := base64.StdEncoding.DecodeString(args[2])
		if err != nil || len(public) != ed25519.PublicKeySize {
			return fmt.Errorf("%q is not a public key", args[2])
		}
		return reference(args[1], public)
	}
	if len(args) == 2 && args[0] == "files" {
		return serveFiles(args[1])
	}
	if len(args) == 3 && args[0] == "reserve" {
		return reserve(ctx, args[1], args[2])
	}
	if len(args) == 4 && args[0] == "lines" {
		count, err := strconv.Atoi(args[2])
		length, err2 := strconv.Atoi(args[3])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		return writeLines(args[1], count, length)
	}
	if len(args) == 7 && args[0] == "landlock" {
		return inLandlock(
			args[1],
			args[2],
			args[3],
			args[4],
			args[5],
			args[6],
		)
	}
	var b bench
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.StringVar(&b.rye, "rye", "", "the rye `program`, absolute")
	set.StringVar(&b.work, "work", "", "an empty `folder` to work in, absolute")
	set.StringVar(&b.python, "python", "", "the Python `program` with SQLite, for the step quality")
	quick := set.Bool("quick", false, "small corpora and few rounds")
	set.StringVar(&b.only, "only", "", "measure one `step`: verify, git, packages, search, run, sandbox, graph, threads, children, agent, ledger, registry, serve, start or quality")
	if err := set.Parse(args); err != nil {
		return err
	}
	if !filepath.IsAbs(b.rye) || !filepath.IsAbs(b.work) {
		return errors.New("-rye and -work must be absolute paths")
	}
	b.sizes = []int{1000, 10_000}
	b.rounds = 9
	b.spawns = 200
	if *quick {
		b.sizes = []int{200, 1000}
		b.rounds = 3
		b.spawns = 20
	}
	return b.all(ctx)
}

// bench is one run.
type bench struct {
	rye, work      string
	self, python   string
	sizes          []int
	rounds, spawns int
	public         string // of the key that signs, base64
	only           string // the one step to measure, "" for all
}

func (b *bench) all(ctx context.Context) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if err := b.makeKey(); err != nil {
		return err
	}
	fmt.Printf("%s/%s, %d processors, %s; medians (fastest–slowest)\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	known := false
	for _, step := range []struct {
		name string
		do   func() error
	}{{"verify", b.verify}, {"git", b.git}, {"packages", b.packages}, {"search", b.search}, {"run", b.runTool}, {"sandbox", b.sandbox}, {"graph", b.graphs}, {"threads", b.threads}, {"children", b.children}, {"agent", b.agents}, {"ledger", func() error { return b.ledger(ctx) }},
		{"registry", func() error { return b.registry(ctx) }}, {"serve", b.serve}, {"start", b.start}, {"quality", b.quality}} {
		if b.only != step.name && (b.only != "" || step.name == "quality") { // it downloads
			continue
		}
		known = true
		if err := step.do(); err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("there is no step %q", b.only)
	}
	return nil
}

// env is the environment of a separate home.
func (b *bench) env() []string {
	home := filepath.Join(b.work, "home")
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	for _, name := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(home, strings.ToLower(name)))
	}
	return env
}

func (b *bench) program(dir string, argv ...string) program {
	return program{argv: argv, dir: dir, env: b.env()}
}

// makeKey makes the key that signs the corpora and remembers its public half.
func (b *bench) makeKey() error {
	err := os.MkdirAll(filepath.Join(b.work, "home"), 0o700)
	if err != nil {
		return err
	}
	_, err = b.program(
		b.work,
		b.rye,
		"key",
		"new",
		"--owner",
		"bench",
		"--no-passphrase",
	).once()
	if err != nil {
		return err
	}
	found, _ := filepath.Glob(filepath.Join(b.work, "home", "config", "rye", "trust", "key-*.toml"))
	if len(found) != 1 {
		return fmt.Errorf("rye key new wrote %d documents, want 1", len(found))
	}
	doc, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(doc), "public-key = \"")
	b.public, _, _ = strings.Cut(rest, "\"")
	return nil
}
