package verify

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// fixedFields returns the fields of a lock entry that id and version determine:
// the same version has one source and one content.
func fixedFields() []string {
	return []string{"url", "ref", "tag", "commit", "tree", "sum", "exec", "manifest", "signers", "caps", "needs"}
}

// Base compares a lock with the one of a base revision, without a network. A
// bundle whose version is the same and whose source or content differs is
// LOCK_REPOINTED: no requirement of the project file causes that. So is an entry
// whose version follows from no requirement. Another version with other signers is
// SIGNER_CHANGED, unless succeeds reports that a rotation leads from a signer before
// to the one now. Fewer recorded revocations are a ROLLBACK. A nil base has no
// entries.
func Base(
	base, now *lock.Lock,
	m *lock.ProjectFile,
	succeeds func(now, was string) bool,
) []diag.Finding {
	var out []diag.Finding
	add := func(format string, args ...any) {
		f := diag.Errorf(diag.LockRepointed, 0, 0, format, args...)
		f.Path = lock.LockFile
		out = append(out, f.WithReason("base"))
	}
	if base != nil {
		for _, why := range base.Revoked.Behind(now.Revoked) {
			f := diag.Errorf(diag.Rollback, 0, 0, "%s, which the lock of the base records", why)
			f.Path = lock.LockFile
			out = append(out, f.WithReason("base"))
		}
	}
	out = append(out, baseLogs(base, now)...)
	for _, c := range lock.Compare(base, now) {
		if c.Kind != "bundle" || c.Op == lock.Removed {
			continue
		}
		b := now.BundleNamed(c.Name)
		if c.Op == lock.Changed &&
			c.Field("version").Name == "" &&
			b.Replace.IsZero() &&
			c.Field("replace").Name == "" {
			for _, f := range c.Fields {
				if slices.Contains(fixedFields(), f.Name) {
					add(
						"%s %s has the same version, and its %s changed from %s to %s",
						b.ID,
						b.Version,
						f.Name,
						joined(f.Old),
						joined(f.New),
					)
				}
			}
		}
		was := base.BundleNamed(c.Name)
		if was != nil && was.Version != b.Version {
			out = append(out, otherSigners(*was, *b, succeeds)...)
		}
		if why := now.Underived(m, *b); why != "" {
			add("%s", why)
		}
	}
	return out
}

// baseLogs returns a finding for each registry whose log in the lock is shorter than in the
// lock of the base, or has a different history.
func baseLogs(base, now *lock.Lock) (out []diag.Finding) {
	for _, r := range now.Registries {
		was := base.Registry(r.Host)
		if was == nil || was.Checkpoint == r.Checkpoint {
			continue
		}
		n, root, _ := strings.Cut(r.Checkpoint, " ")
		m, before, _ := strings.Cut(was.Checkpoint, " ")
		size, e1 := strconv.ParseInt(n, 10, 64)
		old, e2 := strconv.ParseInt(m, 10, 64)
		var f diag.Finding
		switch {
		case e1 != nil || e2 != nil: // the parser of the lock refuses it
			continue
		case size < old:
			f = diag.Errorf(diag.Rollback, 0, 0, "registry %s: the lock records %d entries of its log, the lock of the base records %d", r.Host, size, old)
		case size == old:
			f = diag.Errorf(diag.LogEquivocation, 0, 0, "registry %s: the lock and the lock of the base record two histories of its log with %d entries: %s and %s", r.Host, size, root, before)
		default:
			continue // whether it continues the older one is compared where the log is known
		}
		f.Path = lock.LockFile
		out = append(out, f.WithReason("base"))
	}
	return out
}

// otherSigners returns a finding if a new version has other signers than the one
// before.
func otherSigners(was, now lock.Bundle, succeeds func(now, was string) bool) []diag.Finding {
	if was.Sum == "" || now.Sum == "" {
		return nil // a directory has no signers
	}
	same := func(a, b string) bool {
		return a == b || succeeds != nil && succeeds(a, b)
	}
	lost := slices.ContainsFunc(was.Signers, func(old string) bool {
		return !slices.ContainsFunc(now.Signers, func(s string) bool {
			return same(s, old)
		})
	})
	added := slices.ContainsFunc(now.Signers, func(s string) bool {
		return !slices.ContainsFunc(was.Signers, func(old string) bool {
			return same(s, old)
		})
	})
	if !lost && !added {
		return nil
	}
	f := diag.Errorf(diag.SignerChanged, 0, 0, "the signers of %s changed from %s of %s to %s, and no rotation document names the change",
		now.Module(), joined(was.Signers), was.Version, joined(now.Signers))
	f.Path = lock.LockFile
	return []diag.Finding{f.WithReason("base")}
}

func joined(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// BaseSum compares rye.sum with its text in a base revision: lines are added and
// never changed or removed.
func BaseSum(base []byte, now *lock.Sum) []diag.Finding {
	var out []diag.Finding
	for line := range strings.Lines(string(base)) {
		old := strings.Fields(line)
		if len(old) != 3 || !strings.HasPrefix(old[2], "h1:") {
			continue
		}
		hash := ""
		if id, err := lock.ParseID(old[0]); err == nil { // the text of the base is not checked
			hash = now.Hash(lock.Module{ID: id, Version: old[1]})
		}
		switch hash {
		case old[2]:
		case "":
			out = append(out, sumFinding("the line %s %s %s was removed", old[0], old[1], old[2]))
		default:
			out = append(out, sumFinding(
				"the line of %s %s changed from %s to %s",
				old[0],
				old[1],
				old[2],
				hash,
			))
		}
	}
	return out
}

func sumFinding(format string, args ...any) diag.Finding {
	f := diag.Errorf(diag.SumConflict, 0, 0, format, args...)
	f.Path = lock.SumFile
	return f.WithReason("base")
}
