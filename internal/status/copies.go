package status

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/export"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
)

// Copies returns the copies that the project file wants for other programs. ok is false if
// it wants none, and for files that are not on the disk.
func Copies(ctx context.Context, p *project.Project) (params export.Params, ok bool, err error) {
	dir, onDisk := p.Files.(lock.Dir)
	if p.Lock == nil || p.Lock.ProjectFile == nil || !onDisk {
		return params, false, nil
	}
	wanted := p.Lock.ProjectFile.Export
	// without the section, recorded copies are the ones of dropped components
	if wanted.Clients == nil && !export.Recorded(string(dir)) {
		return params, false, nil
	}
	layers, err := resolve.WideLayers(ctx, p.Resolver, export.ConfigID)
	if err != nil {
		return params, false, err
	}
	table, err := export.ReadTable(layers)
	if err != nil {
		return params, false, err
	}
	components, err := export.Usable(string(dir), Adopted(p))
	if err != nil {
		return params, false, err
	}
	params.Base = string(dir)
	params.Committed = !wanted.Ignored
	params.Plan, err = export.NewPlan(table, wanted.Clients, components)
	return params, err == nil, err
}

// copyFindings compares the copies with the reviewed components.
func copyFindings(ctx context.Context, p *project.Project) ([]diag.Finding, error) {
	params, ok, err := Copies(ctx, p)
	if !ok || err != nil {
		return nil, err
	}
	return export.Findings(params)
}
