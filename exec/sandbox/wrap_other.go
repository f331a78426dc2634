//go:build !linux

package sandbox

import "github.com/ryeos/rye/internal/proc"

// Wrap changes cmd so that proc.Run starts its program confined. The first of the
// returned values is what confines it. Run cmd at once, and then call End.
func Wrap(cmd *proc.Cmd, g Grant, ladder Ladder) (Report, End, error) {
	if _, err := ladder.choose(g); err != nil {
		return Report{}, nil, err
	}
	return ladder.basic(g)
}
