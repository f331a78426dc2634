// Package transfer has the commands import and export, which exchange items with other
// programs.
//
// It does not convert the items itself.
package transfer
