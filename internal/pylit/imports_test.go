package pylit

import (
	"slices"
	"strings"
	"testing"
)

func TestImports(t *testing.T) {
	for src, want := range map[string]string{
		"import os, sys as s, a.b.c as d\nfrom x.y import (z,\n w)":               "a os sys x",
		"from . import near\nfrom .near import x\nfrom .. import y":               "",
		"\"\"\"\nimport the data\n\"\"\"\n# import b\nx = 'import c'":             "",
		"try:\n    import ujson as json\nexcept ImportError: import json":         "json ujson",
		"x = 1; import late; from e import f":                                     "e late",
		"def f():\n\tfrom numpy import *\n\tyield from other":                     "numpy",
		"importlib.import_module('pkg.sub')\n__import__(\"m\")\n__import__(name)": "m pkg",
		"import \\\n  joined":             "joined",
		"import a\n???\x00 $$\nimport b":  "a b",
		"x = (\nimport a":                 "",
		"imports = 1\nfromage = import_x": "",
		"import":                          "",
		"from":                            "",
		"import naïve":                    "naïve",
	} {
		if got := strings.Join(Imports([]byte(src)), " "); got != want {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

func FuzzImports(f *testing.F) {
	f.Add([]byte("import a\nfrom b import c\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if got := Imports(src); !slices.IsSorted(got) {
			t.Errorf("%q", got)
		}
	})
}
