package exec

// Local reports whether a program is in the project, as it is spelled or with all
// links followed. No signature covers such a program, so it needs consent.
func Local(path, project string) bool {
	return inside(path, project)
}
