package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/testing/sourcetest"
)

// peakMain runs a program and compares the memory of its whole process tree with a
// number of MiB: peak MIB PROGRAM [ARG…]. Its exit status is that of the program.
func peakMain(args []string) int {
	limit, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: peak MIB PROGRAM [ARG…]")
		return 2
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_, peak, err := sourcetest.Peak(cmd)
	fmt.Fprintf(os.Stderr, "peak: %d MiB\n", peak>>20)
	if peak > limit<<20 {
		fmt.Fprintf(os.Stderr, "peak: that is more than %d MiB\n", limit)
		return 99
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peak:", err)
		return 98
	}
	return 0
}

// cmdZeros makes a sparse file of zeros.
func cmdZeros(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "zeros FILE MIB")
	mib, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o644))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), mib<<20))
}

// cmdRawTree makes a branch whose root tree has entries in any order, each given as
// MODE,NAME,REVISION. Git writes none like it, but accepts it from a push.
func cmdRawTree(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 3, "rawtree REPOSITORY BRANCH MODE,NAME,REVISION…")
	repo := ts.MkAbs(args[0])
	git := func(stdin string, args ...string) string {
		c := exec.Command("git", args...)
		c.Dir, c.Stdin = repo, strings.NewReader(stdin)
		c.Env = sourcetest.Environ("GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test")
		out, err := c.Output()
		ts.Check(err)
		return strings.TrimSpace(string(out))
	}
	var tree strings.Builder
	for _, word := range args[2:] {
		parts := strings.SplitN(word, ",", 3)
		oid, err := hex.DecodeString(git("", "rev-parse", parts[2]))
		ts.Check(err)
		fmt.Fprintf(&tree, "%s %s\x00%s", parts[0], parts[1], oid)
	}
	oid := git(tree.String(), "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
	commit := git("", "commit-tree", oid, "-m", args[1])
	git("", "update-ref", "refs/heads/"+args[1], commit)
}
