package main

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/resolve/space"
)

const packagesGroup = "Packages"

// packageFlags are the flags of every verb that works on the bundles of a
// space, with more of its own.
func packageFlags(more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.StringFlag{Name: "space", Usage: "work on the bundles of `SPACE`: project, user or system", Value: string(space.Project)},
		&cli.BoolFlag{Name: "locked", Usage: "refuse whatever would change rye.lock (the default in CI for lock and sync)"},
	)
}

// refusals are the codes with which bundles are refused.
func refusals(more ...diag.Code) []diag.Code {
	return append(more, diag.LockStale, diag.SourceNotFound, diag.VersionNotFound, diag.Unresolvable,
		diag.LockMismatch, diag.HashMismatch, diag.TagMoved, diag.ImpostorCommit, diag.SumConflict, diag.LockRepointed,
		diag.Unsigned, diag.KeyUnknown, diag.SignerChanged, diag.Threshold, diag.PolicyDenied, diag.Cooldown, diag.Network, diag.AuthRequired)
}
