//go:build !windows

package main

import "os"

// consoleMain is for Windows: Console is.
func consoleMain() { os.Exit(125) }
