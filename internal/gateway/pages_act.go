package gateway

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/gateway/page"
	"github.com/ryeos/rye/threads"
)

// diffPage shows the working copy of a thread.
func diffPage(v *visit) (*shown, error) {
	id := v.r.PathValue("id")
	diff, err := v.view.Diff(v.ctx, id)
	if err != nil {
		return nil, err
	}
	return &shown{
		title:    "Changes of a thread",
		template: "diff",
		data:     page.Diff{Diff: diff},
	}, nil
}

func startPage(v *visit) (*shown, error) {
	ref := v.r.URL.Query().Get("directive")
	data := page.Start{Form: v.caller.form}
	out := &shown{title: "Start a thread", template: "start"}
	if ref == "" {
		list, err := v.view.Items(v.ctx, "", "directive")
		if err != nil {
			return nil, err
		}
		data.Items = slices.DeleteFunc(list, func(it host.Item) bool {
			return it.Shadowed
		})
		out.data = data
		return out, nil
	}
	it, err := v.view.Item(v.ctx, "", ref)
	if err != nil {
		return nil, err
	}
	data.Item = it
	for _, in := range it.Inputs {
		data.Inputs = append(data.Inputs, page.Field{
			Input: in,
			Value: in.Default,
			Lines: in.Type == "array" || in.Type == "object" || in.Type == "string" && in.Description != "" && !in.Required,
		})
	}
	out.data = data
	return out, nil
}

// startThread starts a thread from a form. Inputs are texts, which the directive converts as words of a
// command line.
func startThread(v *visit) (string, error) {
	form := v.r.PostForm
	start := host.Start{
		Project:   form.Get("project"),
		Directive: form.Get("directive"),
		Message:   strings.TrimSpace(form.Get("message")),
	}
	wait := v.s.limits.start(v.caller.key.ID)
	if wait > 0 {
		return "", busy(wait)
	}
	for name, values := range form {
		input, ok := strings.CutPrefix(name, "in-")
		if ok && values[0] != "" {
			start.Words = append(start.Words, input+"="+values[0])
		}
	}
	slices.Sort(start.Words)
	if spend := strings.TrimSpace(form.Get("spend")); spend != "" {
		start.Limits = []string{"spend=" + spend}
	}
	began, err := v.view.Start(v.ctx, start)
	if err != nil {
		return "", err
	}
	return "/t/" + began.ID, nil
}

func doThread(v *visit) (string, error) {
	id := v.r.PathValue("id")
	var err error
	switch action := v.r.PostForm.Get("action"); action {
	case "message":
		_, err = v.view.Message(v.ctx, id, v.r.PostForm.Get("text"))
	case "suspend":
		_, err = v.view.Suspend(v.ctx, id, "")
	case "resume":
		_, err = v.view.Resume(v.ctx, id)
	case "cancel":
		_, err = v.view.End(v.ctx, id, false)
	case "kill":
		if !v.may(access.Admin) {
			return "", diag.New(diag.PermissionDenied, "killing a thread: the key has the role %s", v.caller.key.Role).
				WithReason("gateway_role")
		}
		_, err = v.view.End(v.ctx, id, true)
	default:
		err = diag.New(diag.Usage, "reading the form: it has no action")
	}
	return "/t/" + id, err
}

func decide(v *visit) (string, error) {
	form := v.r.PostForm
	d := host.Decision{
		Thread:   v.r.PathValue("id"),
		ID:       form.Get("approval_id"),
		Digest:   form.Get("digest"),
		Decision: form.Get("decision"),
		Feedback: form.Get("feedback"),
	}
	if d.Decision == threads.ForPrefix {
		d.Prefix = form.Get("prefix")
	}
	if d.Decision != threads.Deny {
		d.Feedback = "" // the field of the form is for a refusal
	}
	d.May = mayDecide(v.caller, d.Decision)
	_, err := v.view.Decide(v.ctx, d)
	if err != nil {
		return "", err
	}
	if form.Get("back") == "/approvals" {
		return "/approvals", nil
	}
	return "/t/" + d.Thread, nil
}
