package testkit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/internal/openat"
)

// Golden compares a text with a file, or writes the file if RYE_UPDATE_GOLDEN=1.
func Golden(t testing.TB, file, got string) {
	t.Helper()
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(file, []byte(got), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := openat.ReadRegular(file, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: it is\n%s\nwant\n%s", file, got, want)
	}
}
