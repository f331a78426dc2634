package trust

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/sign"
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
		if err != nil || len(data) > MaxDocument {
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
	f.Path, f.Fix = in.Path, legacyFix(old.Outcome, in.Subject)
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

func legacyFix(o legacy.Outcome, sub sign.Subject) string {
	ref := quoted(sub.Kind + ":" + sub.ID)
	switch o {
	case legacy.Good:
		return "rye sign --upgrade " + ref
	case legacy.UnknownKey:
		return "rye sign --upgrade " + ref + " --legacy-key FILE, if you have the signer's public_key.pem from them; else read it, then rye sign " + ref
	}
	return "read it as if nobody had signed it, then rye sign " + ref
}
