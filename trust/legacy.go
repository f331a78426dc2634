package trust

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// LegacyKeys returns the public keys of the earlier format in the user's own
// space. They check earlier signatures for rye sign --upgrade and for the words
// of a refusal; no signature counts by them.
func (s *Store) LegacyKeys() legacy.Keys { return slices.Clone(s.legacy) }

// readLegacyKeys reads the keys that the user trusted in the original. A file
// that is not understood, or that everybody may write, is none.
func (b *builder) readLegacyKeys(dir string) {
	if dir == "" {
		return
	}
	names, err := fileNames(TierUser, dir, ".toml", ".pem")
	if err != nil {
		return
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		data, err := readDocument(TierUser, path)
		if err != nil || len(data) > doc.MaxDocument {
			continue
		}
		k, err := legacy.ParseTrusted(path, data)
		if err == nil && sign.CheckKey(k.Public) == nil {
			b.store.legacy = append(b.store.legacy, k)
		}
	}
}

// earlier adds to a refusal what the rules of the earlier format say about the
// file.
func (s *Store) earlier(v Verdict, in Input) Verdict {
	if v.Code != diag.Legacy && !hiddenLegacy(v, in.Bytes) {
		return v
	}
	line := 1
	if bytes.HasPrefix(in.Bytes, []byte("#!")) {
		line = 2
	}
	old := legacy.Check(in.Subject.Kind, in.Bytes, s.legacy)
	v.Earlier, v.Expected, v.Found = string(old.Outcome), "", ""
	if old.Found != "" {
		v.Expected, v.Found = old.Line.Hash, old.Found
	}
	reason := "a signature of the earlier format, " + v.Earlier + ": " + hidden.Visible(old.Reason)
	f := diag.Errorf(diag.Legacy, line, 0, "%s", reason)
	f.Path, f.Fix = in.Path, legacyFix(old.Outcome)
	v.Reasons, v.Findings = nil, []diag.Finding{f}
	v = v.refuse(diag.Legacy, reason)
	for _, p := range old.Uncovered {
		v.Reasons = append(v.Reasons, "it never covered "+hidden.Visible(p.What))
	}
	return v
}

// hiddenLegacy reports whether an earlier line stands behind a lone carriage
// return, which ended a line for the original and ends none here.
func hiddenLegacy(v Verdict, file []byte) bool {
	first, _, _ := bytes.Cut(file, []byte("\n"))
	return v.Code == diag.Unsigned && bytes.HasPrefix(first, []byte("#!/")) && bytes.Contains(first, []byte("\r# rye:signed:"))
}

// legacyFix says REF, so that one hint serves many files.
func legacyFix(o legacy.Outcome) string {
	switch o {
	case legacy.Good:
		return "rye sign --upgrade REF"
	case legacy.UnknownKey:
		return "rye sign --upgrade REF --legacy-key FILE, if you have the signer's public_key.pem; else read the item, then rye sign REF"
	}
	return "read the item as if nobody had signed it, then rye sign REF"
}
