// Package templates has the files that commands write for a person to edit: items, workflows,
// hooks, settings of other programs, and the project of the tour.
//
// It fills none of them in.
package templates

import "embed"

// Files has every template by its name.
//
//go:embed *.md *.txt *.yaml tool.js tool.json tool.py tool.sh
var Files embed.FS
