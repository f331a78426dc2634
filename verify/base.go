package verify

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// pinFields are the fields of a lock entry that follow from id and version: the
// same version cannot come from elsewhere or have other bytes.
func pinFields() []string {
	return []string{"url", "ref", "tag", "commit", "tree", "sum", "exec", "manifest", "signers", "caps", "needs"}
}

// Base holds a lock against the one of a base revision, without a network. A
// version that stayed and points elsewhere is LOCK_REPOINTED: nothing that a
// person asks for leads there. So is an entry whose version nobody asks for. That
// fewer revocations are recorded is a ROLLBACK. A nil base has no entries.
func Base(base, now *lock.Lock, m *lock.Manifest) []diag.Finding {
	var out []diag.Finding
	add := func(format string, args ...any) {
		f := diag.Errorf(diag.LockRepointed, 0, 0, format, args...)
		f.Path, f.Fix = lock.LockFile, "restore the entry from the base, or find out who changed it: an update changes the version"
		out = append(out, f)
	}
	if base != nil {
		for _, why := range base.Revoked.Behind(now.Revoked) {
			f := diag.Errorf(diag.Rollback, 0, 0, "%s, which the base was locked with", why)
			f.Path, f.Fix = lock.LockFile, "restore .ai/trust from the base, then rye lock"
			out = append(out, f)
		}
	}
	for _, c := range lock.Compare(base, now) {
		if c.Kind != "bundle" || c.Op == lock.Removed {
			continue
		}
		b := now.Bundle(c.Name)
		if c.Op == lock.Changed && c.Field("version").Name == "" && b.Replace == "" && c.Field("replace").Name == "" {
			for _, f := range c.Fields {
				if slices.Contains(pinFields(), f.Name) {
					add("%s %s stayed, its %s changed from %s to %s", b.ID, b.Version, f.Name, words(f.Old), words(f.New))
				}
			}
		}
		if why := now.Underived(m, *b); why != "" {
			add("%s", why)
		}
	}
	return out
}

func words(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// BaseSum holds rye.sum against the text it has in a base revision: lines are
// added and never changed or removed.
func BaseSum(base []byte, now *lock.Sum) []diag.Finding {
	var out []diag.Finding
	for line := range strings.Lines(string(base)) {
		old := strings.Fields(line)
		if len(old) != 3 || !strings.HasPrefix(old[2], "h1:") {
			continue
		}
		switch hash := now.Hash(lock.Module{ID: old[0], Version: old[1]}); hash {
		case old[2]:
		case "":
			out = append(out, sumFinding("%s %s was trusted with %s, and the line was removed", old[0], old[1], old[2]))
		default:
			out = append(out, sumFinding("%s %s was trusted with %s, and is %s now", old[0], old[1], old[2], hash))
		}
	}
	return out
}

func sumFinding(format string, args ...any) diag.Finding {
	f := diag.Errorf(diag.SumConflict, 0, 0, format, args...)
	f.Path, f.Fix = lock.SumFile, "restore the line from the base; rye.sum only ever grows"
	return f
}
