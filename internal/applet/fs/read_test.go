package fs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/testing/wiretest"
)

// shown splits the output of read into ids and texts.
func shown(t *testing.T, got obj) (ids, texts []string) {
	t.Helper()
	out := got["output"].(string)
	if out == "" {
		return nil, nil
	}
	re := regexp.MustCompile(`^\[LID:([a-z2-7]{10})\] (.*)$`)
	for l := range strings.SplitSeq(out, "\n") {
		m := re.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("line %q has no id", l)
		}
		ids, texts = append(ids, m[1]), append(texts, m[2])
	}
	return ids, texts
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{
		"three.txt": "one\ntwo\nthree\n", "open.txt": "one\ntwo", "empty.txt": "", "crlf.txt": "one\r\ntwo\r\n",
		"bom.txt": "\xef\xbb\xbfone\n", "latin.txt": "caf\xe9\n", "blank.txt": "\n", "html.txt": "<a & b>\n",
		"sub/deep.txt": "x\n", ".ai/tools/t.sh": "# signed\n", ".git/config": "[core]\n",
	})
	for name, c := range map[string]struct {
		in       obj
		texts    []string
		total    float64
		encoding string
		cut      bool
	}{
		"whole":         {obj{"file_path": "three.txt"}, []string{"one", "two", "three"}, 3, "utf-8", false},
		"offset":        {obj{"file_path": "three.txt", "offset": 2}, []string{"two", "three"}, 3, "utf-8", false},
		"limit":         {obj{"file_path": "three.txt", "offset": 2, "limit": 1}, []string{"two"}, 3, "utf-8", true},
		"no newline":    {obj{"file_path": "open.txt"}, []string{"one", "two"}, 2, "utf-8", false},
		"empty":         {obj{"file_path": "empty.txt"}, nil, 0, "utf-8", false},
		"one blank":     {obj{"file_path": "blank.txt"}, []string{""}, 1, "utf-8", false},
		"CRLF":          {obj{"file_path": "crlf.txt"}, []string{"one", "two"}, 2, "utf-8", false},
		"BOM":           {obj{"file_path": "bom.txt"}, []string{"one"}, 1, "utf-8-bom", false},
		"not UTF-8":     {obj{"file_path": "latin.txt"}, []string{"caf\uFFFD"}, 1, "unknown-8bit", false},
		"no HTML":       {obj{"file_path": "html.txt"}, []string{"<a & b>"}, 1, "utf-8", false},
		"dots inside":   {obj{"file_path": "sub/../sub/./deep.txt"}, []string{"x"}, 1, "utf-8", false},
		"absolute":      {obj{"file_path": dir + "/sub/deep.txt"}, []string{"x"}, 1, "utf-8", false},
		"an item":       {obj{"file_path": ".ai/tools/t.sh"}, []string{"# signed"}, 1, "utf-8", false},
		"reading .git":  {obj{"file_path": ".git/config"}, []string{"[core]"}, 1, "utf-8", false},
		"null is unset": {obj{"file_path": "open.txt", "offset": nil}, []string{"one", "two"}, 2, "utf-8", false},
	} {
		t.Run(name, func(t *testing.T) {
			plain := ok(t, dir, "read", c.in)
			c.in["line_ids"] = true
			got := ok(t, dir, "read", c.in)
			if plain["output"] != strings.Join(c.texts, "\n") {
				t.Errorf("without ids: %q", plain["output"])
			}
			_, texts := shown(t, got)
			if fmt.Sprint(texts) != fmt.Sprint(c.texts) || got["line_count"] != float64(len(c.texts)) {
				t.Errorf("texts %q (%v), want %q", texts, got["line_count"], c.texts)
			}
			if got["total_lines"] != c.total || got["encoding"] != c.encoding || got["truncated"] != c.cut {
				t.Errorf("total %v encoding %v truncated %v", got["total_lines"], got["encoding"], got["truncated"])
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{
		"bin": "a\x00b", "utf16": "\xff\xfea\x00", "dir/x": "", "short": "a\n",
		"big": strings.Repeat("x", files.MaxSize+1), "lines": strings.Repeat("\n", 500_000+1),
	})
	for name, c := range map[string]struct {
		in    obj
		code  string
		words []string
	}{
		"binary":     {obj{"file_path": "bin"}, "ENCODING", []string{"binary", "byte 1"}},
		"UTF-16":     {obj{"file_path": "utf16"}, "ENCODING", []string{"UTF-16"}},
		"folder":     {obj{"file_path": "dir"}, "NOT_REGULAR", []string{"directory"}},
		"missing":    {obj{"file_path": "nope"}, "FILE_SYSTEM_ERROR", []string{`"nope"`, "file does not exist"}},
		"behind end": {obj{"file_path": "short", "offset": 3}, "VALIDATION_FAILED", []string{"offset 3", "1 lines"}},
		"too big":    {obj{"file_path": "big"}, "TOO_LARGE", []string{"10485761"}},
		"many lines": {obj{"file_path": "lines"}, "TOO_LARGE", []string{"500000"}},
		"below file": {obj{"file_path": "short/x"}, "FILE_SYSTEM_ERROR", []string{"not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := fails(t, dir, "read", c.in, c.code, c.words...)
			if strings.Contains(fmt.Sprint(e), dir) {
				t.Errorf("the error shows an absolute path: %v", e)
			}
		})
	}
}

func TestReadShortensLongLines(t *testing.T) {
	t.Parallel()
	exact, long := strings.Repeat("é", 2000), strings.Repeat("é", 2000+1)
	dir := wiretest.Project(t, map[string]string{"f": exact + "\n" + long + "\n"})
	got := ok(t, dir, "read", obj{"file_path": "f", "line_ids": true})
	_, texts := shown(t, got)
	if texts[0] != exact {
		t.Error("a line of exactly the limit was changed")
	}
	if texts[1] != exact+" …[line shortened: offset 2 with column 2001 reads on]" || got["truncated"] != true {
		t.Errorf("long line: …%q, truncated %v", texts[1][len(texts[1])-40:], got["truncated"])
	}
}

func TestReadBoundsItsText(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"f": strings.Repeat(strings.Repeat("x", 1999)+"\n", 1000)})
	got := ok(t, dir, "read", obj{"file_path": "f"})
	if n := len(got["output"].(string)); n > maxReadText+2000 || got["truncated"] != true {
		t.Fatalf("%d bytes, truncated %v", n, got["truncated"])
	}
	next := got["next_offset"].(float64)
	if next != got["line_count"].(float64)+1 {
		t.Errorf("next_offset %v after %v lines", next, got["line_count"])
	}
	ok(t, dir, "read", obj{"file_path": "f", "offset": next})
}

// TestFS1 names the fault of the original: ids were numbered from the slice,
// so with an offset they were wrong.
func TestFS1IDsDoNotDependOnTheOffset(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "%s\n", []string{"}", "", "x := 1", fmt.Sprint("line ", i)}[i%4])
	}
	dir := wiretest.Project(t, map[string]string{"f": b.String()})
	all, _ := shown(t, ok(t, dir, "read", obj{"file_path": "f", "line_ids": true}))
	distinct := map[string]bool{}
	for _, id := range all {
		distinct[id] = true
	}
	if len(distinct) != 300 {
		t.Fatalf("%d distinct ids for 300 lines", len(distinct))
	}
	for offset := 1; offset <= 300; offset += 7 {
		ids, _ := shown(t, ok(t, dir, "read", obj{"file_path": "f", "offset": offset, "limit": 10, "line_ids": true}))
		for i, id := range ids {
			if id != all[offset-1+i] {
				t.Fatalf("offset %d: line %d has id %s, was %s", offset, offset+i, id, all[offset-1+i])
			}
		}
	}
}
