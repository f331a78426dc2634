package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
)

// stored writes a log with three checkpoints, whose second event has a text of a size, and
// a whole result. It returns the files.
func stored(t *testing.T, p Params, size int) []string {
	t.Helper()
	l, err := Create(t.Context(), p)
	must(t, err)
	must(t, l.Commit(t.Context(), "noted", note{Text: "a \\ \"quoted\" text, ä"}))
	must(t, l.Checkpoint(t.Context(), 1))
	must(t, l.Commit(t.Context(), "noted", note{Text: "x", Value: map[string]any{"n": 1.5, "text": strings.Repeat("0123456789", size/10)}}))
	must(t, l.Checkpoint(t.Context(), 2))
	whole := []byte("the whole result\n")
	must(t, p.base().Write(strings.TrimSuffix(artifactName(chainlog.Digest(whole)), ".json")+".txt", whole, 0o600))
	must(t, l.Rest(t.Context(), "ended", note{Text: "end"}))
	must(t, l.Close())
	var files []string
	for _, name := range []string{File, HeadFile, ArtifactsDir + "/*"} {
		found, err := filepath.Glob(p.base().Path(name))
		must(t, err)
		files = append(files, found...)
	}
	return files
}

// Verify names the file, and in the log the line, of a bit that is not as it was
// written, in each byte. A line feed that changes joins its line with the next.
func TestFlips(t *testing.T) {
	for name, size := range map[string]int{"small": 30, "with an artifact": maxData} {
		t.Run(name, func(t *testing.T) {
			p := params(t)
			for _, file := range stored(t, p, size) {
				whole, err := os.ReadFile(file)
				must(t, err)
				step := 1
				if testing.Short() || size == maxData {
					step = len(whole)/20 + 1
				}
				for i := 0; i < len(whole); i += step {
					flip(t, p, file, whole, i)
				}
				must(t, os.WriteFile(file, whole, 0o600))
			}
			if rep, err := Verify(t.Context(), p); err != nil || rep.Err() != nil {
				t.Fatal(err, rep.Err())
			}
		})
	}
}

// flip changes one bit: in turn one that makes another letter, another case, and a byte that is
// not ASCII.
func flip(t *testing.T, p Params, file string, whole []byte, i int) {
	t.Helper()
	rel, _ := filepath.Rel(p.Project, file)
	line := 0
	if filepath.Base(file) == File {
		line = 1 + bytes.Count(whole[:i], []byte("\n"))
	}
	changed := bytes.Clone(whole)
	changed[i] ^= []byte{1, 0x20, 0x80}[i%3]
	must(t, os.WriteFile(file, changed, 0o600))
	rep, err := Verify(t.Context(), p)
	if err != nil || !names(rep, filepath.ToSlash(rel), line) {
		t.Fatalf("byte %d of %s, line %d: %v, %+v", i, rel, line, err, rep.Findings)
	}
}

// names reports whether an error of a report is about a line of a file. The hash of the last
// line is in the head only: if the two differ, either may be the altered one, and the message
// names both.
func names(rep *Report, file string, line int) bool {
	for _, f := range rep.Findings {
		both := strings.HasSuffix(file, HeadFile) && strings.Contains(f.Message, HeadFile)
		if f.Severity == diag.SeverityError && (f.Path == file && f.Line == line || both) {
			return true
		}
	}
	return false
}
