package upkeep

import (
	"cmp"
	"context"

	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/waiting"
)

// handles returns the handles of all logs, and the handles of the former store whose logs do
// not exist or are damaged: a number is not used again.
func (b *rebuilder) handles(ctx context.Context, old *store.Store) ([]store.Handle, error) {
	var out []store.Handle
	has := map[string]int{}
	add := func(h store.Handle) {
		has[h.ID] = len(out)
		out = append(out, h)
	}
	for id, t := range b.booked {
		name := cmp.Or(b.named(id), handle.Name(t.Inputs))
		add(store.Handle{
			ID:      id,
			Project: b.of[id],
			Logged:  t.Number,
			Began:   t.Began,
			Name:    &name,
			Waiting: b.waits(ctx, id),
		})
	}
	for id, r := range b.runs {
		if b.booked[id] == nil {
			name := handle.Name(r.Inputs)
			add(store.Handle{
				ID:      id,
				Project: r.project,
				Logged:  r.Number,
				Began:   r.began,
				Name:    &name,
				Waiting: b.waits(ctx, id),
			})
		}
	}
	for id, links := range b.chains { // the account of a chain has the question of its last thread
		if i, ok := has[id]; ok {
			out[i].Waiting = b.waits(ctx, links[len(links)-1].ID)
			for _, l := range links { // and the name that a person gave one of them last
				if name := b.named(l.ID); name != "" {
					out[i].Name = &name
				}
			}
		}
	}
	var former []store.Handle
	if old != nil {
		var err error
		if former, err = old.Handles(ctx, ""); err != nil {
			return nil, err
		}
	}
	for _, h := range former {
		if _, ok := has[h.ID]; !ok {
			if e := b.entries[h.ID]; e != nil {
				h.Began = e.Created
			}
			add(h)
		}
	}
	for id, e := range b.entries { // of a store that had no numbers, or of a chain without its first log
		_, ok := has[id]
		if !ok && (e.Kind == "thread" || e.Kind == "run") {
			add(store.Handle{
				ID:      id,
				Project: e.Project,
				Began:   e.Created,
				Name:    new(string),
				Waiting: new(string),
			})
		}
	}
	return out, nil
}

// named returns the name that a person gave a thread, "" if there is none. A thread that has
// ended reads no inbox: the newest name is there.
func (b *rebuilder) named(id string) string {
	name := ""
	if t := b.booked[id]; t != nil {
		name = t.Name
	}
	list, _ := inbox.List(b.of[id], id) // without it the log has the name
	for i := range list {
		name = cmp.Or(inbox.NameOf(&list[i]), name)
	}
	return name
}

// waits returns the open question of a thread or run, as its log has it.
func (b *rebuilder) waits(ctx context.Context, id string) *string {
	w, _ := waiting.Of(ctx, b.of[id], id) // the log was read before
	text := w.Encode()
	return &text
}
