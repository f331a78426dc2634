package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

const secret = `sk-ant/T+<b>"&é=9`

func filter() *Filter {
	return New(map[string]string{"API_KEY": secret, "OTHER": "abcdefgh12", "LIKE": "gh12345678", "SHORT": "1234567"})
}

// TestForms hides a value in each way that programs write it.
func TestForms(t *testing.T) {
	j, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"plain": secret, "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "lower case": strings.ReplaceAll(url.QueryEscape(secret), "%2F", "%2f"),
		"json": string(j[1 : len(j)-1]),
		"hex":  hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	if forms["lower case"] = lowerHex(url.QueryEscape(secret)); forms["lower case"] == forms["query"] {
		t.Error("no digits to write in lower case")
	}
	for name, text := range forms {
		if got := filter().String("a " + text + " z"); got != "a [redacted:API_KEY] z" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "u", "u:", "use:", "user"} {
			for _, after := range []string{"", "x", "xy", "xyz"} {
				got := filter().String(enc.EncodeToString([]byte(before + secret + after)))
				if !strings.Contains(got, "[redacted:API_KEY]") || len(got) > len("[redacted:API_KEY]")+4*(len(before)+len(after))/3+8 {
					t.Errorf("base64 of %q + value + %q: %s", before, after, got)
				}
			}
		}
	}
}

func TestOverlap(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"nothing":                    "nothing",
		"1234567":                    "1234567",
		"abcdefgh12345678":           "[redacted:OTHER]",
		"abcdefgh12abcdefgh12":       "[redacted:OTHER][redacted:OTHER]",
		"abcdefgh1 gh1234567":        "abcdefgh1 gh1234567",
		"xabcdefgh12345678y":         "x[redacted:OTHER]y",
		`{"k":"gh12345678"}`:         `{"k":"[redacted:LIKE]"}`,
		"[redacted:OTHER]abcdefgh12": "[redacted:OTHER][redacted:OTHER]",
	} {
		if got := filter().String(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := New(map[string]string{"A": "aaaaaaaa"}).String(strings.Repeat("a", 100) + "b"); got != "[redacted:A]b" {
		t.Error(got)
	}
	short := New(map[string]string{"A": "1234567", "B": "12345678"})
	if got := short.String("1234567 12345678"); got != "1234567 [redacted:B]" {
		t.Errorf("the bound of the length: %q", got)
	}
}

// FuzzSplit cuts a text with values into pieces: the result is that of the whole text,
// and no value is in it.
func FuzzSplit(f *testing.F) {
	f.Add("see abcdefgh12345678 and "+secret, uint64(1))
	f.Add(strings.Repeat("aaaaaaaabcdefgh12", 5), uint64(2))
	f.Add(url.QueryEscape(secret)+base64.StdEncoding.EncodeToString([]byte("u:"+secret)), uint64(3))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		values := map[string]string{"API_KEY": secret, "OTHER": "abcdefgh12", "LIKE": "gh12345678", "SAME": "aaaaaaaa"}
		fl, r := New(values), rand.New(rand.NewPCG(seed, 1))
		for range 3 { // put values at random positions
			at := r.IntN(len(text) + 1)
			all := fl.forms[r.IntN(len(fl.forms))].text
			text = text[:at] + string(all) + text[at:]
		}
		whole := fl.String(text)
		rest := strings.NewReplacer("[redacted:API_KEY]", "|", "[redacted:OTHER]", "|", "[redacted:LIKE]", "|", "[redacted:SAME]", "|").Replace(whole)
		for _, form := range fl.forms {
			if strings.Contains(rest, string(form.text)) {
				t.Fatalf("%q contains %q", whole, form.text)
			}
		}
		var out bytes.Buffer
		w, pieces := fl.Writer(&out), fl.Text()
		var texts strings.Builder
		for rest := text; rest != ""; {
			n := 1 + r.IntN(min(len(rest), 1+r.IntN(40)))
			if m, err := w.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatal(m, err)
			}
			texts.WriteString(pieces.Add(rest[:n]))
			if len(w.held) >= max(1, fl.longest) {
				t.Fatalf("holds %d bytes", len(w.held))
			}
			rest = rest[n:]
		}
		texts.WriteString(pieces.Rest())
		if err := w.Close(); err != nil || out.String() != whole || texts.String() != whole {
			t.Fatalf("in pieces %q\nand %q\nas a whole %q", out.String(), texts.String(), whole)
		}
	})
}

func BenchmarkBytes(b *testing.B) {
	text := bytes.Repeat([]byte("some text of a model without any value in it, "), 20_000)
	f := filter()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f.Bytes(text)
	}
}
