package main

import "os"

// openTerminal opens the console of this process, if it has one.
func openTerminal() (*os.File, error) { return os.OpenFile("CONIN$", os.O_RDWR, 0) }
