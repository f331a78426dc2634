package transcript

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/chainlog"
)

// lineOf renders a line with data.
func lineOf(t testing.TB, data string) []byte {
	t.Helper()
	l := Line{Seq: 12, Time: "2026-11-26T11:12:13.456Z", Event: "node_started", Data: json.RawMessage(data), Prev: chainlog.Digest(nil)}
	b, err := l.render()
	must(t, err)
	return b
}

// quick reads what rye writes.
func TestQuick(t *testing.T) {
	for _, data := range []string{`{}`, `{"node":"a","seq":1,"values":[1.5,true,null,"\",\"prev\":\""]}`, `{"text":"ä\\ \u00a0\u202e","data":{"data":{}}}`} {
		line := lineOf(t, data)
		got, ok := quick(line)
		var want Line
		must(t, chainlog.Parse(line, MaxLine, "event", &want))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %+v, want %+v", line, ok, got, want)
		}
	}
}

// What quick reads, the general way reads to the same line; what the general way refuses,
// quick does not read.
func FuzzQuick(f *testing.F) {
	line := lineOf(f, `{"node":"a","values":[1.5,"ä"]}`)
	f.Add(line)
	for _, change := range [][2]string{
		{`"seq":12`, `"seq":012`}, {`"seq":12`, `"seq":+12`}, {`"seq":12`, `"seq":99999999999999999999`}, {`"seq"`, `"Seq"`}, {"11:12", `1\u0031:12`}, {"node_started", `node"started`},
		{"node_started", ""}, {`{"node"`, `{ "node"`}, {"ä", "\u202e"}, {"ä", "\xff"}, {"ä", `\u0041`}, {"1.5", "01"}, {`}`, `}}`}, {`,"prev"`, `,"x":1,"prev"`},
		{`"sha256:`, `"SHA256:`}, {"\n", ""}, {"\n", "\n\n"}, {`{"node":"a","values":[1.5,"ä"]}`, strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)},
		{`{"node":"a","values":[1.5,"ä"]}`, `null`}, {`{"node":"a","values":[1.5,"ä"]}`, `{},"data":{}`},
	} {
		f.Add(bytes.Replace(line, []byte(change[0]), []byte(change[1]), 1))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, ok := quick(line)
		if !ok {
			return
		}
		var want Line
		if err := chainlog.Parse(line, MaxLine, "event", &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v, %v", line, got, want, err)
		}
	})
}
