package githook

import "testing"

// A hint is pasted into a shell: a file's name runs nothing there.
func TestWordForAShell(t *testing.T) {
	for path, want := range map[string]string{
		"a/key.pem": "a/key.pem", "a b;rm -rf ~": "'a b;rm -rf ~'", "$(x)": "'$(x)'", "it's": `'it'\''s'`, "-f": "-- ./-f", "-$x": "-- './-$x'", "a\nb": "'a\nb'",
	} {
		if got := word(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
