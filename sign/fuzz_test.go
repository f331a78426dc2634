package sign

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

func seeds(f *testing.F) {
	for _, file := range []string{
		"", "x", "\n", "#!/bin/sh\n", "#!/bin/sh", goldenTool, goldenDirective, goldenTool + goldenTool,
		strings.ReplaceAll(goldenTool, "\n", "\r\n"), sigLine(), sigLine() + "\n" + sigLine() + "\n", "\ufeff" + goldenTool, "#!a\n#!b\n",
		"# rye:signed:", "<!-- rye:signed:x -->\n#!/bin/sh\n", "# rye:signed:x\n#!/bin/sh\n# rye:signed:y\nz", "\x00", "// rye:signed:\\\n",
		"# kiwi-mcp:signed:a\n", "#!x\n# rye:signed:1\n\nbody",
	} {
		for i := range Styles() {
			f.Add([]byte(file), uint8(i))
		}
	}
}

func FuzzSplit(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, file []byte, n uint8) {
		s := Styles()[int(n)%len(Styles())]
		sp, err := SplitFile(file, s)
		if err != nil {
			switch diag.CodeOf(err) {
			case diag.SigMalformed, diag.SigMultiple, diag.Legacy:
			default:
				t.Fatalf("code of %v", err)
			}
			return
		}
		line := ""
		if sp.Signed {
			line = sp.Line.Render(s)
		}
		if got := string(sp.Head) + line + string(sp.Tail); got != string(file) {
			t.Fatalf("head, line and tail give %q, the file is %q", got, file)
		}
		if sp.Signed != (sp.Size() < len(file)) || sp.Digest() != (Split{Tail: sp.Body()}).Digest() {
			t.Fatalf("size %d, file %d", sp.Size(), len(file))
		}
		if again, err := SplitFile(file, s); err != nil || again.Signed != sp.Signed || again.Line != sp.Line {
			t.Fatal("splitting twice differs")
		}
		body, err := SplitFile(sp.Body(), s)
		if err != nil || body.Signed {
			t.Fatalf("the body is signed itself: %v", err)
		}
	})
}

func FuzzParseLine(f *testing.F) {
	for i, s := range Styles() {
		l, err := ParseLine([]byte(sigLine()+"\n"), Style{"#", "# ", ""})
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(l.Render(s)), uint8(i))
	}
	seeds(f)
	f.Fuzz(func(t *testing.T, line []byte, n uint8) {
		s := Styles()[int(n)%len(Styles())]
		l, err := ParseLine(line, s)
		if err == nil && l.Render(s) != string(line) {
			t.Fatalf("accepted %q, renders %q", line, l.Render(s))
		}
		if err == nil && !lookAlike(line) {
			t.Fatalf("accepted %q, which does not look like a signature", line)
		}
		if code := diag.CodeOf(err); err != nil && code != diag.SigMalformed && code != diag.Legacy {
			t.Fatalf("code of %v", err)
		}
	})
}

func FuzzSignStrip(f *testing.F) {
	seeds(f)
	ctx, sub := context.Background(), tool("demo/hello")
	f.Fuzz(func(t *testing.T, file []byte, n uint8) {
		s := Styles()[int(n)%len(Styles())]
		if s.Detached() {
			signStripDetached(t, file)
			return
		}
		before := bytes.Clone(file)
		out, changed, err := Sign(ctx, file, s, sub, golden(), goldenTime())
		if !bytes.Equal(before, file) {
			t.Fatal("the input was written to")
		}
		if err != nil {
			if out != nil || changed {
				t.Fatal("a result besides an error")
			}
			return
		}
		sp, err := SplitFile(out, s)
		if err != nil || !sp.Signed {
			t.Fatalf("signed file does not split: %v", err)
		}
		if in, err := SplitFile(file, s); err == nil && !bytes.Equal(in.Body(), sp.Body()) {
			t.Fatalf("body %q became %q", in.Body(), sp.Body())
		}
		if _, err := Verify(out, s, sub, goldenKeys()); err != nil {
			t.Fatal(err)
		}
		again, changed, err := Sign(ctx, out, s, sub, golden(), goldenTime().Add(time.Hour))
		if err != nil || changed || !bytes.Equal(again, out) {
			t.Fatalf("not idempotent: %v, %v", changed, err)
		}
	})
}

func signStripDetached(t *testing.T, file []byte) {
	ctx, sub := context.Background(), tool("demo/hello")
	sig, _, err := SignDetached(ctx, file, nil, sub, golden(), goldenTime())
	if err != nil {
		wantCode(t, "detached", err, diag.SigMultiple)
		return
	}
	if _, err := VerifyDetached(file, sig, sub, goldenKeys()); err != nil {
		t.Fatal(err)
	}
	if again, changed, err := SignDetached(ctx, file, sig, sub, golden(), goldenTime().Add(time.Hour)); err != nil || changed || !bytes.Equal(again, sig) {
		t.Fatalf("not idempotent: %v, %v", changed, err)
	}
}

// Any change of any single bit, and of any byte to any of a few others, fails.
func TestEveryFlipFails(t *testing.T) {
	styles, step := []string{"#", "<!--", "//", "--", ";", "/*"}, 1
	if testing.Short() {
		styles, step = styles[:2], 5
	}
	for _, name := range styles {
		s := style(t, name)
		for _, body := range []string{"", "x\n", "#!/bin/sh\necho 1\n", "line\r\nline"} {
			signed := mustSign(t, body, s, tool("demo/hello"))
			for i := 0; i < len(signed); i += step {
				for _, x := range []byte{1, 2, 4, 8, 16, 32, 64, 128, '\n' ^ signed[i], '\r' ^ signed[i]} {
					if x == 0 {
						continue
					}
					flipped := []byte(signed)
					flipped[i] ^= x
					if _, err := Verify(flipped, s, tool("demo/hello"), goldenKeys()); err == nil {
						t.Fatalf("style %s: byte %d as 0x%02x verifies", name, i, flipped[i])
					}
				}
				cut := []byte(signed[:i] + signed[i+1:])
				if _, err := Verify(cut, s, tool("demo/hello"), goldenKeys()); err == nil {
					t.Fatalf("style %s: without byte %d verifies", name, i)
				}
			}
		}
	}
}

func TestVerifyAllocatesOnlyTheStatement(t *testing.T) {
	file := []byte(mustSign(t, strings.Repeat("some text of a tool\n", 5000), style(t, "#"), tool("demo/hello")))
	s, sub, keys := style(t, "#"), tool("demo/hello"), goldenKeys()
	n := testing.AllocsPerRun(20, func() {
		if _, err := Verify(file, s, sub, keys); err != nil {
			t.Fatal(err)
		}
	})
	if n > 1 {
		t.Errorf("%v allocations per verification", n)
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, size := range []int{1 << 10, 10 << 10} {
		file := []byte(mustSign(b, "#!/bin/sh\n"+strings.Repeat("some text of a tool\n", size/20), style(b, "#"), tool("demo/hello")))
		s, sub, keys := style(b, "#"), tool("demo/hello"), goldenKeys()
		b.Run(strconv.Itoa(size)+"B", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(file, s, sub, keys); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckKey(b *testing.B) {
	pub := pubOf(goldenKey())
	for b.Loop() {
		if checkPoint(pub) != nil {
			b.Fatal()
		}
	}
}
