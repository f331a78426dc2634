package steps

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Compaction is the result of compact: what rye does with the conversation.
type Compaction struct {
	Action string `json:"action"` // none, references, summary or continue
	// Results are the results that become references, in place of which the model reads Text.
	Results []Reference `json:"results"`
	// FirstTurn is the first turn that stays if the action is summary.
	FirstTurn int64            `json:"first_turn"`
	Artifacts []StoredArtifact `json:"artifacts"`
}

// Reference is a text in place of the result of a call.
type Reference struct {
	CallID   string `json:"call_id"`
	Text     string `json:"text"`
	Artifact string `json:"artifact,omitempty"` // that has the result
}

type compactParams struct {
	View    compact.View `json:"view"`
	Refused bool         `json:"refused,omitempty"`
}

// compaction decides how the conversation becomes shorter: results of older turns become
// references, then a summary replaces the turns. The lines of a result stay in an artifact.
//
// Params: {view, refused}. view are the sizes of the conversation, refused is set if the
// service has refused it as too long. Result: Compaction.
func compaction(ctx context.Context, in Input) (Output, error) {
	p, err := params[compactParams]("compact", in)
	if err != nil {
		return Output{}, err
	}
	cfg, err := config(ctx, in.Services, CoordinationConfig, ReadCoordination)
	if err != nil {
		return Output{}, err
	}
	plan := compact.Decide(p.View, cfg.Compaction, p.Refused)
	out := Compaction{
		Action:    plan.Action,
		FirstTurn: plan.Keep,
		Results:   []Reference{},
		Artifacts: []StoredArtifact{},
	}
	if plan.Action == compact.None || plan.Action == compact.Continue {
		return done(out)
	}
	all, err := resultsOf(in.Conversation)
	if err != nil {
		return Output{}, err
	}
	calls := plan.Results
	if plan.Action == compact.Summary {
		calls = append(calls, orphans(p.View, plan, all)...)
	}
	for _, id := range calls {
		r := all[id]
		if r == nil {
			continue // its line is of an older form
		}
		ref, stored, err := referenceTo(ctx, in.Services, id, r.origin(all))
		if err != nil {
			return Output{}, err
		}
		out.Results = append(out.Results, ref)
		if stored != nil &&
			!slices.ContainsFunc(out.Artifacts, func(a StoredArtifact) bool { return a.ID == stored.ID }) {
			out.Artifacts = append(out.Artifacts, *stored)
		}
	}
	return done(out)
}

// keptResult is a result as the log has it.
type keptResult struct {
	CallID   string          `json:"call_id"`
	Content  []message.Block `json:"content"`
	Artifact string          `json:"artifact"`
	By       string          `json:"by"`
}

// resultsOf returns the results of the calls of the model.
func resultsOf(lines []transcript.Line) (map[string]*keptResult, error) {
	out := map[string]*keptResult{}
	for i := range lines {
		if lines[i].Event != "tool_result" {
			continue
		}
		r := &keptResult{}
		if err := decode(&lines[i], r); err != nil {
			return nil, err
		}
		if r.By == "" {
			out[r.CallID] = r
		}
	}
	return out, nil
}

// sameAs returns the call whose result a result refers to, or "".
func (r *keptResult) sameAs() string {
	if len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, `{"same_as":`) {
		return ""
	}
	var same struct {
		ID string `json:"same_as"`
	}
	if json.Unmarshal([]byte(r.Content[0].Text), &same) != nil {
		return ""
	}
	return same.ID
}

func (r *keptResult) origin(all map[string]*keptResult) *keptResult {
	if o := all[r.sameAs()]; o != nil {
		return o
	}
	return r
}

// orphans returns the calls of turns that stay whose results refer to the result of a turn
// that a summary replaces.
func orphans(v compact.View, plan compact.Plan, all map[string]*keptResult) (calls []string) {
	stays := map[string]bool{}
	for _, t := range v.Turns {
		for _, r := range t.Results {
			stays[r.CallID] = t.Number >= plan.Keep
		}
	}
	for _, t := range v.Turns {
		for _, r := range t.Results {
			kept := all[r.CallID]
			if t.Number < plan.Keep ||
				kept == nil ||
				r.Short ||
				slices.Contains(plan.Results, r.CallID) {
				continue
			}
			if same := kept.sameAs(); same != "" && !stays[same] {
				calls = append(calls, r.CallID)
			}
		}
	}
	return calls
}

// referenceTo returns the text that the model reads in place of a result, and the artifact that has its
// lines if there is none yet.
func referenceTo(ctx context.Context, s Services, call string, r *keptResult) (Reference, *StoredArtifact, error) {
	id := r.Artifact
	stored := (*StoredArtifact)(nil)
	if id == "" {
		var whole []string
		for _, b := range r.Content {
			if b.Type == message.Text {
				whole = append(whole, b.Text)
			}
		}
		body, ext := artifactText(strings.Join(whole, "\n"), artifactWidth)
		id = item.DigestOf([]byte(body)).Hex()
		stored = &StoredArtifact{
			ID:     id,
			Ext:    ext,
			Text:   body,
			CallID: call,
		}
	}
	others := ""
	for _, b := range r.Content {
		if b.Type != message.Text {
			others += strings.TrimRight(" "+string(b.Type)+" "+b.Name, " ")
		}
	}
	name := "reference"
	if others != "" {
		name = "reference_others"
	}
	note, err := text(
		ctx,
		s,
		name,
		"others",
		strings.TrimSpace(others),
		"call",
		artifactCall(id),
	)
	return Reference{CallID: call, Text: note, Artifact: id}, stored, err
}
