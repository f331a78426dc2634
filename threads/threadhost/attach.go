package threadhost

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/attach"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/prepare"
)

// readTool is the tool that reads the file of an input for everyone but a person.
func readTool() item.Ref {
	return item.Ref{Kind: item.Tool, ID: "rye/file-system/read"}
}

// Attachments returns the images and files of the first message of a thread: the files that
// its inputs name, in their order, then the person's.
func Attachments(
	ctx context.Context,
	p *project.Project,
	o *Options,
	prepared *prepare.Prepared,
) ([]message.Block, error) {
	if o.Replay != nil {
		return o.Replay.Attachments()
	}
	if o.AttachReady {
		return o.Attach, nil
	}
	var blocks []message.Block
	for _, in := range prepared.Directive.Inputs {
		if !in.IsFile() {
			continue
		}
		path, _ := prepared.Inputs[in.Name].(string)
		if path == "" {
			continue // an optional input that is not given
		}
		b, err := inputFile(ctx, p, o, path)
		if err == nil && in.Type == item.ImageInput && b.Type != message.Image {
			err = diag.New(diag.ValidationFailed, "%q is not an image", path)
		}
		if err != nil {
			return nil, attach.Refused(diag.Doing("reading the input "+in.Name+" of "+prepared.Ref, err))
		}
		blocks = append(blocks, b)
	}
	blocks = append(blocks, o.Attach...)
	if len(prepared.Services) == 0 { // a plan without a model
		return attach.All(ctx, preparer(p), blocks, nil)
	}
	return attach.All(ctx, preparer(p), blocks, prepared.Services[0].CheckMedia)
}

// attachedNow returns the images and files that a person adds to a thread that is resumed.
func attachedNow(ctx context.Context, r *Run) ([]message.Block, error) {
	return attach.All(
		ctx,
		preparer(r.Project),
		r.Options.Attach,
		r.Services[0].CheckMedia,
	)
}

// inputFile reads the file that an input names. A person names any file of theirs; everyone
// else one of the project, or of the working copy, that their permissions let them read.
func inputFile(
	ctx context.Context,
	p *project.Project,
	o *Options,
	path string,
) (message.Block, error) {
	if o.AnyPath {
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Verbs.Dir(), path)
		}
		return attach.Read(path)
	}
	const wholeFile = 10_000 // lines
	run, err := p.Verbs.Tool(ctx, primary.Call{Ref: readTool(), Held: o.Held, Params: map[string]any{"file_path": path, "limit": int64(wholeFile)}})
	if err != nil {
		return message.Block{}, appletError(run, err)
	}
	data, _ := run.Data.(map[string]any)
	name := filepath.Base(path)
	if text, is := data["output"].(string); is {
		if data["truncated"] == true {
			return message.Block{}, diag.New(diag.TooLarge, "reading %q: the text is too long", path)
		}
		return attach.Text(name, text), nil
	}
	return attach.FromContent(name, data)
}

// preparer returns the call of the tool that prepares an image. It is of rye itself: a caller of a
// model needs no permission for it.
func preparer(p *project.Project) attach.Run {
	ref := item.Ref{Kind: item.Tool, ID: attach.Tool}
	return func(ctx context.Context, params map[string]any) (map[string]any, error) {
		run, err := p.Verbs.Tool(ctx, primary.Call{Ref: ref, Held: policy.Person(), Params: params})
		if err != nil {
			return nil, appletError(run, err)
		}
		data, _ := run.Data.(map[string]any)
		return data, nil
	}
}

// appletError returns the error that a tool of rye states, without the name of the tool: a
// person has not called it.
func appletError(run *primary.Run, err error) error {
	data, _ := run.Data.(map[string]any)
	stated, _ := data["error"].(map[string]any)
	code, _ := stated["code"].(string)
	text, _ := stated["message"].(string)
	if code == "" || text == "" {
		return err
	}
	return diag.New(diag.Code(code), "%s", text)
}

// forModel makes an image or a file of a result ready for models.
func (r *Run) forModel(ctx context.Context, b message.Block) (message.Block, error) {
	return attach.ForModel(ctx, preparer(r.Project), b)
}

// promptInputs returns the inputs as the text of the directive has them: of a file its name.
func promptInputs(r *prepare.Prepared) map[string]any {
	out := map[string]any{}
	for name, value := range r.Inputs {
		is := slices.ContainsFunc(r.Directive.Inputs, func(in item.Input) bool {
			return in.Name == name && in.IsFile()
		})
		if path, isText := value.(string); is && isText {
			value = filepath.Base(path)
		}
		out[name] = value
	}
	return out
}

// withoutData returns blocks as the material of a prompt has them: by their artifacts.
func withoutData(blocks []message.Block) []message.Block {
	out := slices.Clone(blocks)
	for i := range out {
		b := &out[i]
		if len(b.Data) > 0 {
			b.Artifact = message.ArtifactID(b.Data)
			b.Bytes = int64(len(b.Data))
			b.Data = nil
		}
	}
	return out
}

// ReadBlocks reads blocks that another process has written.
func ReadBlocks(v any) ([]message.Block, error) {
	raw, err := jsonx.Marshal(v)
	var out []message.Block
	if err == nil && v != nil {
		err = json.Unmarshal(raw, &out)
	}
	for i := range out {
		out[i].Prepared = len(out[i].Data) > 0
	}
	return out, err
}
