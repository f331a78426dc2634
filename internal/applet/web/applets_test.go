package web

import (
	"testing"

	"github.com/ryeos/rye/internal/testing/wiretest"
)

type obj = wiretest.Object

func fails(t *testing.T, dir, name string, in obj, code string, words ...string) obj {
	t.Helper()
	return wiretest.Applets(Applets()).Fails(t, dir, name, in, code, words...)
}
