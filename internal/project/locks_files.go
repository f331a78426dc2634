package project

import "github.com/ryeos/rye/lock"

// ReadManifest returns nil when the folder has no rye.yaml.
func ReadManifest(dir string) (*lock.Manifest, error) {
	m, _, err := lock.ReadManifest(lock.Dir(dir), dir+"/")
	return m, err
}
