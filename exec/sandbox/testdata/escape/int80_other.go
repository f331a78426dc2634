//go:build linux && !amd64

package main

import "errors"

func int80() error { return errors.New("no such interface") }
