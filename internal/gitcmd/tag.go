package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Ref is the target of a tag: the object it names, and the commit of that object.
// They are equal for a lightweight tag. The zero Ref is an absent tag.
type Ref struct {
	Object string
	Commit string
}

const tags = "refs/tags/"

// Unclean returns the paths, relative to the top, at or below path that differ
// between the work tree, the index and the current commit; "" compares all.
// Untracked files are included, ignored ones are not.
func (r *Repo) Unclean(ctx context.Context, path string) ([]string, error) {
	args := []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames"} // git would read the configuration of a submodule
	if path != "" {
		args = append(args, "--", path)
	}
	out, err := r.top().guarded(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	var list []string
	for rec := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(rec) > 3 {
			list = append(list, string(rec[3:])) // after two letters and a space
		}
	}
	slices.Sort(list)
	return list, nil
}

// State returns the branch, "" if HEAD is detached, and whether files of the work tree differ
// from the current commit or are not tracked. Ignored files do not count.
func (r *Repo) State(ctx context.Context) (branch string, changed bool, err error) {
	out, err := r.top().guarded(ctx, nil, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return "", false, err
	}
	for rec := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, isBranch := strings.CutPrefix(rec, "# branch.head ")
		switch {
		case isBranch && name != "(detached)":
			branch = name
		case rec != "" && !strings.HasPrefix(rec, "# "):
			changed = true
		}
	}
	return branch, changed, nil
}

// Commit returns the commit that a revision names.
func (g *Git) Commit(ctx context.Context, rev string) (string, error) {
	oid, err := g.revParse(ctx, rev+"^{commit}")
	if diag.CodeOf(err) == diag.ExecutionFailed {
		return "", diag.New(diag.VersionNotFound, "resolving %s: the repository has no such commit", rev).WithReason("no_commit")
	}
	return oid, err
}

// Tag returns the target of a tag of this repository.
func (g *Git) Tag(ctx context.Context, name string) (Ref, error) {
	out, err := g.run(ctx, nil, "for-each-ref", "--format=%(objectname) %(*objectname)", tags+name)
	if err != nil {
		return Ref{}, err
	}
	line, _, _ := strings.Cut(string(out), "\n") // the exact name sorts before the names below it
	object, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
	if object == "" {
		return Ref{}, nil
	}
	got, err := g.revParse(ctx, tags+name)
	if err != nil || got != object {
		return Ref{}, nil // only names below it exist
	}
	if commit == "" {
		commit = object
	}
	return Ref{object, commit}, nil
}

// RemoteTag returns the target of a tag of another repository, which is the name
// of a remote or an address.
func (g *Git) RemoteTag(ctx context.Context, remote, name string) (Ref, error) {
	out, err := g.remote(
		ctx,
		"ls-remote",
		"--upload-pack=git-upload-pack",
		"--",
		remote,
		tags+name,
		tags+name+"^{}",
	)
	if err != nil {
		return Ref{}, unreached(remote, err)
	}
	var ref Ref
	for line := range strings.Lines(string(out)) {
		oid, at, _ := strings.Cut(strings.TrimSpace(line), "\t")
		switch at {
		case tags + name:
			ref.Object = oid
		case tags + name + "^{}":
			ref.Commit = oid
		}
	}
	if ref.Commit == "" {
		ref.Commit = ref.Object
	}
	return ref, nil
}

func unreached(remote string, err error) error {
	if diag.CodeOf(err) == diag.Cancelled {
		return err
	}
	failed := diag.New(diag.Network, "connecting to %s: %w", remote, err).
		WithReason("git_remote").
		WithDetail("remote", remote)
	var e *diag.Error
	if errors.As(err, &e) && e.Reason == ignored {
		return failed.WithReason(ignored).WithDetail("settings", e.Details["settings"])
	}
	return failed
}

// TagParams describes a tag to create.
type TagParams struct {
	Name    string
	Commit  string
	Message string
	Sign    bool // sign it even if git is not configured to
}

// MakeTag creates an annotated tag, signed if git is configured to sign tags. It
// does not replace a tag. An unsigned tag is removed again if it had to be
// signed: git exits with 0 when it finds no key.
func (g *Git) MakeTag(ctx context.Context, p TagParams) (Ref, error) {
	args := []string{"tag", "-F", "-"}
	if p.Sign {
		args = append(args, "-s")
	}
	_, err := g.guarded(
		ctx,
		strings.NewReader(p.Message),
		append(args, "--", p.Name, p.Commit)...,
	)
	if err != nil {
		return Ref{}, err
	}
	ref, err := g.Tag(ctx, p.Name)
	if err != nil || !p.Sign && !g.signsTags(ctx) {
		return ref, err
	}
	signed, err := g.Signed(ctx, ref.Object)
	if err != nil || signed {
		return ref, err
	}
	_, err = g.run(ctx, nil, "update-ref", "-d", tags+p.Name, ref.Object)
	if err != nil {
		return Ref{}, err
	}
	return Ref{}, diag.New(diag.ExecutionFailed, "running git tag: git did not sign %s", p.Name).
		WithReason("tag_unsigned")
}

// signsTags reports whether git is configured to sign annotated tags.
func (g *Git) signsTags(ctx context.Context) bool {
	for _, name := range []string{"tag.gpgSign", "tag.forceSignAnnotated"} {
		// git exits with 1 if the name is absent.
		out, err := g.run(ctx, nil, "config", "--type=bool", "--get", name)
		if err == nil && strings.TrimSpace(string(out)) == "true" {
			return true
		}
	}
	return false
}

// Signed reports whether a tag object has a signature.
func (g *Git) Signed(ctx context.Context, object string) (bool, error) {
	out, err := g.run(ctx, nil, "cat-file", "tag", object)
	return bytes.Contains(out, []byte("\n-----BEGIN ")), err
}

// PushTag pushes one tag only.
func (g *Git) PushTag(ctx context.Context, remote, name string) error {
	_, err := g.remote(
		ctx,
		"push",
		"--quiet",
		"--no-follow-tags",
		"--no-recurse-submodules",
		"--receive-pack=git-receive-pack",
		"--",
		remote,
		tags+name+":"+tags+name,
	)
	if err != nil {
		return unreached(remote, err)
	}
	return nil
}
