package lock

// Underived returns why the requirements in the lock do not result in the version
// of an entry, or "". The manifest may be nil.
func (l *Lock) Underived(m *ProjectFile, b Bundle) string {
	if m != nil && m.effective().Require[b.ID] != b.Require {
		return "" // Stale reports it
	}
	if len(b.Via) > 0 ||
		!b.Replace.IsZero() ||
		IsPseudo(b.Version) ||
		b.Version == LocalVersion ||
		b.Require != "" && CheckVersion(b.Require) != nil {
		return "" // not the result of minimal version selection
	}
	required := []string{b.Require}
	for _, x := range l.Bundles {
		required = append(required, requiredVersions(x.Needs, b.ID)...)
	}
	for _, x := range l.Members {
		required = append(required, requiredVersions(x.Needs, b.ID)...)
	}
	highest := ""
	for _, v := range required {
		if v != "" && (highest == "" || MaxVersion(v, highest) == v) {
			highest = v
		}
	}
	// The next version replaces an excluded one, and only the source lists versions.
	excluded := m != nil && len(m.Exclude[b.ID]) > 0
	switch {
	case highest == "":
		return b.Module().String() + " is locked and nothing requires it"
	case CheckVersion(highest) != nil || excluded && MaxVersion(highest, b.Version) == b.Version:
	case highest != b.Version:
		return b.ID.String() + " is locked at " + b.Version + ", the requirements result in " + highest
	}
	return ""
}

func requiredVersions(needs []Module, id ID) []string {
	var out []string
	for _, n := range needs {
		if n.ID == id {
			out = append(out, n.Version)
		}
	}
	return out
}
