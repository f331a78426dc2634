package extract

import (
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

func parseText(t testing.TB, src string) (*Extractor, []diag.Finding) {
	t.Helper()
	doc, fs := yamlx.Parse([]byte(src))
	if doc == nil || diag.Failed(fs) {
		t.Fatalf("%s\n%v", src, fs)
	}
	return Parse(doc, func(id string) (string, error) {
		if id != "p/yaml" {
			return "", diag.New(diag.ToolNotFound, "not found in any space: tool:%s", id)
		}
		return CodecYAML, nil
	})
}

const skill = `kind: skill
folder: skills
item_id: parent_dir
item_file: SKILL.md
signature: detached
extensions:
  - {ext: .md, parser: p/yaml}
search_fields: {name: 3, description: 1.5}
extraction_rules: {name: name, description: [description, about]}
validation_schema:
  fields:
    name: {type: string, required: true, match_filename: true}
    level: {type: integer, minimum: 1, maximum: 3}
    tags: {type: array, items: {type: string}}
`

func TestParse(t *testing.T) {
	e, fs := parseText(t, skill)
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	if e.Kind != "skill" || e.Folder != "skills" || e.ID != IDParentDir || e.File != "SKILL.md" || len(e.Types) != 1 || !e.Types[0].Detached || e.Types[0].Codec != CodecYAML {
		t.Errorf("%+v", e)
	}
	if len(e.Rules) != 2 || e.Search["name"] != 3 || len(e.Schema.Fields) != 3 || e.Boot {
		t.Errorf("%+v", e)
	}
	p, ok := e.Classify("skills/pdf/SKILL.md")
	if !ok || p.Ref != (item.Ref{Kind: "skill", ID: "pdf"}) || !slices.Equal(e.Paths("pdf"), []string{"skills/pdf/SKILL.md"}) {
		t.Errorf("%+v, %q", p, e.Paths("pdf"))
	}
}

// Extractor items that would let a project read or sign another file.
func TestParseHostile(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(skill, old, new, 1) }
	for name, c := range map[string]struct{ src, part string }{
		"no kind":              {swap("kind: skill\n", ""), `kind is missing`},
		"unknown kind":         {swap("kind: skill", "kind: ../skill"), "is not a kind"},
		"upper case kind":      {swap("kind: skill", "kind: Skill"), "is not a kind"},
		"folder out":           {swap("folder: skills", "folder: ../skills"), "must be one plain segment"},
		"folder below":         {swap("folder: skills", "folder: a/b"), "must be one plain segment"},
		"folder of trust":      {swap("folder: skills", "folder: trust"), "rye does not use itself"},
		"folder of Trust":      {swap("folder: skills", "folder: Trust"), "rye does not use itself"},
		"folder of bundles":    {swap("folder: skills", "folder: bundles"), "rye does not use itself"},
		"folder of tools":      {swap("folder: skills", "folder: tools"), "is the directory of kind tool"},
		"folder of Tools":      {swap("folder: skills", "folder: Tools"), "is the directory of kind tool"},
		"form of id":           {swap("parent_dir", "content"), "must be path or parent_dir"},
		"item_file up":         {swap("SKILL.md", `".."`), "must be the name of the file"},
		"item_file here":       {swap("SKILL.md", `"."`), "must be the name of the file"},
		"item_file in folder":  {swap("SKILL.md", "a/SKILL.md"), "must be the name of the file"},
		"item_file root":       {swap("SKILL.md", "/"), "must be the name of the file"},
		"item_file other type": {swap("SKILL.md", "SKILL.py"), "must be the name of the file"},
		"item_file missing":    {swap("item_file: SKILL.md\n", ""), "must be the name of the file"},
		"no extensions":        {swap("  - {ext: .md, parser: p/yaml}", "  []"), "at least one"},
		"ext without dot":      {swap("ext: .md", "ext: md"), "must be a dot"},
		"ext dot":              {swap("ext: .md", `ext: "."`), "must be a dot"},
		"ext double":           {swap("ext: .md", "ext: .tar.gz"), "must be a dot"},
		"ext upper case":       {swap("ext: .md", "ext: .MD"), "must be a dot"},
		"ext slash":            {swap("ext: .md", "ext: ./md"), "must be a dot"},
		"ext of signatures":    {swap("ext: .md", "ext: .rye-sig"), "not .rye-sig"},
		"ext twice":            {swap("  - {ext: .md, parser: p/yaml}", "  - {ext: .md, parser: p/yaml}\n  - {ext: .md, parser: p/yaml}"), "is listed twice"},
		"ext no mapping":       {swap("{ext: .md, parser: p/yaml}", ".md"), "extensions[0] must be a mapping, not a string"},
		"parser unknown":       {swap("p/yaml", "p/evil"), "not found in any space"},
		"signature unknown":    {swap("signature: detached", "signature: none"), `signature must be inline or detached, not "none"`},
		"comment missing":      {swap("signature: detached\n", ""), `extensions[0].comment must be one of # // <!-- -- ; /*, not ""`},
		"comment bare":         {swap("signature: detached\nextensions:\n  - {ext: .md,", "extensions:\n  - {ext: .md, comment: bare,"), `not "bare"`},
		"comment of its own":   {swap("signature: detached\nextensions:\n  - {ext: .md,", "extensions:\n  - {ext: .md, comment: \"%%\","), `must be one of`},
		"rules no mapping":     {swap("extraction_rules: {name: name, description: [description, about]}", "extraction_rules: [a]"), `extraction_rules must be a mapping`},
		"rule of nothing":      {swap("{name: name,", "{name: [],"), `extraction_rules.name must be`},
		"weight below 0":       {swap("name: 3", "name: -1"), "search_fields.name must be a number of at least 0, not -1"},
		"schema no mapping":    {swap("validation_schema:\n  fields:\n", "validation_schema: []\nx:\n  y:\n"), `validation_schema must be a mapping`},
		"schema key":           {swap("  fields:", "  feilds:"), `unknown field "validation_schema.feilds"`},
		"rule unknown":         {swap("required: true", "requried: true"), `unknown field "validation_schema.fields.name.requried"`},
		"type unknown":         {swap("type: integer", "type: int"), `type must be string, integer, number, boolean, object, array, semver or enum, not "int"`},
		"flag no flag":         {swap("required: true", "required: 1"), "must be true or false"},
		"bound no number":      {swap("minimum: 1", "minimum: one"), "must be a number"},
		"items no mapping":     {swap("items: {type: string}", "items: string"), "must be a mapping"},
		"enum of nothing":      {swap("type: integer", "type: enum"), "values must list at least one value"},
		"pattern broken":       {swap("match_filename: true", `pattern: "("`), "pattern: error parsing regexp"},
	} {
		e, fs := parseText(t, c.src)
		i := slices.IndexFunc(fs, func(f diag.Finding) bool { return strings.Contains(f.Message, c.part) })
		if e == nil || i < 0 || fs[i].Severity != diag.SeverityError || fs[i].Line < 1 {
			t.Errorf("%s: %v, want an error with %q", name, fs, c.part)
		}
	}
}

