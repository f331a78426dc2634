package trust_test

import (
	"testing"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/trust"
)

// Package trust may not import package bundle, so the limit is written twice.
func TestMaxManifest(t *testing.T) {
	if trust.MaxManifest != bundle.MaxManifest {
		t.Errorf("trust has %d, bundle %d", trust.MaxManifest, bundle.MaxManifest)
	}
}
