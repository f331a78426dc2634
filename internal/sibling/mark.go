package sibling

import (
	"os"
	"slices"
	"strings"
)

// markName is the variable by which rye states its build to the program that it starts.
const markName = "RYE_STARTED_BY"

// mark returns the variable: version, revision and system bundle of the caller, and its path,
// which may have slashes itself.
func mark(caller Program) string {
	b := caller.Build
	return markName + "=" + strings.Join(
		[]string{b.Version, b.Revision, b.Bundle, caller.Path},
		"/",
	)
}

// Caller returns the rye that started this process, and removes the variable that names it, so that
// no program below inherits it. started is false if a person or a service started this process.
func Caller(getenv func(string) string) (rye Program, started bool) {
	text := getenv(markName)
	_ = os.Unsetenv(markName) // it fails for invalid names only
	if text == "" {
		return Program{}, false
	}
	parts := strings.SplitN(text, "/", 4)
	parts = append(parts, "", "", "") // a shorter text has an empty build, which equals none
	return Program{
		Path: parts[3],
		Build: Build{
			Version:  parts[0],
			Revision: parts[1],
			Bundle:   parts[2],
		},
	}, true
}

func withoutMark(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, markName+"=")
	})
}
