package primary

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/proc"
)

// Natives returns the functions behind the items rye/primary/*: the verbs, for
// tools and models that call them as tools. at says where a call works; it is
// asked when one is made.
func Natives(at func(ctx context.Context) (*Place, error)) map[string]exec.Native {
	out := map[string]exec.Native{}
	for _, name := range VerbNames() {
		out["primary_"+name] = func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
			p, err := at(ctx)
			if err != nil {
				return nil, err
			}
			return p.native(ctx, name, in)
		}
	}
	return out
}

func (p *Place) native(ctx context.Context, name string, in exec.NativeCall) (map[string]any, error) {
	if in.Parameters["project_path"] != nil {
		return nil, diag.New(diag.UnknownParameter, "calling %s: as a tool it works in the project of its caller, so project_path says nothing", name).
			WithHint("leave project_path out")
	}
	args, err := p.Verbs.fit(ctx, name, in.Parameters)
	if err != nil {
		return nil, err
	}
	req := Request{Name: name}
	if in.OnLine != nil {
		req.Progress = func(line string) { in.OnLine(proc.Stdout, []byte(line)) }
	}
	env, err := p.verb(ctx, req, args)
	if err != nil {
		return nil, err
	}
	return plain(env.Data)
}
