package env

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/coauthor"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/trust"
)

// CoauthorGap returns why others refuse the signatures of this user; nil if they
// accept them, or if the user has no key.
func CoauthorGap(ctx context.Context, c *cli.Call, h *project.Project) *coauthor.Gap {
	key, err := h.Keys.OwnKey("")
	if err != nil {
		return nil
	}
	top := h.Spaces.ProjectDir
	repo, err := Of(c).Repo(ctx)
	if err == nil && repo.WorkTree != "" {
		top = repo.WorkTree
	}
	info, _ := h.Trust.Key(key)
	return coauthor.Find(coauthor.Params{
		Top:   top,
		Trust: h.TrustParams,
		Key:   key,
		Owner: info.Owner,
	})
}

// AddDocuments writes documents into the user's trust directory, and with inProject into
// the project's.
func AddDocuments(h *project.Project, inProject bool, files ...trust.File) ([]string, error) {
	var places []string
	for _, f := range files {
		at, err := trust.AddDocument(h.Dirs.Trust(), f.Name, f.Data)
		if err != nil {
			return places, err
		}
		places = append(places, at)
	}
	if !inProject {
		return places, nil
	}
	more, err := PublishInProject(h, files)
	return append(places, more...), err
}

// PublishInProject writes documents into the project's trust directory.
func PublishInProject(h *project.Project, files []trust.File) (places []string, err error) {
	dir, err := h.ProjectTrust()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		at, err := trust.AddToProject(dir, f.Name, f.Data)
		if err != nil {
			return places, err
		}
		places = append(places, at)
	}
	return places, nil
}
