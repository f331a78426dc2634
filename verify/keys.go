package verify

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// keyUse is what the trusted files of a report need one key for.
type keyUse struct {
	path   string // the first file
	locked int    // files that are trusted only because the lock records them
}

// useKey records the signer of a trusted file.
func (r *Report) useKey(f File) {
	if f.Verdict.Tier == trust.TierEmbedded {
		return
	}
	if r.keys == nil {
		r.keys = map[sign.Fingerprint]*keyUse{}
	}
	u := r.keys[f.Verdict.Signer]
	if u == nil {
		u = &keyUse{path: f.Path}
		r.keys[f.Verdict.Signer] = u
	}
	if u.path > f.Path {
		u.path = f.Path
	}
	if f.Verdict.Anchor == trust.AnchorLock {
		u.locked++
	}
}

func (r *Report) mergeKeys(o *Report) {
	for fp, u := range o.keys {
		mine := r.keys[fp]
		if mine == nil {
			if r.keys == nil {
				r.keys = map[sign.Fingerprint]*keyUse{}
			}
			r.keys[fp] = u
			continue
		}
		mine.locked += u.locked
		mine.path = min(mine.path, u.path)
	}
}

// Keys adds one warning per key that expires soon or has expired and that trusted
// files of the report are signed by.
func (r *Report) Keys(store *trust.Store, now time.Time) {
	fps := slices.SortedFunc(maps.Keys(r.keys), func(a, b sign.Fingerprint) int {
		return bytes.Compare(a[:], b[:])
	})
	for _, fp := range fps {
		u := r.keys[fp]
		k, _ := store.Key(fp)
		f, ok := k.Ending(now)
		if u.locked > 0 {
			f = k.KeptByLock(u.locked, "file")
			ok = true
		}
		if ok {
			r.Findings = append(r.Findings, diag.WithPath(
				[]diag.Finding{f},
				u.path,
			)...)
		}
	}
}
