package lock

import (
	"strings"
	"testing"
)

// TestUnderived: a version that does not result from the recorded requirements was
// not written by rye.
func TestUnderived(t *testing.T) {
	const a, b = "github.com/x/a", "github.com/x/b"
	entry := func(id, version, require string, needs ...Module) Bundle {
		return Bundle{ID: idOf(id), Version: version, Require: require, Needs: needs}
	}
	for name, tc := range map[string]struct {
		manifest string
		bundles  []Bundle
		want     string // of the first entry
	}{
		"as required":          {"require: {" + a + ": v1.2.0}", []Bundle{entry(a, "v1.2.0", "v1.2.0")}, ""},
		"older":                {"require: {" + a + ": v1.2.0}", []Bundle{entry(a, "v1.1.0", "v1.2.0")}, "is locked at v1.1.0, the requirements result in v1.2.0"},
		"newer":                {"require: {" + a + ": v1.2.0}", []Bundle{entry(a, "v1.3.0", "v1.2.0")}, "result in v1.2.0"},
		"for another":          {"require: {" + b + ": v1.0.0}", []Bundle{entry(a, "v1.2.0", ""), entry(b, "v1.0.0", "v1.0.0", mods(a, "v1.2.0")[0])}, ""},
		"older than another's": {"require: {" + a + ": v1.0.0}", []Bundle{entry(a, "v1.0.0", "v1.0.0"), entry(b, "v1.0.0", "", mods(a, "v1.2.0")[0])}, "result in v1.2.0"},
		"not required":         {"", []Bundle{entry(a, "v1.2.0", "")}, "nothing requires it"},
		"stale":                {"require: {" + a + ": v1.5.0}", []Bundle{entry(a, "v1.2.0", "v1.2.0")}, ""},
		"the next one":         {"require: {" + a + ": v1.2.0}\nexclude: {" + a + ": [v1.2.0]}", []Bundle{entry(a, "v1.2.1", "v1.2.0")}, ""},
		"before the next one":  {"require: {" + a + ": v1.2.0}\nexclude: {" + a + ": [v1.2.0]}", []Bundle{entry(a, "v1.1.0", "v1.2.0")}, "result in v1.2.0"},
		"a commit":             {"require: {" + a + ": 3f2c9d1e0a}", []Bundle{entry(a, "v1.2.1-0.20260102030405-3f2c9d1e0abc", "3f2c9d1e0a")}, ""},
		"a folder":             {"replace: {" + a + ": ../a}\nrequire: {" + a + ": v1.2.0}", []Bundle{{ID: idOf(a), Version: "v1.0.0", Require: "v1.2.0", Replace: Replacement{Path: "../a"}}}, ""},
	} {
		l := &Lock{Bundles: tc.bundles}
		got := l.Underived(manifest(t, "rye: 1\n"+tc.manifest+"\n"), tc.bundles[0])
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// mods returns modules by pairs of id and version.
func mods(words ...string) []Module {
	var out []Module
	for i := 0; i < len(words); i += 2 {
		out = append(out, Module{ID: idOf(words[i]), Version: words[i+1]})
	}
	return out
}
