package lock

// Underived says why the requirements that the lock records do not lead to the
// version of an entry, or "". The manifest may be nil.
func (l *Lock) Underived(m *Manifest, b Bundle) string {
	if m != nil && m.effective().Require[b.ID] != b.Require {
		return "" // the lock is stale, which is told elsewhere
	}
	if len(b.Via) > 0 || len(b.Replace) > 0 || IsPseudo(b.Version) || b.Version == LocalVersion || b.Require != "" && CheckVersion(b.Require) != nil {
		return "" // a commit leads to a version, not to a minimum
	}
	asked := []string{b.Require}
	for _, x := range l.Bundles {
		asked = append(asked, wanted(x.Needs, b.ID)...)
	}
	for _, x := range l.Members {
		asked = append(asked, wanted(x.Needs, b.ID)...)
	}
	most := ""
	for _, v := range asked {
		if v != "" && (most == "" || MaxVersion(v, most) == v) {
			most = v
		}
	}
	excluded := m != nil && len(m.Exclude[b.ID]) > 0 // the next one is chosen, which only the remote knows
	switch {
	case most == "":
		return b.ID + " " + b.Version + " is locked and nothing requires it"
	case CheckVersion(most) != nil || excluded && MaxVersion(most, b.Version) == b.Version:
	case most != b.Version:
		return b.ID + " is locked at " + b.Version + ", the requirements lead to " + most
	}
	return ""
}

func wanted(needs []Module, id string) []string {
	var out []string
	for _, n := range needs {
		if n.ID == id {
			out = append(out, n.Version)
		}
	}
	return out
}
