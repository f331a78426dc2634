package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"run","Package":"m/a","Test":"TestBad"}
{"Action":"run","Package":"m/a","Test":"TestBad/one"}
{"Action":"output","Package":"m/a","Test":"TestBad/one","Output":"it broke\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad/one"}
{"Action":"fail","Package":"m/a","Test":"TestBad"}
{"Action":"run","Package":"m/a","Test":"TestOther"}
{"Action":"skip","Package":"m/a","Test":"TestOther"}
{"Action":"fail","Package":"m/a"}
{"Action":"run","Package":"m/dies","Test":"TestEnds"}
{"Action":"fail","Package":"m/dies"}
{"Action":"fail","Package":"m/build"}
{"Action":"skip","Package":"m/none"}
`

func check(t *testing.T, list, in string) (string, error) {
	t.Helper()
	entries, err := parseList(list)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readResults(strings.NewReader(in), "m/")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = judge(&out, entries, r)
	return out.String(), err
}

const full = "wine a TestBad it needs more\nours dies TestEnds why\nours build - why\n"

func TestListNamesEveryFailure(t *testing.T) {
	t.Parallel()
	out, err := check(t, full, events)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "3 packages: 1 tests passed, 1 skipped by themselves, 3 failures in the list (1 gaps of Wine, 2 ours), 0 packages left out\n"; out != want {
		t.Errorf("%q, not %q", out, want)
	}
}

func TestListCanOnlyShrink(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"wine a TestBad/one r\nours dies TestEnds r\n":            "not in the list: build -",
		"wine a TestBad r\nours build - r\n":                      "not in the list: dies TestEnds",
		"ours dies TestEnds r\nours build - r\n":                  "not in the list: a TestBad/one\nit broke",
		"wine a TestBa r\nours dies TestEnds r\nours build - r\n": "not in the list: a TestBad/one",
		full + "wine a TestGood r\n":                              "no longer fails, remove it from the list: a TestGood",
		full + "wine a TestGone r\n":                              "no longer fails, remove it from the list: a TestGone",
	} {
		out, err := check(t, list, events)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v, %q is not in\n%s", list, err, want, out)
		}
	}
}

func TestMissingPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, packages := filepath.Join(dir, "list"), filepath.Join(dir, "packages")
	if err := errors.Join(os.WriteFile(list, []byte(full), 0o600), os.WriteFile(packages, []byte("m/a\nm/none\nm/late\nm/never\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := run(strings.NewReader(events+`{"Action":"run","Package":"m/late","Test":"TestX"}`+"\n"), &out, list, "m/", packages, false, false)
	for _, want := range []string{"not in the list: late -\nit has no result", "not in the list: late TestX", "not in the list: never -\nit has no result"} {
		if err == nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, %q is not in\n%s", err, want, out.String())
		}
	}
}

func TestBadLists(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"wine a TestBad":            "line 1: OWNER PACKAGE TEST REASON is expected",
		"# c\n\nhers a T r":         `line 3: the owner is wine or ours, not "hers"`,
		"wine a T r\nours a T more": "line 2: a T is listed twice",
	} {
		if _, err := parseList(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", list, err)
		}
	}
	if _, err := readResults(strings.NewReader("nothing\n"), ""); err == nil {
		t.Error("a run without a package passes")
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("wine! a TestX/b.c it waits\nours? a TestGood r\nours left * r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(nil, &out, list, "m/", "", true, false); err != nil || out.String() != "a ^TestX$/^b\\.c$\nleft *\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	// A test that fails at times may pass, and a package that is left out does not run.
	got, err := check(t, full+"ours? a TestGood r\nours left * it is slow\n", events)
	if err != nil || !strings.Contains(got, "left out: left (ours): it is slow") || !strings.Contains(got, "1 packages left out") {
		t.Errorf("%q, %v", got, err)
	}
}

// A package with a failure that the list does not name gets a second try, and the last
// result of a test counts.
func TestSecondTry(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("ours dies TestEnds why\nours build - why\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := func(in string) string {
		var out strings.Builder
		if err := run(strings.NewReader(in), &out, list, "m/", "", false, true); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := again(events); got != "a\n" {
		t.Errorf("the packages for a second try: %q", got)
	}
	second := strings.NewReplacer("\"fail\"", "\"pass\"").Replace(events[:strings.Index(events, `{"Action":"run","Package":"m/dies"`)])
	if got := again(events + second); got != "" {
		t.Errorf("after a second try that passed: %q", got)
	}
}
