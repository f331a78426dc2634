package exec

// Local reports whether a program lies in the project, as it is spelled or with
// all links followed. Nobody verified such a program: it runs after consent only.
func Local(path, project string) bool { return inside(path, project) }
