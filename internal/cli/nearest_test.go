package cli

import "testing"

func TestNearestFlag(t *testing.T) {
	flags := []string{"--local", "--lang", "--long-message", "--key"}
	for word, want := range map[string]string{"--language": "--lang", "--lng": "--lang", "--keyring-of-the-user": "", "--other": ""} {
		if got := nearestFlag(word, flags); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
