package telemetry

import (
	"testing"

	"github.com/ryeos/rye/internal/testing/wiretest"
)

type obj = wiretest.Object

func run(t *testing.T, dir, name string, in obj) (obj, int) {
	t.Helper()
	return wiretest.Applets(Applets()).Run(t, dir, name, in)
}

func ok(t *testing.T, dir, name string, in obj) obj {
	t.Helper()
	return wiretest.Applets(Applets()).OK(t, dir, name, in)
}

func fails(t *testing.T, dir, name string, in obj, code string, words ...string) obj {
	t.Helper()
	return wiretest.Applets(Applets()).Fails(t, dir, name, in, code, words...)
}
