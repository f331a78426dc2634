package lock

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestCheckProgram(t *testing.T) {
	for _, c := range []struct {
		text, program string
		known, ok     bool
	}{
		{`requires_rye: ">=0.4 <2"`, "v0.4.1", true, true},
		{`requires_rye: ">=0.4 <2"`, "v0.4.0", true, true},
		{`requires_rye: ">=0.4 <2"`, "v0.3.9", true, false},
		{`requires_rye: ">=0.4 <2"`, "v2.0.0", true, false},
		{`requires_rye: ">=0.4 <2"`, "v2.0.0-rc.1", true, false},
		{`requires_rye: ">=0.4 <2"`, "v0.4.0-rc.1", true, false},
		{`requires_rye: ">=v0.4.1 <=1.2"`, "v1.2.0", true, true},
		{`requires_rye: ">=v0.4.1 <=1.2"`, "v1.2.1", true, false},
		{`requires_rye: ">0.4"`, "v0.4.0", true, false},
		{`requires_rye: ">=0.4"`, "v0.4.2-0.20261122101500-0123456789ab", true, true},
		{`requires_rye: ">=0.4.2"`, "v0.4.2-0.20261122101500-0123456789ab", true, false},
		{`requires_rye: "<0.4.2"`, "v0.4.2-0.20261122101500-0123456789ab", true, true},
		{`requires_rye: ">=0.4"`, "v0.5.0+dirty", true, true},
		{`requires_rye: ">=9"`, "(devel)", false, true},
		{`requires_rye: ">=9"`, "", false, true},
		{`requires_rye: ">=9"`, "v0.0.0-20261122101500-0123456789ab", false, true},
		{`requires_rye: ">=9"`, "v0.0.0-20261122101500-0123456789ab+dirty", false, true},
		{"rye: 1", "v0.4.1", true, true},
		{"", "v0.4.1", true, true},
		{`{rye: 1, requires_rye: ">=9"}`, "v0.4.1", true, false},
		{"rye: 7\nnew_key: [1, 2]\nrequires_rye: '>=9' # soon\n", "v0.4.1", true, false},
		{"rye: 7\nx: &anchor 1\ny: *anchor\nrequires_rye: \">=9\"\n", "v0.4.1", true, false}, // not YAML that this program reads
		{"x: |\n  requires_rye: \">=9\"\n", "v0.4.1", true, true},
		{`requires_rye: "^9"`, "v0.4.1", true, true},
		{`requires_rye: 9`, "v0.4.1", true, true},
		{strings.Repeat("#", MaxProjectFile) + "\nrequires_rye: \">=9\"\n", "v0.4.1", true, true},
	} {
		known, err := CheckProgram([]byte(c.text), c.program)
		if known != c.known || (err == nil) != c.ok || err != nil && diag.CodeOf(err) != diag.VersionMismatch {
			t.Errorf("%.60s with %s: %t %v", c.text, c.program, known, err)
		}
	}
}

func TestRequiresRyeIsChecked(t *testing.T) {
	for value, want := range map[string]string{
		`">=0.4 <2"`: "", `">0.4.1-rc.1"`: "", `"^0.4"`: "does not begin with", `"0.4"`: "does not begin with", `">="`: "is not a version",
		`">=x"`: "is not a version", `""`: "it is empty", `"  "`: "it is empty", `4`: "", `">=0.4, <2"`: "is not a version", `">=0.4+x"`: "is not a version",
		`["a"]`: "must be",
	} {
		m, fs := ParseProjectFile([]byte("rye: 1\nrequires_rye: " + value + "\n"))
		if value == "4" {
			want = "must be"
		}
		if (m == nil) != (want != "") || want != "" && !strings.Contains(fs[0].Message, want) {
			t.Errorf("%s: %v, want %q", value, fs, want)
		}
	}
	a, _ := ParseProjectFile([]byte("rye: 1\n"))
	b, _ := ParseProjectFile([]byte("rye: 1\nrequires_rye: \">=0.4\"\n"))
	if a.Settings() != b.Settings() || b.RequiresRye != ">=0.4" {
		t.Error("a range makes no lock stale")
	}
}
