package dx

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

const full = `<directive name="sort_files" version="1.2.0" extends="rye/agent/core/base">
  <metadata>
    <description>Sort &amp; file: a &lt; b</description>
    <category>demo/files</category>
    <author>ann</author>
    <model tier="general" fallback="fast" parallel="true"><id>m-1</id></model>
    <limits max_turns="6" tokens="4096" spend="0.050"><spawns>3</spawns><depth>2</depth></limits>
    <permissions>
      <execute><tool>rye/bash/*</tool><tool>rye.file-system.*</tool></execute>
      <search><type>tool</type><knowledge>a/*</knowledge></search>
      <load>*</load>
      <sign>directive.demo.x</sign>
      <execute><skill>pdf</skill></execute>
    </permissions>
    <hooks>
      <hook id="h1" event="error" layer="2" condition="error.code == 'rate_limit'"><action>retry</action><delay>5</delay></hook>
      <hook event="after_step">
        <condition><all><condition path="cost.spend" op="gt" value="0.5"/><not><condition><path>x</path><operator>in</operator><value>["a","b"]</value></condition></not></all></condition>
        <action primary="execute" item_type="tool" item_id="a/b"><params><n type="integer">5</n><param name="who">${x}</param><deep><k>v</k></deep></params></action>
      </hook>
    </hooks>
    <context><relationships><suggests>a</suggests><suggests>b</suggests></relationships><note level="1">n</note></context>
    <tags>files, demo</tags>
  </metadata>
  <inputs>
    <input name="path" required="true">Where the files are</input>
    <input name="depth" type="integer" default="3"/>
  </inputs>
  <outputs>
    <output name="moved" type="integer">How many</output>
    <success>All moved</success>
    <failure><output name="why"/></failure>
  </outputs>
  <process>
    <step name="a">if a < b && c then List<String></step>
    <example></process> <b></example>
  </process>
  <success_criteria>works</success_criteria>
</directive>
`

const fullJSON = `{"name":"sort_files","version":"1.2.0","extends":"rye/agent/core/base","description":"Sort & file: a < b","category":"demo/files","author":"ann",
"model":{"tier":"general","fallback":"fast","parallel":true,"id":"m-1"},
"limits":{"turns":6,"tokens":4096,"spend":"0.050","spawns":3,"depth":2},
"permissions":["rye.execute.tool.rye.bash.*","rye.execute.tool.rye.file-system.*","rye.search.tool.*","rye.search.knowledge.a.*","rye.load.*","rye.sign.directive.demo.x","rye.execute.skill.pdf"],
"hooks":[{"id":"h1","event":"error","layer":2,"condition":"error.code == 'rate_limit'","action":"retry","delay":5},
 {"event":"after_step","condition":{"all":[{"path":"cost.spend","op":"gt","value":0.5},{"not":{"path":"x","op":"in","value":["a","b"]}}]},
  "action":{"primary":"execute","item_type":"tool","item_id":"a/b","params":{"n":5,"who":"${x}","deep":{"k":"v"}}}}],
"context":{"relationships":{"suggests":["a","b"]},"note":{"level":"1","text":"n"}},
"tags":["files","demo"],
"inputs":[{"name":"path","type":"string","required":true,"description":"Where the files are"},{"name":"depth","type":"integer","required":false,"default":"3"}],
"outputs":[{"name":"moved","type":"integer","description":"How many"},{"name":"success","on":"success","description":"All moved"},{"name":"why","on":"failure"}],
"process":"<step name=\"a\">if a < b && c then List<String></step>\n    <example></process> <b></example>",
"sections":{"success_criteria":"works"}}`

