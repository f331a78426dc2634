package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
)

// TestOfficialSuite runs the suite of the authors of JSON Schema, which a module that
// the program links contains.
func TestOfficialSuite(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		schema  string
		refused int // groups that refer to another document
	}{"draft7": {"http://json-schema.org/draft-07/schema#", 11}, "draft2020-12": {"https://json-schema.org/draft/2020-12/schema", 20}} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", name, "*.json"))
		if err != nil || len(files) < 20 {
			t.Fatalf("%s: %d files, %v", name, len(files), err)
		}
		t.Run(name, func(t *testing.T) {
			ran, refused := 0, 0
			for _, file := range files {
				r, s := runSuiteFile(t, file, want.schema)
				ran, refused = ran+r, refused+s
			}
			if ran < 700 || refused != want.refused {
				t.Errorf("%d cases ran, %d groups did not", ran, refused)
			}
		})
	}
}

func runSuiteFile(t *testing.T, file, schema string) (ran, refused int) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(b, &groups); err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(filepath.Base(file), ".json")
	if base == "format" { // it expects that formats are not checked; rye checks them
		return 0, 0
	}
	for _, g := range groups {
		doc := parse(t, string(g.Schema))
		if m, ok := doc.(map[string]any); ok && m["$schema"] == nil {
			m["$schema"] = schema
		}
		s, fs := Compile(doc)
		if s == nil {
			if strings.Contains(fs[0].Message, errDenied.Error()) {
				refused++
				continue
			}
			t.Errorf("%s: %s: %v", base, g.Description, fs)
			continue
		}
		for _, c := range g.Tests {
			ran++
			v, fs := jsonx.ParseValue([]byte(c.Data))
			if len(fs) > 0 {
				t.Errorf("%s: %v", c.Data, fs)
			}
			if got := s.Validate(v); (len(got) == 0) != c.Valid {
				t.Errorf("%s: %s: %s: valid is %v, got %q", base, g.Description, c.Description, c.Valid, brief(got))
			}
		}
	}
	return ran, refused
}
