package sandbox

import (
	"slices"
	"testing"
)

func TestGitPaths(t *testing.T) {
	t.Parallel()
	hooks, includes := gitPaths(`[core]
	bare = false
	hooksPath = .githooks ; of the project
	path = not-an-include
[Include] path = "../a \"b\".inc"
[includeIf "gitdir:/x/"]
	PATH = c\\d # e
[remote "path"]
	hookspath = no
[core "x"]
`)
	if !slices.Equal(hooks, []string{".githooks"}) || !slices.Equal(includes, []string{`../a "b".inc`, `c\d`}) {
		t.Errorf("%q %q", hooks, includes)
	}
}
