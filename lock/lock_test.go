package lock

import (
	"bytes"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func object(c string) string { return strings.Repeat(c, 40) }

func digestOf(s string) item.Digest { return item.DigestOf([]byte(s)) }

func sumOf(t testing.TB, s string) string {
	t.Helper()
	sum, err := treehash.Of([]treehash.File{{Path: "x", Mode: treehash.Regular, Digest: digestOf(s)}})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func ref(s string) item.Ref {
	r, err := item.ParseRef(s, "")
	if err != nil {
		panic(err)
	}
	return r
}

// exampleLock is the lock that docs/reference/format shows.
func exampleLock(t testing.TB) *Lock {
	t.Helper()
	link := func(s string) Link { return Link{ref(s), digestOf(s)} }
	l := &Lock{
		Minor:    adoptedMinor - 1,
		Manifest: manifest(t, string(example(t, "rye.yaml"))).Settings(),
		Bundles: []Bundle{
			{ID: idOf("github.com/lab/experiments"), Version: "v0.0.0-20260214002754-3f2c9d1e0a6b",
				Require: "3f2c9d1e0a6b8c7d5e4f3a2b1c0d9e8f7a6b5c4d", Replace: Replacement{Path: "../experiments"}},
			{ID: idOf("github.com/acme/core-bundle"), Version: "v1.8.2", Require: "v1.8.2", Use: []string{"tool:gh/issue", "directive:triage/*"},
				URL: "https://github.com/acme/core-bundle", Ref: "refs/tags/v1.8.2", Tag: object("9"), Commit: object("5"), Tree: object("7"),
				Sum: sumOf(t, "core"), Exec: []string{".ai/tools/gh/issue.sh"}, Manifest: digestOf("manifest"),
				Signers: []string{"ed25519:" + fingerprint}, Caps: []string{"rye.execute.tool.gh.*", "net:api.github.com"},
				Needs: []Module{{ID: idOf("git.acme.io/sec/redact//bundles/pii"), Version: "v0.2.1"}}},
			{ID: idOf("git.acme.io/sec/redact//bundles/pii"), Version: "v0.3.0", Require: "v0.3.0",
				URL: "ssh://git@git.acme.io/sec/redact.git", Ref: "refs/tags/bundles/pii/v0.3.0", Commit: object("c"), Tree: object("d"), Sum: sumOf(t, "pii")},
		},
		Members: []Member{{Path: "./bundles/own tools", Manifest: sumOf(t, "member"), Needs: []Module{{ID: idOf("github.com/acme/core-bundle"), Version: "v1.7.0"}}}},
		Items: []Item{{Ref: ref("directive:triage/run"), Digest: digestOf("directive:triage/run"),
			Uses: []Link{link("tool:triage/label"), link("directive:acme/base"), link("config:triage/limits")}}, {Ref: ref("tool:triage/label"), Digest: digestOf("tool:triage/label"), Chain: []Link{link("tool:triage/label"),
			link("tool:rye/core/runtimes/python_script_runtime"), link("tool:rye/core/primitives/subprocess")}}},
	}
	return l
}

// TestLockGolden compares what is rendered with the file that docs/reference/format
// shows; RYE_UPDATE_GOLDEN=1 writes it.
func TestLockGolden(t *testing.T) {
	l := exampleLock(t)
	got := l.Render()
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile("../docs/reference/format/examples/packages/rye.lock", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := example(t, "rye.lock")
	if !bytes.Equal(got, want) {
		t.Fatalf("rendered\n%s\nwant\n%s", got, want)
	}
	back, fs := ParseLock(want)
	if back == nil || len(fs) > 0 {
		t.Fatal(fs)
	}
	l.Sort()
	back.canonical = nil // l was not read
	if !reflect.DeepEqual(back, l) {
		t.Errorf("%+v\nwant\n%+v", back, l)
	}
	if l.Bundle(idOf("github.com/acme/core-bundle")) == nil || l.Bundle(idOf("github.com/acme/core")) != nil || l.Item(ref("tool:triage/label")) == nil || l.Item(ref("tool:triage")) != nil {
		t.Error("entries are not found")
	}
}

func TestBadLocks(t *testing.T) {
	good := string(example(t, "rye.lock"))
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the example has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"blank", "\n \n", "is empty"},
		{"huge", strings.Repeat("a", MaxLock+1), "TOO_LARGE"},
		{"BOM", "\xef\xbb\xbf" + good, "ENCODING"},
		{"UTF-16", "\xff\xfe" + good, "ENCODING"},
		{"NUL", good + "\x00", "ENCODING"},
		{"invalid UTF-8", good + "\xff", "ENCODING"},
		{"CR LF", strings.ReplaceAll(good, "\n", "\r\n"), "1:14: ENCODING: the file has CR line ends"},
		{"no format", swap("rye-lock: 1.1\n", ""), `the first line must be "rye-lock: 1.1"`},
		{"not the first line", "\n" + good, `the first line must be "rye-lock: 1.1"`},
		{"later format", swap("rye-lock: 1.1\n", "rye-lock: 2\n"), "VERSION_MISMATCH: the file has format 2"},
		{"no number", swap("rye-lock: 1.1\n", "rye-lock: one\n"), "not a format number"},
		{"odd number", swap("rye-lock: 1.1\n", "rye-lock: 1.0\n"), "not a format number"},
		{"no manifest", swap("manifest: h1:", "manifesto: h1:"), `unknown field "manifesto"`},
		{"unknown field", swap("  commit: ", "  comit: "), `unknown field "comit": did you mean "commit"?`},
		{"unknown field of the head", swap("\n\n- bundle", "\nrevocation: x\n\n- bundle"), `did you mean "revocations"?`},
		{"unknown kind", swap("- item: ", "- plugin: "), `unknown kind of entry "plugin"`},
		{"no name", swap("- item: tool:triage/label", "- item:"), `want "- kind: name"`},
		{"a list as name", swap("- item: tool:triage/label", "- item: [tool:triage/label]"), `want "- kind: name"`},
		{"deep", swap("  commit: ", "    commit: "), "not a field or an entry"},
		{"tab", swap("  commit: ", "\tcommit: "), "not a field or an entry"},
		{"prose", good + "hello\n", "not a field or an entry"},
		{"a comment", swap("\n- item", "\n# note\n- item"), "not a field or an entry"},
		{"no value", swap("  ref: refs/tags/v1.8.2", "  ref: "), "a value is missing"},
		{"no space", swap("  ref: refs", "  ref:refs"), `want "key: value"`},
		{"trailing space", swap("refs/tags/v1.8.2\n", "refs/tags/v1.8.2 \n"), "a value is missing"},
		{"open quote", swap("\"./bundles/own tools\"", "\"./bundles/own tools"), `want "- kind: name"`},
		{"open list", swap("[.ai/tools/gh/issue.sh]", "[.ai/tools/gh/issue.sh"), `does not end in "]"`},
		{"empty list", swap("[.ai/tools/gh/issue.sh]", "[]"), "must be a list that is not empty"},
		{"no list", swap("[.ai/tools/gh/issue.sh]", ".ai/tools/gh/issue.sh"), "must be a list"},
		{"behind a list", swap("[.ai/tools/gh/issue.sh]", "[.ai/tools/gh/issue.sh] x"), "unexpected"},
		{"a field twice", swap("  version: v1.8.2\n", "  version: v1.8.2\n  version: v1.8.2\n"), `the field "version" is repeated`},
		{"an entry twice", good + good[strings.Index(good, "\n- item"):], "a second entry for item tool:triage/label"},
		{"no version", swap("  version: v1.8.2\n", ""), `the field "version" is missing`},
		{"no sum", swap("  sum: ", "  ref: "), "is repeated"},
		{"bad version", swap("version: v1.8.2", "version: 1.8.2"), "write v1.8.2"},
		{"version of another id", swap("version: v1.8.2", "version: v2.8.2"), "has the id"},
		{"bad require", swap("require: v1.8.2", "require: main"), "require: "},
		{"bad id", swap("- bundle: github.com/acme/core-bundle", "- bundle: core-bundle"), "reading bundle id"},
		{"other spelling", swap("- bundle: github.com/acme/core-bundle", "- bundle: https://github.com/acme/core-bundle"), "the canonical id is github.com/acme/core-bundle"},
		{"short commit", swap(object("5"), "5555555"), "want 40 or 64"},
		{"capitals", swap(object("c"), object("C")), "want 40 or 64"},
		{"bad ref", swap("refs/tags/v1.8.2", "v1.8.2"), "want the whole name of a ref"},
		{"a ref that climbs", swap("refs/tags/v1.8.2", "refs/../v1.8.2"), "want the whole name of a ref"},
		{"bad sum", swap("  sum: h1:", "  sum: h2:"), "want h1:"},
		{"short sum", swap("  sum: h1:", "  sum: h1:AAAA"), "want h1:"},
		{"bad digest", swap("  digest: sha256:", "  digest: sha1:"), "want sha256:"},
		{"bad signer", swap("signer: ed25519:b6", "signer: ed25519:"), "reading signer"},
		{"bad executable", swap(".ai/tools/gh/issue.sh", "../issue.sh"), "not canonical"},
		{"bad need", swap("[git.acme.io/sec/redact//bundles/pii v0.2.1]", "[pii v0.2.1]"), "is not a bundle id and a version"},
		{"bad version of a need", swap("pii v0.2.1]", "pii v0.2]"), "write v0.2.0"},
		{"three words", swap("pii v0.2.1]", "pii v0.2.1 x]"), "is not a bundle id and a version"},
		{"a chain of another item", swap("chain: [tool:triage/label ", "chain: [tool:triage/other "), "does not begin with the item itself"},
		{"bad link", swap("[tool:triage/label sha256", "[tool:triage/label x sha256"), "is not a ref and a digest"},
		{"bad member", swap("\"./bundles/own tools\"", "../x"), "is not a member directory"},
		{"replaced and fetched", swap("  replace: ../experiments\n", "  replace: ../experiments\n  url: https://github.com/lab/experiments\n"), "it cannot have url"},
		{"another repository", swap("url: https://github.com/acme/core-bundle", "url: https://github.com/evil/core-bundle"), "LOCK_REPOINTED: url: the address \"https://github.com/evil/core-bundle\" does not belong to github.com/acme/core-bundle"},
		{"another host", swap("url: https://github.com/acme/core-bundle", "url: https://github.evil/acme/core-bundle"), "LOCK_REPOINTED"},
		{"no encryption", swap("url: https://github.com/acme/core-bundle", "url: http://github.com/acme/core-bundle"), "LOCK_REPOINTED"},
		{"another port", swap("ssh://git@git.acme.io/", "ssh://git@git.acme.io:2222/"), "LOCK_REPOINTED"},
		{"a command", swap("url: https://github.com/acme/core-bundle", "url: ext::sh"), "LOCK_REPOINTED"},
		{"an option", swap("url: https://github.com/acme/core-bundle", "url: --upload-pack=x"), "LOCK_REPOINTED"},
		{"a conflict", swap("  version: v1.8.2\n", "<<<<<<< HEAD\n  version: v1.8.2\n=======\n  version: v1.8.3\n>>>>>>> x\n"), "conflict markers"},
	} {
		l, fs := ParseLock([]byte(tc.text))
		var all []string
		for _, f := range fs {
			all = append(all, strings.TrimPrefix(f.String(), "line "))
		}
		if l != nil || !strings.Contains(strings.Join(all, "\n"), tc.want) {
			t.Errorf("%s: %v %q, want %q", tc.name, l != nil, all, tc.want)
		}
	}
	for i := 1; i < len(good); i++ { // cut off in the middle of a line
		if l, _ := ParseLock([]byte(good[:i])); l != nil && good[i-1] != '\n' {
			t.Errorf("%d bytes of %d are a lock", i, len(good))
		}
	}
}

func TestAllFaultsOfALock(t *testing.T) {
	_, fs := ParseLock([]byte("rye-lock: 1\nmanifest: x\n\n- bundle: github.com/a/b\n  version: 1\n  color: red\n\n- item: x\n"))
	if len(fs) < 5 {
		t.Errorf("%d findings: %v", len(fs), fs)
	}
}

// TestOrderIsAWarning reads a text that was edited by hand and warns that it is
// not what rye writes.
func TestOrderIsAWarning(t *testing.T) {
	good := string(example(t, "rye.lock"))
	entries := strings.Split(good, "\n\n")
	entries[1], entries[2] = entries[2], entries[1]
	l, fs := ParseLock([]byte(strings.Join(entries, "\n\n")))
	if l == nil || len(fs) != 1 || fs[0].Severity != diag.SeverityWarning || fs[0].Code != diag.Drift || fs[0].Line != 4 {
		t.Fatalf("%v", fs)
	}
	if string(l.Render()) != good {
		t.Error("the order of the text is the order of the lock")
	}
	l, fs = ParseLock([]byte(strings.Replace(good, "version: v1.8.2", `version: "v1.8.2"`, 1)))
	if l == nil || len(fs) != 1 || fs[0].Code != diag.Drift {
		t.Errorf("needless quotes: %v", fs)
	}
}

// TestLaterMinor keeps the fields of a later format and names it.
func TestLaterMinor(t *testing.T) {
	text := strings.Replace(string(example(t, "rye.lock")), "rye-lock: 1.1\n", "rye-lock: 1.3\n", 1)
	text = strings.Replace(text, "  version: v1.8.2\n", "  version: v1.8.2\n", 1)
	text = strings.Replace(text, "\n\n- bundle: github.com/lab", "\n  witness: [a b, \"c\\td\"]\n\n- bundle: github.com/lab", 1)
	l, fs := ParseLock([]byte(text))
	if l == nil || len(fs) != 1 || fs[0].Severity != diag.SeverityWarning || !strings.Contains(fs[0].Message, `"witness" needs format 1.3, this rye reads 1.2`) {
		t.Fatalf("%v", fs)
	}
	if got := string(l.Render()); got != text {
		t.Errorf("rendered\n%s\nwant\n%s", got, text)
	}
	if l, fs := ParseLock([]byte(text + "\n- plugin: x\n  a: b\n")); l != nil || !strings.Contains(fs[len(fs)-1].Message, "need format 1.3") {
		t.Errorf("an entry of a later format: %v", fs)
	}
}

// TestFirstFormat reads a lock of format 1.0: its line system is kept for messages
// and is not written.
func TestFirstFormat(t *testing.T) {
	now := string(example(t, "rye.lock"))
	head, rest, _ := strings.Cut(now, "\n\n")
	line := "\nsystem: rye-core v0.3.0 " + sumOf(t, "rye-core")
	text := strings.Replace(head, "rye-lock: 1.1", "rye-lock: 1", 1) + line + "\n\n" + rest
	l, fs := ParseLock([]byte(text))
	if l == nil || len(fs) > 0 || l.System != (System{"rye-core", "v0.3.0", sumOf(t, "rye-core")}) {
		t.Fatalf("%+v %v", l, fs)
	}
	if got := string(l.Render()); got != now {
		t.Errorf("rendered\n%s\nwant\n%s", got, now)
	}
	other := *l
	other.Minor, other.System = 1, System{}
	if ch := Compare(l, &other); len(ch) > 0 {
		t.Errorf("%v", ch)
	}
	if _, fs := ParseLock([]byte(strings.Replace(text, line, line+" x", 1))); len(fs) == 0 {
		t.Error("a line system of four words is accepted")
	}
}

// TestUses reads entries with and without a chain.
func TestUses(t *testing.T) {
	head := "rye-lock: 1.1\nmanifest: " + sumOf(t, "m") + "\n\n"
	d := " " + digestOf("x").String()
	for text, want := range map[string]string{
		"- item: directive:a\n  digest:" + d + "\n":                                             "",
		"- item: config:a\n  digest:" + d + "\n  uses: [config:b" + d + "]\n":                   "",
		"- item: tool:a\n  digest:" + d + "\n":                                                  "the chain of tool:a is missing",
		"- item: directive:a\n  digest:" + d + "\n  uses: []\n":                                 "uses must be a list that is not empty",
		"- item: config:a\n  digest:" + d + "\n  deps: [six 1.17.0" + d + "]\n":                 "",
		"- item: config:a\n  digest:" + d + "\n  deps: [six" + d + "]\n":                        "is not a name, a version and a digest",
		"- item: config:a\n  digest:" + d + "\n  deps: [--index 1" + d + "]\n":                  "is not a name, a version and a digest",
		"- item: config:a\n  digest:" + d + "\n  deps: [six @x" + d + "]\n":                     "is not a name, a version and a digest",
		"- item: directive:a\n  digest:" + d + "\n  uses: [b" + d + "]\n":                       "no kind",
		"- item: directive:a\n  digest:" + d + "\n  uses: [tool:b]\n":                           "is not a ref and a digest",
		"- item: directive:a\n  digest:" + d + "\n  chain: [tool:b" + d + "]\n":                 "does not begin with the item itself",
		"- item: directive:a\n  digest:" + d + "\n  uses: [tool:b" + d + "\n":                   `does not end in "]"`,
		"- item: directive:a\n  digest:" + d + "\n  uses: [tool:c" + d + ", tool:b" + d + "]\n": "not in canonical form",
	} {
		l, fs := ParseLock([]byte(head + text))
		if want == "" && (l == nil || len(fs) > 0) || want != "" && (len(fs) == 0 || !strings.Contains(fs[0].Message, want)) {
			t.Errorf("%s: %v, want %q", text, fs, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	for _, tc := range []struct {
		id, url string
		want    bool
	}{
		{"github.com/acme/x", "https://github.com/acme/x", true},
		{"github.com/acme/x", "https://github.com/acme/x.git", true},
		{"github.com/acme/x", "git@github.com:acme/x.git", true},
		{"github.com/acme/x", "ssh://git@github.com/acme/x", true},
		{"github.com/acme/x//sub/v2", "https://github.com/acme/x", true},
		{"github.com/acme/x", "https://github.com/acme/x//sub", false},
		{"github.com/acme/x", "git://github.com/acme/x", false},
		{"github.com/acme/x", "file:///github.com/acme/x", false},
		{"github.com/acme/x", "./github.com/acme/x", false},
		{"github.com/acme/x", "https://github.com/acme/xy", false},
		{"file:///srv/x", "file:///srv/x", true},
		{"file:///srv/x", "file:///srv/y", false},
		{"http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x", true},
		{"http://127.0.0.1:8080/x", "http://127.0.0.1:8081/x", false},
		{"registry:h.io/acme/x", "https://registry.example/acme/x", false},
		{"registry:h.io/acme/x", "./x", false},
	} {
		err := checkOrigin(mustID(t, tc.id), tc.url)
		if (err == nil) != tc.want {
			t.Errorf("%s from %s: %v", tc.id, tc.url, err)
		}
		if err != nil && diag.CodeOf(err) != diag.LockRepointed {
			t.Errorf("%s from %s: %s", tc.id, tc.url, diag.CodeOf(err))
		}
	}
}

// randomLock fills every field with what the format allows, in any order.
func randomLock(r *rand.Rand) *Lock {
	text := func() string { return fmt.Sprint("t", r.Intn(1000)) }
	some := func(f func() string) (out []string) {
		for range r.Intn(4) {
			out = append(out, f())
		}
		return out
	}
	hash := func() string { return manifestHash(text()) }
	l := &Lock{Manifest: hash()}
	if r.Intn(2) == 0 {
		l.Revoked.Documents = []item.Digest{digestOf(text()), digestOf(text())}
		l.Revoked.Lists = []RevokedList{{"ed25519:" + digestOf(text()).Hex(), time.Unix(int64(r.Intn(1<<31)), 0)}}
	}
	for _, n := range r.Perm(6)[:r.Intn(6)] {
		b := Bundle{ID: idOf(bundleOf(n)), Version: "v1.0.0", URL: "https://" + bundleOf(n), Commit: object("a"), Tree: object("b"), Sum: hash()}
		b.Exec = some(func() string { return "tools/" + text() + " ä\u4e2d.sh" })
		b.Caps = some(func() string { return `net:"` + text() + `\,[]` })
		b.Use = some(func() string { return "tool:" + text() + "/*" })
		b.Signers = some(func() string { return "ed25519:" + digestOf(text()).Hex() })
		for range r.Intn(4) {
			b.Needs = append(b.Needs, Module{ID: idOf(bundleOf(r.Intn(9))), Version: fmt.Sprintf("v0.%d.0", r.Intn(4))})
		}
		l.Bundles = append(l.Bundles, b)
	}
	for _, n := range r.Perm(4)[:r.Intn(4)] {
		l.Members = append(l.Members, Member{Path: fmt.Sprintf("./m/%d x", n), Manifest: hash()})
	}
	for _, n := range r.Perm(5)[:r.Intn(5)] {
		it := Link{ref(fmt.Sprint("tool:a/t", n)), digestOf(text())}
		l.Items = append(l.Items, Item{Ref: it.Ref, Digest: it.Digest, Chain: []Link{it, {ref("tool:rye/p"), digestOf(text())}}})
		own := Item{Ref: ref(fmt.Sprint("directive:a/d", n)), Digest: digestOf(text())}
		for range r.Intn(3) {
			own.Uses = append(own.Uses, Link{ref("config:" + text()), digestOf(text())})
		}
		l.Items = append(l.Items, own)
	}
	return l
}

func manifestHash(name string) string { return (&ProjectFile{Label: name}).Hash() }

// TestRoundTrip renders random locks: the same bytes in every order, ASCII, and
// reading them gives the same lock without a warning.
func TestRoundTrip(t *testing.T) {
	for seed := range int64(500) {
		r := rand.New(rand.NewSource(seed))
		l := randomLock(r)
		text := l.Render()
		for _, c := range text {
			if c >= 0x80 || c == '\r' || c == '\t' {
				t.Fatalf("seed %d: byte %#x in\n%s", seed, c, text)
			}
		}
		r.Shuffle(len(l.Bundles), func(i, j int) { l.Bundles[i], l.Bundles[j] = l.Bundles[j], l.Bundles[i] })
		r.Shuffle(len(l.Items), func(i, j int) { l.Items[i], l.Items[j] = l.Items[j], l.Items[i] })
		for _, b := range l.Bundles {
			r.Shuffle(len(b.Caps), func(i, j int) { b.Caps[i], b.Caps[j] = b.Caps[j], b.Caps[i] })
		}
		if again := l.Render(); !bytes.Equal(again, text) {
			t.Fatalf("seed %d: another order, other bytes:\n%s\n%s", seed, text, again)
		}
		back, fs := ParseLock(text)
		if back == nil || len(fs) > 0 {
			t.Fatalf("seed %d: %v in\n%s", seed, fs, text)
		}
		l.Sort()
		back.canonical = nil // l was not read
		if !reflect.DeepEqual(back, l) && (len(l.Bundles)+len(l.Items)+len(l.Members) > 0) && !bytes.Equal(back.Render(), text) {
			t.Fatalf("seed %d: %+v\n%+v", seed, back, l)
		}
		if changes := Compare(l, back); len(changes) > 0 {
			t.Fatalf("seed %d: %v", seed, changes)
		}
	}
}

func TestSetAndRemove(t *testing.T) {
	l := exampleLock(t)
	l.Sort()
	before := l.Render()
	b := *l.Bundle(idOf("github.com/acme/core-bundle"))
	b.Version = "v1.8.3"
	l.SetBundle(b)
	l.SetBundle(Bundle{ID: idOf("github.com/aaa/x"), Version: "v1.0.0"})
	it := Item{Ref: ref("tool:a"), Digest: digestOf("a")}
	l.SetItem(it)
	l.SetItem(it)
	if len(l.Bundles) != 4 || len(l.Items) != 3 || l.Bundle(idOf("github.com/acme/core-bundle")).Version != "v1.8.3" || l.Bundle(idOf("github.com/aaa/x")) == nil {
		t.Errorf("%+v", l)
	}
	if !l.RemoveItem(it.Ref) || l.RemoveItem(it.Ref) {
		t.Error("an item is removed once")
	}
	if bytes.Equal(before, l.Render()) {
		t.Error("nothing changed")
	}
}

// FuzzParseLock holds that what is read is written in a form that reads back
// as the same, without another warning.
func FuzzParseLock(f *testing.F) {
	f.Add(example(f, "rye.lock"))
	d := digestOf("x").String()
	f.Add([]byte("rye-lock: 1.1\nmanifest: h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n- item: directive:a\n  digest: " + d + "\n  uses: [config:a " + d + ", tool:b " + d + "]\n"))
	f.Add([]byte("rye-lock: 1.1\nmanifest: h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nsystem: rye-core v0.3.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n- item: config:a\n  digest: " + d + "\n"))
	f.Add([]byte("rye-lock: 1.7\nmanifest: h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nfuture: [a, \"b c\"]\n"))
	f.Add([]byte("rye-lock: 1\nmanifest: h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n- bundle: ./x\n  version: local\n"))
	f.Add([]byte("\n- item: a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		readAlike(t, b)
		l, fs := ParseLock(b)
		if (l == nil) != diag.Failed(fs) {
			t.Fatalf("%v with %v", l, fs)
		}
		if l == nil {
			return
		}
		text := l.Render()
		again, fs := ParseLock(text)
		if again == nil || !bytes.Equal(again.Render(), text) {
			t.Fatalf("%q becomes %q: %v", b, text, fs)
		}
	})
}

// TestFieldsAreDocumented fills every field and looks for each in the table of
// its kind in docs/reference/format/lock.md.
func TestFieldsAreDocumented(t *testing.T) {
	l := exampleLock(t)
	l.Revoked.Documents = []item.Digest{digestOf("r")}
	l.Bundles = append(l.Bundles[1:2:2], l.Bundles[0])
	l.Bundles[0].Via, l.Bundles[0].Replace, l.Members[0].ID = l.Bundles[0].Needs, Replacement{Path: "../x"}, idOf("github.com/x/y")
	page := string(docPage(t, "lock.md"))
	n := 0
	for name, r := range l.records(nil) {
		title := strings.ToUpper(name.kind[:1]) + name.kind[1:]
		_, table, ok := strings.Cut(page, "\n| "+title+" | Value |\n|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		for _, f := range r.fields {
			n++
			if f.key != "rye-lock" && (!ok || !strings.Contains(table, "`"+f.key+"`")) {
				t.Errorf("docs/reference/format/lock.md does not describe %s of a %s", f.key, name.kind)
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d fields", n)
	}
}

// TestHostileSizes reads files that are only large: a bounded number of
// findings comes back.
func TestHostileSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("parses files of the largest size")
	}
	for name, line := range map[string]string{"fields": "a: b\n", "entries": "- a: b\n", "quotes": "a: \"\n", "junk": "x\n"} {
		l, fs := ParseLock([]byte("rye-lock: 1\n" + strings.Repeat(line, 1<<19)))
		if l != nil || len(fs) == 0 || len(fs) > maxFindings+10 {
			t.Errorf("%s: %d findings", name, len(fs))
		}
	}
	// Names of fields that a later rye may know, each another one.
	var b strings.Builder
	b.WriteString("rye-lock: 1.9\nmanifest: h1:Qm47/d8p8h4c/M2bR0dbe8MIOfxyu/A8q1Xam8IDxtk=\n\n- item: tool:a/b\n")
	for i := range 100_000 {
		b.WriteString("  " + strings.Map(func(r rune) rune { return 'a' + r - '0' }, strconv.Itoa(i)) + ": x\n")
	}
	start := time.Now()
	_, _ = ParseLock([]byte(b.String()))
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("an entry of 100,000 fields took %s", took)
	}
	if s, fs := ParseSum([]byte(strings.Repeat("x\n", 1<<19))); s != nil || len(fs) > maxFindings+10 {
		t.Errorf("sum: %d findings", len(fs))
	}
}

func bundleOf(n int) string { return fmt.Sprintf("github.com/acme/b%d", n) }
