// Command winecheck judges a run of the tests under Wine. It reads the output of
// go test -json, prints the output of the tests that failed, and compares them with a list
// of known failures. The list can only shrink: a failure that it does not name and an
// entry whose test no longer fails both end it with status 1. A package without a result,
// for example because the time was over, has failed.
//
// It does not run the tests: .ci/windows does.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	list := flag.String("list", "testdata/windows/failures.txt", "the `FILE` of known failures")
	packages := flag.String("packages", "", "a `FILE` with a line for each package that was to be tested")
	module := flag.String("module", "github.com/ryeos/rye/", "`PREFIX` that the list leaves out of packages")
	hanging := flag.Bool("hanging", false, "print the packages and tests that run alone, as patterns of go test -run, and the packages that are left out with *, and exit")
	retry := flag.Bool("again", false, "print the packages with failures that the list does not name, for a second try, and exit")
	flag.Parse()
	err := run(os.Stdin, os.Stdout, *list, *module, *packages, *hanging, *retry)
	if err != nil {
		fmt.Fprintln(os.Stderr, "winecheck:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, list, module, packages string, hanging, retry bool) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("reading the list: %w", err)
	}
	entries, err := parseList(string(text))
	if err != nil {
		return fmt.Errorf("reading %s: %w", list, err)
	}
	if hanging {
		for _, e := range entries {
			switch {
			case e.test == "*":
				fmt.Fprintln(out, e.pkg, "*")
			case e.mark == "!":
				fmt.Fprintln(out, e.pkg, e.pattern())
			}
		}
		return nil
	}
	r, err := readResults(in, module)
	if err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	if packages != "" {
		expected, err := os.ReadFile(packages)
		if err != nil {
			return fmt.Errorf("reading the packages: %w", err)
		}
		r.expect(strings.Fields(string(expected)), module)
	}
	if retry {
		for _, pkg := range unknown(entries, r) {
			fmt.Fprintln(out, pkg)
		}
		return nil
	}
	return judge(out, entries, r)
}
