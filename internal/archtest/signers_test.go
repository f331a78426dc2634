package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// signers maps each function that makes signatures to the code that appends
// them to the audit log. The log entry must precede the write of the signed
// file: a crash between the two leaves a record without a file, not a file
// without a record.
func signers() map[string]string {
	return map[string]string{
		"primary.signature":                      "the caller of Prepare",
		"primary.Prepare":                        "the caller",
		"primary.signItem":                       "batch.flush",
		"primary.upgradeLegacy":                  "batch.flush",
		"internal/githook.sign":                  "run.record",
		"internal/signing.WriteManifest":         "Recorder.Manifest",
		"internal/signing.Files":                 "Record of the same workspace",
		"registry/publish.signManifest":          "Recorder.Manifest",
		"internal/cmd/bundle.cosign":             "Recorder.Manifest",
		"internal/cmd/key.keyDocuments":          "makeKeyOf and runKeyRotate, with Recorder.Documents",
		"internal/cmd/key.succession":            "runKeyRotate, with Recorder.Documents",
		"internal/keychain.newGrantKey":          "Recorder.Documents",
		"internal/keychain.AddGrant":             "Recorder.Documents",
		"internal/deps.PinRegistry":              "Recorder.Documents",
		"registry/server.writeRotation":          "the key of a log, which signs checkpoints, not a user's key",
		"registry/wire.Sign":                     "its callers",
		"internal/keychain.describeRuntimeKey":   "Recorder.Documents",
		"threads/records.Writer":                 "Record",
		"internal/cmd/trust.runTrustEndorse":     "Recorder.Documents",
		"internal/signing.endorseAgain":          "Recorder.Documents",
		"internal/cmd/trust.runTrustRefresh":     "Recorder.Documents",
		"internal/cmd/bundle.releaseRevocation":  "Recorder.Documents",
		"internal/cmd/bundle.runBundlePublisher": "Recorder.Documents",
		"review.Sign":                            "its callers",
		"bundle/release.Revoke":                  "its callers",
		"bundle/release.SignPublisher":           "its callers",
		"internal/cmd/key.revocation":            "Recorder.Documents",
		"trust/doc.sign":                         "the callers of the exported functions of trust/doc",
		"trust/doc.NewRotation":                  "its callers",
		"internal/testing/testkit.Own":           "tests only",
		"internal/testing/testkit.Signed":        "tests only",
	}
}

// maker reports whether a function of a package makes a signature. The method
// Prepare of primary.Verbs and its body do so as well; signing checks them by name.
func maker(pkg, name string) bool {
	switch pkg {
	case "sign":
		return name == "Sign" || name == "SignDetached"
	case "doc":
		return strings.HasPrefix(name, "New")
	case "release":
		return name == "Revoke" || name == "SignPublisher"
	}
	return false
}

func TestEverySignatureIsRecorded(t *testing.T) {
	found := signing(sources(t))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if signers()[name] == "" {
			t.Errorf("%s: %s makes a signature: append it to the audit log before writing the file, then add the function to signers", found[name], name)
		}
	}
	for name := range signers() {
		if found[name] == "" {
			t.Errorf("signers has %s, which does not make a signature", name)
		}
	}
	bad := parse(t, "x", "x/x.go", "package x\nfunc a() { sign.Sign() }\nfunc (r *R) b() { func() { doc.NewGrant() }() }\nfunc c() { r.Sign(); sign.Verify() }\nvar d = sign.SignDetached\n")
	if got := slices.Sorted(maps.Keys(signing([]source{bad}))); !slices.Equal(got, []string{"x.", "x.a", "x.b"}) {
		t.Errorf("makers: %q", got)
	}
}

// signing maps the functions that use a maker of signatures to the position.
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
					pkg, _ := sel.X.(*ast.Ident)
					if sel.Sel.Name == "Prepare" || sel.Sel.Name == "signedForm" || pkg != nil && maker(pkg.Name, sel.Sel.Name) {
						out[s.pkg+"."+name] = fmt.Sprint(s.fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	return out
}