// An override of a boot kind may not move its folder or restyle its signatures.
func TestSealedFormat(t *testing.T) {
	e, fs := parseText(t, "kind: tool\nfolder: tools\nextensions:\n  - {ext: .py, parser: p/yaml, comment: \"//\"}\n  - {ext: .lua, parser: p/yaml, comment: \"--\"}\n")
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	boot := Boot().Kind(item.Tool)
	py, lua := typeOf(t, e, "a.py"), typeOf(t, e, "a.lua")
	if py.Style != typeOf(t, boot, "a.py").Style || py.Codec != CodecYAML || lua.Style == py.Style {
		t.Errorf("py %+v, lua %+v", py, lua)
	}
	if len(e.Schema.Fields) != len(boot.Schema.Fields) {
		t.Error("without a validation_schema the built-in minimum does not apply")
	}
}

func TestPlace(t *testing.T) {
	b := Boot()
	for rel, want := range map[string]string{
		"tools/a.py": "tool:a", "tools/a/b.sh": "tool:a/b", "directives/x.md": "directive:x", "config/a/b.yaml": "config:a/b", "tools/__init__.py": "tool:__init__",
		"tools/a.PY": ":", "tools/a.b.py": ":", "tools/a b.py": ":", "tools/.py": ":", "tools/-a.py": ":", "tools/a.png": ":", "tools/../a.py": ":", "tools//a.py": ":",
		"directives/x.py": ":", "tools": "-", "a.py": "-", "Tools/a.py": "-", "bundles/x/manifest.yaml": "-", "": "-",
	} {
		p, ok := b.Classify(rel)
		got := p.Ref.String()
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", rel, got, want)
		}
	}
}

func TestTableAdd(t *testing.T) {
	b := Boot()
	if err := b.Add(&Extractor{Kind: "other", Folder: "Tools"}); diag.CodeOf(err) != diag.ConfigError {
		t.Errorf("a folder of two kinds: %v", err)
	}
	n := len(b.All())
	e := &Extractor{Kind: item.Tool, Folder: "tools"}
	if err := b.Add(e); err != nil || b.Kind(item.Tool) != e || len(b.All()) != n {
		t.Errorf("a replacement: %v", err)
	}
	if err := b.Add(&Extractor{Kind: "skill", Folder: "skills"}); err != nil || len(b.All()) != n+1 || b.Kind("none") != nil {
		t.Errorf("a new kind: %v", err)
	}
}

// Place is the inverse of Paths: each path of an id has that id.
func FuzzPlace(f *testing.F) {
	for _, s := range []string{"tools/a.py", "tools/a/b.yaml", "tools/a.rye-sig", "directives/a.md/b.md", "skills/pdf/SKILL.md", "skills/SKILL.md", "tools/..py"} {
		f.Add(s)
	}
	e, _ := parseText(f, skill)
	table := Boot()
	if err := table.Add(e); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		p, ok := table.Classify(rel)
		if !ok || p.Ref.IsZero() {
			return
		}
		if item.CheckID(p.Ref.ID) != nil || !slices.Contains(p.Extractor.Paths(p.Ref.ID), rel) || p.Type.Ext == "" {
			t.Fatalf("%q: %+v, paths %q", rel, p.Ref, p.Extractor.Paths(p.Ref.ID))
		}
	})
}
