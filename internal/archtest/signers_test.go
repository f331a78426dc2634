package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// signers are the functions that make signatures, and where each is written
// down in the log of signatures before anything is written by it. A function
// that is not here is a failure: record first, then add it.
func signers() map[string]string {
	return map[string]string{
		"primary.signature":         "Prepare hands the entry on",
		"primary.prepare":           "batch.flush",
		"primary.upgradeLegacy":     "batch.flush",
		"internal/githook.sign":     "run.record",
		"cmd/rye.writeManifest":     "recordManifest",
		"cmd/rye.sign":              "Record of the same house",
		"cmd/rye.cosign":            "recordManifest",
		"cmd/rye.keyDocuments":      "makeKeyOf and runKeyRotate, with recordDocuments",
		"cmd/rye.succession":        "runKeyRotate, with recordDocuments",
		"cmd/rye.runTrustAdd":       "recordDocuments",
		"cmd/rye.runTrustEndorse":   "recordDocuments",
		"cmd/rye.runTrustRefresh":   "recordDocuments",
		"cmd/rye.releaseRevocation": "recordDocuments",
		"cmd/rye.signPublisher":     "recordDocuments",
		"cmd/rye.revocation":        "recordDocuments",
		"trust.signAs":              "whoever calls what is exported of trust/new.go",
		"trust.NewRotation":         "whoever calls it",
		"internal/testkit.Own":      "tests only",
		"internal/testkit.Signed":   "tests only",
	}
}

// maker reports whether a function of a room makes a signature. So does the
// method Prepare of a primary.Verbs.
func maker(room, name string) bool {
	return room == "sign" && (name == "Sign" || name == "SignDetached") || room == "trust" && strings.HasPrefix(name, "New")
}

func TestEverySignatureIsRecorded(t *testing.T) {
	found := signing(sources(t))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if signers()[name] == "" {
			t.Errorf("%s: %s makes a signature: have it recorded before anything is written by it, then add it to signers", found[name], name)
		}
	}
	for name := range signers() {
		if found[name] == "" {
			t.Errorf("signers names %s, which makes no signature", name)
		}
	}
	bad := parse(t, "x", "x/x.go", "package x\nfunc a() { sign.Sign() }\nfunc (r *R) b() { func() { trust.NewGrant() }() }\nfunc c() { r.Sign(); sign.Verify() }\nvar d = sign.SignDetached\n")
	if got := slices.Sorted(maps.Keys(signing([]source{bad}))); !slices.Equal(got, []string{"x.", "x.a", "x.b"}) {
		t.Errorf("planted makers: %q", got)
	}
}

// signing returns the functions that name a maker of signatures, and where.
func signing(all []source) map[string]string {
	out := map[string]string{}
	for _, s := range all {
		for _, d := range s.file.Decls {
			name := ""
			if f, ok := d.(*ast.FuncDecl); ok {
				name = f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					room, _ := sel.X.(*ast.Ident)
					if sel.Sel.Name == "Prepare" || room != nil && maker(room.Name, sel.Sel.Name) {
						out[s.room+"."+name] = fmt.Sprint(s.fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	return out
}
