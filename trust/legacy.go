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
// space. They verify earlier signatures for an upgrade and for the reason of a
// refusal. No signature is trusted because of them.
func (s *Store) LegacyKeys() legacy.Keys {
	return slices.Clone(s.legacy)
}

// readLegacyKeys reads the keys that the user trusted in the earlier format. A
// file that cannot be parsed, or that every account may write, is skipped.
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

// earlier adds to a refusal the result of the rules of the earlier format.
func (s *Store) earlier(v Verdict, in Input) Verdict {
	if v.Code != diag.Legacy && !hiddenLegacy(v, in.Bytes) {
		return v
	}
	line := 1
	if bytes.HasPrefix(in.Bytes, []byte("#!")) {
		line = 2
	}
	old := legacy.Check(in.Subject.Kind, in.Bytes, s.legacy)
	v.Earlier = string(old.Outcome)
	v.Expected = ""
	v.Found = ""
	if old.Found != "" {
		v.Expected = old.Line.Hash
		v.Found = old.Found
	}
	reason := "a signature of the earlier format, " + v.Earlier + ": " + hidden.Visible(old.Reason)
	f := diag.Errorf(diag.Legacy, line, 0, "%s", reason)
	f.Path = in.Path
	switch {
	case old.Outcome == legacy.Good && old.Line.Junk != "":
		f = f.WithReason("legacy_rest")
	case old.Outcome == legacy.Good:
		f = f.WithReason("legacy_good")
	case old.Outcome == legacy.UnknownKey:
		f = f.WithReason("legacy_no_key")
	default:
		f = f.WithReason("legacy_untrusted")
	}
	v.Reasons = nil
	v.Findings = []diag.Finding{f}
	v = v.Refuse(diag.Legacy, reason)
	for _, p := range old.Uncovered {
		v.Reasons = append(v.Reasons, "it did not cover "+hidden.Visible(p.What))
	}
	return v
}

// hiddenLegacy reports whether an earlier line follows a lone carriage return,
// which ended a line in the earlier format and does not end one here.
func hiddenLegacy(v Verdict, file []byte) bool {
	first, _, _ := bytes.Cut(file, []byte("\n"))
	return v.Code == diag.Unsigned &&
		bytes.HasPrefix(first, []byte("#!/")) &&
		bytes.Contains(first, []byte("\r# rye:signed:"))
}
