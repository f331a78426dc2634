package sandbox

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/policy"
)

// TestLastNames generates paths in the directories of the kinds. The names with which
// rows end include those of all paths that a row protects by themselves.
func TestLastNames(t *testing.T) {
	ends := ends().last
	parts := []string{"a", ".ai", ".git", "x~1", "HEAD", "ry1f3c~2.loc", "RYE~1.YAM", ".Env. ", "ﬁ", ".git:s", `b\.git`, "..x", "m", ".rye-tmp-", "a.code-workspace"}
	for _, row := range policy.ProtectedPaths() {
		parts = append(parts, strings.Split(strings.NewReplacer("**", "m", "*", "w").Replace(row.Path), "/")...)
	}
	r := rand.New(rand.NewPCG(3, 4))
	found, tried := 0, 200_000
	if testing.Short() {
		tried /= 10
	}
	for range tried {
		at := ".ai/tools"
		for range 1 + r.IntN(5) {
			name := parts[r.IntN(len(parts))]
			if r.IntN(4) == 0 {
				name = strings.ToUpper(name)
			}
			at += "/" + name
		}
		row, matched, ok := policy.Protected(at)
		if !ok || matched != at || row.Only && !row.Secret {
			continue
		}
		found++
		if base := at[strings.LastIndexByte(at, '/')+1:]; !ends.match(base) {
			t.Fatalf("%q is protected by %s, and %q is not among the names", at, row.Path, base)
		}
	}
	if found < tried/20 {
		t.Errorf("only %d protected paths", found)
	}
}

// TestProtectedItems has protected paths among many items. The number of questions to the
// table does not depend on the number of items.
func TestProtectedItems(t *testing.T) {
	asked, many := map[int]int{}, 3000
	if testing.Short() {
		many = 300
	}
	for _, items := range []int{3, many} {
		dir := withItems(t, items)
		want := []string{".ai", ".ai/tools/d0/.env", ".ai/tools/d0/sub/.git/config", ".ai/tools/rye"}
		for _, rel := range want[1:3] {
			write(t, filepath.Join(dir, rel))
		}
		write(t, filepath.Join(dir, ".ai/tools/rye/x.sh"))
		got := findProtected("", dir, func(rel string) (policy.ProtectedPath, string, bool) {
			asked[items]++
			return policy.Protected(rel)
		}, nil)
		for i, p := range got.fixed {
			rel, _ := filepath.Rel(dir, p)
			got.fixed[i] = filepath.ToSlash(rel)
		}
		slices.Sort(got.fixed)
		want[2] = ".ai/tools/d0/sub/.git"
		if !slices.Equal(got.fixed, want) || !got.complete {
			t.Errorf("%d items: %q, want %q", items, got.fixed, want)
		}
	}
	if asked[3] != asked[many] {
		t.Errorf("questions to the table by number of items: %v", asked)
	}
}

// BenchmarkProtected finds the protected paths of projects of different sizes.
func BenchmarkProtected(b *testing.B) {
	for _, items := range []int{8, 800, 8000} {
		dir := withItems(b, items)
		b.Run(fmt.Sprint(items), func(b *testing.B) {
			for b.Loop() {
				findProtected(dir, dir, nil, nil)
			}
		})
	}
}

// withItems returns a project with items in directories of 16.
func withItems(t testing.TB, items int) string {
	dir := t.TempDir()
	for i := range items {
		write(t, filepath.Join(dir, ".ai/tools", fmt.Sprintf("d%d/tool_%d.sh", i/16, i)))
	}
	return dir
}

func write(t testing.TB, p string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
