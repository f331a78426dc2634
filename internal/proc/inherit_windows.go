package proc

// keepInherited does nothing: a program inherits only the handles that are listed.
func keepInherited() {}
