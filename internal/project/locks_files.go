package project

import "github.com/ryeos/rye/lock"

// ReadManifest returns nil when the folder has no rye.yaml.
func ReadManifest(dir string) (*lock.ProjectFile, error) {
	m, _, err := lock.ReadProjectFile(lock.Dir(dir), dir+"/")
	return m, err
}
