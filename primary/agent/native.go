package agent

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/proc"
)

// Natives returns the functions of the items rye/primary/*: the verbs, for tools
// and models that call them as tools. open returns the workspace of a call; it
// is called once for each call.
func Natives(open func(ctx context.Context, within exec.Call) (*Workspace, error)) map[string]exec.Native {
	out := map[string]exec.Native{}
	for _, name := range Names() {
		out["primary_"+name] = func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
			w, err := open(ctx, in.Call)
			if err != nil {
				return nil, err
			}
			return w.native(ctx, name, in)
		}
	}
	return out
}

func (w *Workspace) native(
	ctx context.Context,
	name string,
	in exec.NativeCall,
) (map[string]any, error) {
	if in.Parameters["project_path"] != nil {
		return nil, diag.New(diag.UnknownParameter, "calling %s as a tool: project_path is not accepted, a tool works in the project of its caller", name)
	}
	args, err := w.fit(ctx, name, in.Parameters)
	if err != nil {
		return nil, err
	}
	req := Request{Name: name, Held: in.Held, Within: in.Call}
	if in.OnLine != nil {
		req.Progress = func(line string) {
			in.OnLine(proc.Live, []byte(line))
		}
	}
	env, err := w.call(ctx, req, args)
	if err != nil {
		return nil, err
	}
	if p, ok := env.Data.(presented); ok {
		env.Data = p.whole
	}
	data, err := generic(env.Data)
	m, _ := data.(map[string]any)
	return m, err
}
