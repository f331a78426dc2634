//go:build unix && !linux

package proc

// keepInherited marks every descriptor that this process inherited so that no program
// gets it. The standard ones and the descriptors of Cmd.Files are copied for each program.
func keepInherited() { keepListed("/dev/fd") }
