package gitcmd

import (
	"context"
)

// Versions are the files of a three-way merge.
type Versions struct{ Base, Ours, Theirs string }

// MergeFile merges three files and returns the result. With a conflict it has
// markers of the given size.
func (g *Git) MergeFile(
	ctx context.Context,
	v Versions,
	markerSize string,
) (out []byte, conflict bool, err error) {
	cmd := g.command(
		ctx,
		"merge-file",
		"-p",
		"-q",
		"--marker-size="+markerSize,
		"-L",
		"ours",
		"-L",
		"base",
		"-L",
		"theirs",
		v.Ours,
		v.Base,
		v.Theirs,
	)
	out, err = output(ctx, cmd, nil, "merge-file")
	// The exit status is the number of conflicts, at most 127, or 255 after an error.
	const failed = 128
	code := cmd.ProcessState
	if err != nil &&
		code != nil &&
		code.ExitCode() > 0 &&
		code.ExitCode() < failed {
		return out, true, nil
	}
	return out, false, err
}

// Set writes a setting of the repository.
func (r *Repo) Set(ctx context.Context, name, value string) error {
	_, err := r.run(ctx, nil, "config", "--local", "--replace-all", name, value)
	return err
}

// Unset removes a section of the settings of the repository.
func (r *Repo) Unset(ctx context.Context, section string) error {
	_, err := r.run(ctx, nil, "config", "--local", "--remove-section", section)
	return err
}
