package main

import "github.com/ryeos/rye/lock"

// readManifest returns nil when the folder has no rye.yaml.
func readManifest(dir string) (*lock.Manifest, error) {
	m, _, err := lock.ReadManifest(lock.Dir(dir), dir+"/")
	return m, err
}
