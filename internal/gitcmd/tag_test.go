package gitcmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestTags(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		r, run := scratch(t, "--object-format="+format)
		if _, err := r.Commit(t.Context(), "HEAD"); diag.CodeOf(err) != diag.VersionNotFound {
			t.Errorf("%s: HEAD before the first commit: %v", format, err)
		}
		run("commit", "-q", "--allow-empty", "-m", "one")
		one := run("rev-parse", "HEAD")
		run("tag", "v1/below") // whose names begin like the one that is asked for
		for _, name := range []string{"v1", "v"} {
			if ref, err := r.Tag(t.Context(), name); err != nil || ref != (Ref{}) {
				t.Errorf("%s: tag %s is %+v, %v", format, name, ref, err)
			}
		}
		run("tag", "light")
		if ref, err := r.Tag(t.Context(), "light"); err != nil || ref != (Ref{one, one}) {
			t.Errorf("%s: a lightweight tag is %+v, %v", format, ref, err)
		}
		made, err := r.MakeTag(t.Context(), TagParams{Name: "a/b/v2", Commit: one, Message: "-s is text\n"})
		if err != nil || made.Commit != one || made.Object == one || run("cat-file", "-t", made.Object) != "tag" {
			t.Fatalf("%s: %+v, %v", format, made, err)
		}
		if signed, err := r.Signed(t.Context(), made.Object); err != nil || signed {
			t.Errorf("%s: signed %t, %v", format, signed, err)
		}
		run("commit", "-q", "--allow-empty", "-m", "two")
		if _, err := r.MakeTag(t.Context(), TagParams{Name: "a/b/v2", Commit: run("rev-parse", "HEAD"), Message: "x"}); err == nil {
			t.Errorf("%s: a tag was replaced", format)
		}
		if ref, err := r.Tag(t.Context(), "a/b/v2"); err != nil || ref != made {
			t.Errorf("%s: %+v, %v; want %+v", format, ref, err, made)
		}
		if _, err := r.MakeTag(t.Context(), TagParams{Name: "-d", Commit: one, Message: "x"}); err == nil {
			t.Errorf("%s: a tag is named like an option", format)
		}
	}
}

func TestRemoteTags(t *testing.T) {
	r, run := scratch(t)
	run("commit", "-q", "--allow-empty", "-m", "one")
	made, err := r.MakeTag(t.Context(), TagParams{Name: "v1", Commit: run("rev-parse", "HEAD"), Message: "x"})
	if err != nil {
		t.Fatal(err)
	}
	run("tag", "other")
	remote := filepath.Join(t.TempDir(), "remote")
	run("init", "-q", "--bare", remote)
	if ref, err := r.RemoteTag(t.Context(), remote, "v1"); err != nil || ref != (Ref{}) {
		t.Errorf("before: %+v, %v", ref, err)
	}
	if err := r.PushTag(t.Context(), remote, "v1"); err != nil {
		t.Fatal(err)
	}
	if ref, err := r.RemoteTag(t.Context(), remote, "v1"); err != nil || ref != made {
		t.Errorf("after: %+v, %v; want %+v", ref, err, made)
	}
	if all := run("ls-remote", remote); strings.Contains(all, "other") || strings.Contains(all, "heads") {
		t.Errorf("more than the tag was pushed: %s", all)
	}
	for _, bad := range []string{filepath.Join(remote, "nowhere"), "--upload-pack=touch x", "-x"} {
		if _, err := r.RemoteTag(t.Context(), bad, "v1"); diag.CodeOf(err) != diag.Network {
			t.Errorf("asking %q: %v", bad, err)
		}
		if err := r.PushTag(t.Context(), bad, "v1"); diag.CodeOf(err) != diag.Network {
			t.Errorf("pushing to %q: %v", bad, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.WorkTree, "x")); err == nil {
		t.Error("a remote was taken for an option")
	}
}

func TestUnclean(t *testing.T) {
	r, run := scratch(t)
	put(t, r, "a/kept", "1")
	put(t, r, "a/edited", "1")
	put(t, r, "b/edited", "1")
	put(t, r, "a/gone", "1")
	put(t, r, ".gitignore", "ignored\n")
	run("add", ".")
	run("commit", "-q", "-m", "x")
	clean := func(path string, want ...string) {
		t.Helper()
		if got, err := r.Unclean(t.Context(), path); err != nil || !slices.Equal(got, want) {
			t.Errorf("below %q: %q, %v; want %q", path, got, err, want)
		}
	}
	clean("")
	put(t, r, "a/edited", "2")
	put(t, r, "b/edited", "2")
	put(t, r, "a/new file", "1")
	put(t, r, "a/staged", "1")
	put(t, r, "a/ignored", "1")
	run("add", "a/staged")
	run("rm", "-q", "a/gone")
	clean("a", "a/edited", "a/gone", "a/new file", "a/staged")
	clean("b", "b/edited")
	clean("", "a/edited", "a/gone", "a/new file", "a/staged", "b/edited")
}
