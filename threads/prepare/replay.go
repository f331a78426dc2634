package prepare

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/modelhost"
)

// recordedModel sets the model of a thread to the recorded one. It needs no key, and the
// item of the provider may be missing: no service is called. With the item, the window of the
// model is known, which bounds the context that is put into the first message.
func recordedModel(ctx context.Context, p *project.Project, out *Prepared, s *threads.Started) error {
	ref, err := item.ParseRef(s.Provider, item.Tool)
	if err != nil {
		return diag.New(diag.TranscriptBroken, "reading the provider of the recording: %w", err)
	}
	service := &threads.Service{Provider: ref, Digest: s.ProviderDigest, Model: s.Model}
	if f, err := modelhost.Find(ctx, p, s.Provider); err == nil {
		if m, err := f.Config.Model(s.Model); err == nil {
			service.Window = m.Window
			service.MaxOutput = m.MaxOutput
		}
		// A tool can print a key that is here, so it is removed from what is written.
		if out.Keys, err = p.Env.KeyValues(f.Config.Keys); err != nil {
			return err
		}
	}
	service.WorstCase = func(*message.Request, *threads.Previous) (threads.Estimate, error) {
		return threads.Estimate{}, nil
	}
	service.Cost = func(string, message.Usage) (policy.USD, bool) {
		return 0, false
	}
	out.Services = []*threads.Service{service}
	return nil
}
