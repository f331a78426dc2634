package cli

import "os"

// OpenTerminal opens the console of this process, if it has one.
func OpenTerminal() (*os.File, error) { return os.OpenFile("CONIN$", os.O_RDWR, 0) }
