// Package sign has the commands that write items of the workspace: sign and new.
//
// It does not sign by itself: packages primary and signing do.
package sign
