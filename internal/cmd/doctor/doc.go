// Package doctor has the command rye doctor, which checks the machine, the keys and the
// installation.
//
// It changes nothing.
package doctor