func TestFullDirective(t *testing.T) {
	doc, fs := Directive([]byte(full), 11)
	got, err := json.Marshal(doc.Root)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	_ = json.Unmarshal(got, &g)
	if err := json.Unmarshal([]byte(fullJSON), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s", got)
	}
	wantFindings(t, fs, `line 45:25: PARSING_ERROR: an unescaped "<", write &lt;
line 45:29: PARSING_ERROR: an unescaped "&", write &amp;
line 45:30: PARSING_ERROR: an unescaped "&", write &amp;
line 45:43: PARSING_ERROR: <String> is never closed, kept as text`)
	if diag.Failed(fs) {
		t.Error("prose must not fail")
	}
	for path, snippet := range map[string]string{
		"name": "|sort_files", "version": "|1.2.0", "description": "|<description>", "limits.turns": `max_turns="|6`, "limits.spawns": "|<spawns>",
		"permissions.1": "|<tool>rye.file", "permissions.6": "|<skill>", "hooks.0.condition": "|error.code", "hooks.0.delay": "|<delay>",
		"hooks.1.condition.all.1.not.value": "|<value>", "hooks.1.condition.all.0.op": `op="|gt`, "hooks.1.action.params.n": "|<n type",
		"hooks.1.action.params.deep.k": "|<k>", "context.relationships.suggests.1": "|<suggests>b", "context.note.level": `level="|1`,
		"inputs.0.required": `required="|true`, "inputs.0.description": "|Where the", "inputs.1": `|<input name="depth"`,
		"outputs.2.name": `name="|why`, "process": "|<process>", "sections.success_criteria": "|<success_c",
	} {
		before, after, _ := strings.Cut(snippet, "|")
		off := strings.Index(full, before+after) + len(before)
		head := full[:off]
		want := diag.Position{Line: 11 + strings.Count(head, "\n"), Column: off - strings.LastIndex(head, "\n")}
		if doc.Pos[path] != want {
			t.Errorf("position of %s: %v, want %v", path, doc.Pos[path], want)
		}
	}
}

func wantFindings(t *testing.T, fs []diag.Finding, want string) {
	t.Helper()
	var all []string
	for _, f := range fs {
		s := f.String()
		if f.Reason != "" {
			s += fmt.Sprintf(" (%s %s)", f.Reason, f.Facts["nearest"])
		}
		all = append(all, s)
	}
	if got := strings.Join(all, "\n"); got != want {
		t.Errorf("got findings\n%s\nwant\n%s", got, want)
	}
}

// in wraps metadata, on one line.
func in(metadata string) string {
	return `<directive name="x"><metadata>` + metadata + `</metadata></directive>`
}

