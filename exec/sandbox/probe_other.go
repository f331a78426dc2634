//go:build !linux

package sandbox

import "runtime"

// Probe returns the layers of this system: none that isolate.
func Probe() Ladder {
	l := Ladder{Best: Basic}
	why := "not on " + runtime.GOOS
	for _, name := range append(namespaces(), layerLandlock, layerSeccomp, layerCgroup) {
		l.Layers = append(l.Layers, Layer{Name: name, Why: why})
	}
	return l
}
