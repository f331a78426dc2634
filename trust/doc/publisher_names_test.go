package doc

import "testing"

// A publisher document is about every address of a repository.
func TestPublisherNames(t *testing.T) {
	p := Publisher{Bundles: []string{"github.com/acme/x", "http://h.io:8080/y"}}
	for id, want := range map[string]bool{
		"github.com/acme/x": true, "git@github.com:acme/x": true, "http://github.com/Acme/x.git/v2": true, "ssh://git@github.com/acme/x.git//sub": true,
		"http://h.io:8080/y.git": true, "github.com/acme/xx": false, "registry:github.com/acme/x": false, "git@evil.test:github.com/acme/x": false,
	} {
		if p.Names(id) != want {
			t.Errorf("%s: want %t", id, want)
		}
	}
}