func TestHostileInputs(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"empty", "", "line 1:1: PARSING_ERROR: there is no <directive> element"},
		{"only text", "hello\n", "line 1:1: PARSING_ERROR: text outside <directive>\nline 1:1: PARSING_ERROR: there is no <directive> element"},
		{"fine", in(""), ""},
		{"xml declaration", "<?xml version=\"1.0\"?>\n" + in(""), ""},
		{"doctype", "<!DOCTYPE x [<!ENTITY a \"b\">]>" + in(""), "line 1:1: PARSING_ERROR: document type declarations are refused\nline 1:1: PARSING_ERROR: there is no <directive> element"},
		{"doctype inside", in("<author><!doctype x></author>"), "line 1:39: PARSING_ERROR: document type declarations are refused"},
		{"other root", "<directiv name='x'/>", "line 1:1: VALIDATION_FAILED: unknown element <directiv> in the XML block (nearest <directive>)"},
		{"two roots", in("") + "\n<directive/>", "line 2:1: PARSING_ERROR: <directive> after the end of <directive>"},
		{"text after", in("") + "\n x", "line 2:2: PARSING_ERROR: text outside <directive>"},
		{"never closed", "<directive>\n<metadata>", "line 1:1: PARSING_ERROR: <directive> is never closed\nline 1:1: PARSING_ERROR: there is no <directive> element"},
		{"metadata never closed", "<directive>\n<metadata>\n<author>a</author></directive>", "line 2:1: PARSING_ERROR: <metadata> is never closed, kept as text\n" +
			"line 2:1: VALIDATION_FAILED: text directly inside <directive> is not read\nline 3:1: VALIDATION_FAILED: <author> must be inside <metadata>"},
		{"unknown element", in("\n<descripton>a</descripton>"), "line 2:1: VALIDATION_FAILED: unknown element <descripton> in <metadata> (nearest <description>)"},
		{"unknown element far from all", in("<zzz/>"), "line 1:31: VALIDATION_FAILED: unknown element <zzz> in <metadata>"},
		{"unknown attribute", in(`<model teir="a"/>`), "line 1:38: VALIDATION_FAILED: unknown attribute teir in <model> (nearest tier)"},
		{"markup in a text", in("<author>a<b>c</b></author>"), "line 1:40: VALIDATION_FAILED: unknown element <b> in <author>"},
		{"repair in metadata", in("<description>a & b < c</description>"), "line 1:46: PARSING_ERROR: an unescaped \"&\", write &amp;\nline 1:50: PARSING_ERROR: an unescaped \"<\", write &lt;"},
		{"html entity", in("<author>&nbsp;&#0;&#xD800;&#x1F600;</author>"), "line 1:39: PARSING_ERROR: an unescaped \"&\", write &amp;\n" +
			"line 1:45: PARSING_ERROR: an unescaped \"&\", write &amp;\nline 1:49: PARSING_ERROR: an unescaped \"&\", write &amp;"},
		{"unclosed in metadata", in("<tags><tag>a</tags>"), "line 1:37: PARSING_ERROR: <tag> is never closed, kept as text"},
		{"stray end tag", in("</author>"), "line 1:31: PARSING_ERROR: </author> closes nothing, kept as text\nline 1:31: VALIDATION_FAILED: text in <metadata> where only elements are read"},
		{"unquoted attribute", in("<limits turns=5></limits>"), "line 1:31: PARSING_ERROR: <limits is not a tag: the value of \"turns\" is not quoted; kept as text\n" +
			"line 1:31: VALIDATION_FAILED: text in <metadata> where only elements are read\nline 1:47: PARSING_ERROR: </limits> closes nothing, kept as text"},
		{"attribute given twice", in(`<limits turns="5" turns="6"/>`), "line 1:49: PARSING_ERROR: the attribute \"turns\" is given twice, the first one is used"},
		{"element and attribute", in(`<limits turns="5"><max_turns>6</max_turns></limits>`), "line 1:49: VALIDATION_FAILED: turns is given twice in <limits>"},
		{"less in an attribute", in(`<hooks><hook event="error" condition="a < b"/></hooks>`), "line 1:71: PARSING_ERROR: an unescaped \"<\" in the attribute \"condition\", write &lt;"},
		{"element given twice", in("<author>a</author>\n<author>b</author>"), "line 2:1: VALIDATION_FAILED: author is given twice, first on line 1"},
		{"description in both elements", "<directive><description>a</description>\n<metadata><description>b</description></metadata></directive>",
			"line 2:11: VALIDATION_FAILED: description is given twice, first on line 1"},
		{"metadata given twice", "<directive><metadata/>\n<metadata/></directive>", "line 2:1: VALIDATION_FAILED: <metadata> is given twice"},
		{"misplaced", "<directive><permissions>*</permissions></directive>", "line 1:12: VALIDATION_FAILED: <permissions> must be inside <metadata>"},
		{"nearly metadata", "<directive><metdata/></directive>", "line 1:12: VALIDATION_FAILED: <metdata> is kept as prose (nearest <metadata>)"},
		{"limits", in(`<limits turns="-1" tokens="1e3" spend="$1" depth="99999999999999999999" spawns=""/>`),
			"line 1:46: VALIDATION_FAILED: turns must be a whole number, not \"-1\"\nline 1:58: VALIDATION_FAILED: tokens must be a whole number, not \"1e3\"\n" +
				"line 1:70: VALIDATION_FAILED: spend must be a decimal number such as 0.05, not \"$1\"\n" +
				"line 1:81: VALIDATION_FAILED: depth must be a whole number, not \"99999999999999999999\"\nline 1:111: VALIDATION_FAILED: spawns must be a whole number, not \"\""},
		{"parallel", in(`<model parallel="yes"/>`), "line 1:48: VALIDATION_FAILED: parallel must be true or false, not \"yes\""},
		{"permissions", in("<permissions><execute/><exec>a</exec>\n<execute><tol>a</tol><tool>a/../b</tool>\n<tool>a b</tool><type>tool</type></execute></permissions>"),
			"line 1:44: VALIDATION_FAILED: <execute> is empty: it needs an id, or * for every item\n" +
				"line 1:54: VALIDATION_FAILED: unknown element <exec> in <permissions> (nearest <execute>)\n" +
				"line 2:10: VALIDATION_FAILED: unknown element <tol> in <execute> (nearest <tool>)\n" +
				"line 2:22: VALIDATION_FAILED: \"a/../b\" is not one id with wildcards, such as rye/bash/*: it has an empty segment\nline 3:1: VALIDATION_FAILED: \"a b\" is not one id with wildcards, such as rye/bash/*: segment \"a b\" has \" \", which neither ids nor patterns have\n" +
				"line 3:17: VALIDATION_FAILED: unknown element <type> in <execute>"},
		{"text next to permissions", in("<permissions>* <load>*</load></permissions>"), "line 1:44: VALIDATION_FAILED: text in <permissions> where only elements are read"},
		{"hooks", in(`<hooks><hook evnt="error"/><hok/><hook event="e" layer="x"><not/></hook></hooks>`), "line 1:38: VALIDATION_FAILED: <hook> has no event\n" +
			"line 1:44: VALIDATION_FAILED: unknown attribute evnt in <hook> (nearest event)\nline 1:58: VALIDATION_FAILED: unknown element <hok> in <hooks> (nearest <hook>)\n" +
			"line 1:87: VALIDATION_FAILED: layer: \"x\" is not of type integer\nline 1:90: VALIDATION_FAILED: unknown element <not> in <hook>"},
		{"not around two", in(`<hooks><hook event="e"><condition><not><condition/><condition/></not></condition></hook></hooks>`),
			"line 1:65: VALIDATION_FAILED: <not> must contain one condition, not 2"},
		{"inputs", "<directive><inputs>\n<input>a</input>\n<input name='a b' type='bool' required='1'/>\n<input name='c'/><input name='c'/>\n<inpt/> x\n<input name='d'>a & b</input></inputs></directive>",
			"line 2:1: VALIDATION_FAILED: <input> has no name\nline 3:14: VALIDATION_FAILED: the name \"a b\" must have letters, digits and _ only\n" +
				"line 3:25: VALIDATION_FAILED: unknown type \"bool\", not one of string, integer, number, boolean, array, object, image, file (nearest boolean)\nline 3:41: VALIDATION_FAILED: required must be true or false, not \"1\"\n" +
				"line 4:18: VALIDATION_FAILED: the input \"c\" is declared twice\nline 5:1: VALIDATION_FAILED: unknown element <inpt> in <inputs> (nearest <input>)\n" +
				"line 5:9: VALIDATION_FAILED: text in <inputs> where only elements are read\nline 6:19: PARSING_ERROR: an unescaped \"&\", write &amp;"},
		{"invalid utf-8, nul and bidi are left to others", in("<author>\xff\x00\u202e</author>"), ""},
		{"crlf", "<directive>\r\n<metadata>\r\n<zzz/></metadata></directive>", "line 3:1: VALIDATION_FAILED: unknown element <zzz> in <metadata>"},
		{"deep", "<directive>" + strings.Repeat("<a>", 64) + strings.Repeat("</a>", 64) + "</directive>", "line 1:201: PARSING_ERROR: elements are nested deeper than 64"},
		{"many", "<directive>" + strings.Repeat("<a/>", 20000) + "</directive>", "line 1:80008: PARSING_ERROR: more than 20000 elements"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, fs := Directive([]byte(c.src), 1)
			wantFindings(t, fs, c.want)
			if want := c.want != "" && c.name != "nearly metadata"; diag.Failed(fs) != want {
				t.Errorf("failed: %v", !want)
			}
		})
	}
}

