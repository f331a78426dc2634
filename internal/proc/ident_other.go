//go:build !linux

package proc

const reportsIdentity = false

func identityOf(int) (Identity, bool) { return Identity{}, false }
