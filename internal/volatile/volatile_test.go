package volatile

import (
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
)

func TestResult(t *testing.T) {
	for _, c := range []struct{ value, path, want string }{
		{`{"stdout":"a","duration_ms":3}`, "duration_ms", `{"stdout":"a"}`},
		{`{"success":true,"data":{"stdout":"a","duration_ms":3}}`, "duration_ms", `{"success":true,"data":{"stdout":"a"}}`},
		{`{"success":false,"error":{"code":"X","details":{"data":{"duration_ms":3,"exit_code":1}}}}`, "duration_ms", `{"success":false,"error":{"code":"X","details":{"data":{"exit_code":1}}}}`},
		{`{"content":[{"type":"text","text":"{\"took\":3,\"n\":1}"},{"type":"text","text":"plain"}],"structuredContent":{"took":3,"n":1},"isError":false}`, "took",
			`{"content":[{"type":"text","text":{"n":1}},{"type":"text","text":"plain"}],"structuredContent":{"n":1},"isError":false}`},
		{`{"rows":[{"at":1,"v":2},{"v":3}]}`, "rows.*.at", `{"rows":[{"v":2},{"v":3}]}`},
		{`{"results":{"a":{"cost":1},"b":{"cost":2}}}`, "results.*.cost", `{"results":{"a":{},"b":{}}}`},
		{`{"stdout":"{\"t\":1,\"v\":2}"}`, "stdout.t", `{"stdout":{"v":2}}`},
		{`{"a":{"b":null}}`, "a.b", `{"a":{}}`},
	} {
		v, fs := jsonx.ParseMessage([]byte(c.value))
		if len(fs) > 0 {
			t.Fatal(c.value, fs)
		}
		out, changed := Result(v, []string{c.path})
		got, err := jsonx.Marshal(out)
		want, _ := jsonx.ParseMessage([]byte(c.want))
		wanted, _ := jsonx.Marshal(want)
		if err != nil || string(got) != string(wanted) || !changed {
			t.Errorf("%s without %s: %s %v, want %s", c.value, c.path, got, changed, wanted)
		}
		if before, _ := jsonx.Marshal(v); string(before) == string(got) {
			t.Errorf("%s: the value itself changed", c.value)
		}
	}
	for _, c := range []struct{ value, path string }{{`{"a":1}`, "b"}, {`[1,2]`, "*"}, {`"text"`, "a"}, {`{"a":"{"}`, "a.b"}, {`null`, "a"}, {`[{"a":1}]`, "0.a"}} {
		v, _ := jsonx.ParseMessage([]byte(c.value))
		if _, changed := Result(v, []string{c.path}); changed {
			t.Errorf("%s without %s changed", c.value, c.path)
		}
	}
}