// In prose every odd thing is a warning at most.
func TestProseIsTolerated(t *testing.T) {
	for _, prose := range []string{
		"a < b & c <d", "List<String> Map<K,V>", "</nothing>", "<a b=c>", "<a b='", "<!-- open", "<![CDATA[ open", "<?php echo 1 ?>", "<!x>", "<a><b></a></b>",
		"&nbsp; &#0;", "<a b='1' b='2'/>", "if (a<b && c>d) {}", "<template><directive></template>", "cat <<EOF > file", "x <- 1", "<1>", "< a>", "<a b='<'/>",
		"<a\nb\n=\n'c'/>", "<ünïcödé>x</ünïcödé>",
	} {
		doc, fs := Directive([]byte("<directive name='x'><metadata><author>a</author></metadata><process>"+prose+"</process></directive>"), 1)
		if diag.Failed(fs) || doc.Root["process"] != prose || doc.Root["author"] != "a" {
			t.Errorf("%q: got %q %v", prose, doc.Root["process"], fs)
		}
	}
}

func TestPermissionShortcuts(t *testing.T) {
	for src, want := range map[string][]any{
		"*":                                      {"rye.execute.*", "rye.search.*", "rye.load.*", "rye.sign.*"},
		" \n* ":                                  {"rye.execute.*", "rye.search.*", "rye.load.*", "rye.sign.*"},
		"<draft><tool>drafts/a/*</tool></draft>": {"rye.draft.tool.drafts.a.*"},
		"":                                       {},
		"<execute>*</execute>":                   {"rye.execute.*"},
		"<execute><tool>*</tool></execute>":      {"rye.execute.tool.*"},
		"<execute>tool.a.b</execute>":            {"rye.execute.tool.a.b"},
		"<search><type>*</type></search>":        {"rye.search.*"},
		"<search><type>directive</type></search>":       {"rye.search.directive.*"},
		"<load><knowledge>a/b?/[cd]</knowledge></load>": {"rye.load.knowledge.a.b?.[cd]"},
		"<sign>*</sign><load>*</load>":                  {"rye.sign.*", "rye.load.*"},
	} {
		doc, fs := Directive([]byte(in("<permissions>"+src+"</permissions>")), 1)
		if !reflect.DeepEqual(doc.Root["permissions"], want) || len(fs) > 0 {
			t.Errorf("%q: got %v %v", src, doc.Root["permissions"], fs)
		}
	}
}

func TestConditions(t *testing.T) {
	for src, want := range map[string]any{
		"a.b == 'c'":                                  "a.b == 'c'",
		"<path>a</path><value>true</value>":           map[string]any{"path": "a", "value": true},
		"<path>a</path><value>1.0.0</value>":          map[string]any{"path": "a", "value": "1.0.0"},
		"<path>a</path><value>\"5\"</value>":          map[string]any{"path": "a", "value": "5"},
		"<not path='a' op='exists'/>":                 map[string]any{"not": map[string]any{"path": "a", "op": "exists"}},
		"<not><any><condition path='a'/></any></not>": map[string]any{"not": map[string]any{"any": []any{map[string]any{"path": "a"}}}},
		"<any/>": map[string]any{"any": []any{}},
	} {
		doc, fs := Directive([]byte(in("<hooks><hook event='e'><when>"+src+"</when></hook></hooks>")), 1)
		hook := doc.Root["hooks"].([]any)[0].(map[string]any)
		if !reflect.DeepEqual(hook["condition"], want) || len(fs) > 0 {
			t.Errorf("%q: got %#v %v", src, hook["condition"], fs)
		}
	}
}
