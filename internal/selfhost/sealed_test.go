package selfhost_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ryeos/rye/resolve"
)

const sealedPage = "../../docs/dev/design/sealed.md"

// The page shows the list of the code; RYE_UPDATE_GOLDEN=1 writes it there.
func TestSealedPage(t *testing.T) {
	const begin, end = "<!-- seals: generated from resolve.Seals -->\n", "<!-- end of seals -->\n"
	b, err := os.ReadFile(sealedPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s does not mark the position of the list", sealedPage)
	}
	want := head + begin + seals() + end + tail
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" && want != string(b) {
		if err := os.WriteFile(sealedPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(b) {
		t.Errorf("%s differs from resolve.Seals; RYE_UPDATE_GOLDEN=1 go test ./internal/selfhost writes it. Want\n%s", sealedPage, seals())
	}
}

func seals() string {
	var b strings.Builder
	b.WriteString("\n| Item | Why |\n|---|---|\n")
	for _, s := range resolve.Seals() {
		ref := s.Ref
		if strings.HasSuffix(ref, "/") {
			ref += "…"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", ref, s.Reason)
	}
	return b.String() + "\n"
}
