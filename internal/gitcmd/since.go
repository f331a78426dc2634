package gitcmd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
)

// sinceAncestors is the number of commits before one whose times bound its own.
const sinceAncestors = 100

// Since returns when the first-parent history of a commit last got a text in a
// file, and the zero time if no commit of it changed the text. Path is relative to
// the top of the repository.
//
// The first parents are the commits of the branch itself: for a merge, its time is used and
// not the times of the merged commits, which their author chose. A time before the time of an
// earlier commit of the branch is not believed either.
func (r *Repo) Since(ctx context.Context, rev, path, text string) (time.Time, error) {
	commit, err := r.revParse(ctx, rev+"^{commit}")
	if err != nil {
		return time.Time{}, diag.New(diag.VersionNotFound, "resolving revision %q: it is not a commit", rev).WithReason("no_revision")
	}
	found, err := r.firstParents(
		ctx,
		"-n1",
		"-m",
		"--no-ext-diff",
		"--no-textconv",
		"--no-renames",
		"-S"+text,
		commit,
		"--",
		path,
	)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	before, err := r.firstParents(
		ctx,
		"-n"+strconv.Itoa(sinceAncestors),
		found[0].id,
		"--",
	)
	at := found[0].at
	for _, c := range before {
		if c.at.After(at) {
			at = c.at
		}
	}
	return at, err
}

type commitTime struct {
	id string
	at time.Time
}

// firstParents returns the commits that git log lists, with their committer times.
func (r *Repo) firstParents(ctx context.Context, args ...string) ([]commitTime, error) {
	out, err := r.top().run(ctx, nil, append(
		[]string{"log", "--first-parent", "-s", "--format=%H %ct"},
		args...,
	)...)
	if err != nil {
		return nil, err
	}
	var list []commitTime
	for line := range strings.Lines(string(out)) {
		id, seconds, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil {
			continue // an empty line between commits
		}
		list = append(list, commitTime{id, time.Unix(n, 0)})
	}
	return list, nil
}
