package threadhost

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/steps"
)

// summarized is what a model reads in place of turns.
type summarized struct {
	text     string // with the fence, the messages of persons, and where all of it is
	summary  string // alone, "" if there is none
	failed   string // why there is none
	artifact string // that has what the text replaces
	threads  []string
	spend    policy.USD
}

// summarize returns the text that a model reads in place of the turns before keep; if it is 0,
// of all turns, of which so many tokens stay. If no summary can be made, the text states why.
func (r *Run) summarize(
	ctx context.Context,
	t *threads.Thread,
	cfg *steps.Coordination,
	keep, tail int64,
) (*summarized, error) {
	older := t.Older(keep, tail)
	s := &summarizer{r: r, t: t, cfg: cfg}
	out := &summarized{}
	var err error
	out.summary, err = s.conversation(ctx, older.Messages)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if out.threads, out.spend = s.threads, s.spend; err != nil {
		out.summary, out.failed = "", diag.Typed(err).Error()
	}
	whole := steps.ArtifactLines(strings.Join(compact.Readable(older.Messages, 0), "\n\n"))
	if out.artifact, err = t.Keep(whole); err != nil {
		return nil, err
	}
	root, err := r.Project.Resolver.Config(ctx, steps.AgentConfig)
	if err != nil {
		return nil, err
	}
	out.text, err = steps.Replacement(root.Root, steps.Replaced{
		Directive: cfg.SummaryDirective,
		Summary:   out.summary,
		Failed:    out.failed,
		Persons:   newest(older.Persons, cfg.PersonKept),
		Artifact:  out.artifact,
		Lines:     int64(strings.Count(whole, "\n") + 1),
	})
	return out, err
}

// newest returns the newest texts within a bound of tokens, in their order.
func newest(texts []string, tokens int64) []string {
	at := len(texts)
	for at > 0 && compact.Tokens(texts[at-1]) <= tokens {
		at--
		tokens -= compact.Tokens(texts[at])
	}
	return texts[at:]
}

// summarizer has a conversation summarized by threads below its own: each has a log, and an
// account in the thread's account.
// A summary is a thread of its own below the chain: its money counts, spawns and depth do not.
// Its id has the digest of the part of the conversation, so that a process that resumes does not
// pay twice.
type summarizer struct {
	r   *Run
	t   *threads.Thread
	cfg *steps.Coordination

	left    policy.USD // that the rest may cost
	threads []string
	spend   policy.USD
}

// maxLevels bounds how often summaries are summarized again, and parts divided again.
const maxLevels = 4

// conversation summarizes all of a conversation, in parts that fit the window of the model
// that summarizes.
func (s *summarizer) conversation(ctx context.Context, messages []message.Message) (string, error) {
	left, err := s.r.Account.Left(ctx)
	if err != nil {
		return "", err
	}
	s.left = policy.USD(float64(left) * s.cfg.MoneyShare)
	if s.cfg.SummarySpend != "" {
		most, err := policy.ParseUSD(s.cfg.SummarySpend)
		if err != nil {
			return "", diag.New(diag.ConfigError, "reading config:%s: continuation.summary_spend: %w", steps.CoordinationConfig, err)
		}
		s.left = min(s.left, most)
	}
	service, err := s.service(ctx)
	if err != nil {
		return "", err
	}
	tokens := partTokens(service, s.cfg.PartTokens)
	texts := compact.Readable(messages, 0)
	if s.left > 0 && price(service, texts, tokens) > s.left {
		// A stopped process has reserved or paid a part of this money: the texts that it began with stay.
		whole := numbered(compact.Parts(texts, tokens))
		_, begun, _, err := s.begun(ctx, summaryID(
			s.t.ID(),
			whole[0],
		))
		if err != nil {
			return "", err
		} else if !begun {
			texts = compact.Readable(messages, cutResult) // the whole is too dear
		}
	}
	for level := 0; ; level++ {
		parts := compact.Parts(texts, tokens)
		var out []string
		for _, part := range numbered(parts) {
			text, err := s.part(ctx, part, 0)
			if err != nil {
				return "", err
			}
			out = append(out, text)
		}
		joined := strings.Join(out, "\n\n")
		if len(out) < 2 ||
			compact.Tokens(joined) <= s.cfg.Compaction.Summary ||
			level == maxLevels {
			return joined, nil
		}
		for i := range out {
			out[i] = fmt.Sprintf("summary of part %d of %d:\n%s", i+1, len(out), out[i])
		}
		texts = out
	}
}

// numbered returns the texts that threads summarize: each part states which one it is.
func numbered(parts []string) []string {
	if len(parts) < 2 {
		return parts
	}
	out := make([]string, len(parts))
	for i, part := range parts {
		out[i] = fmt.Sprintf("(part %d of %d)\n\n%s", i+1, len(parts), part)
	}
	return out
}

// cutResult are the tokens of a result in a conversation that is too dear to be read whole.
const cutResult = 300

// partTokens returns how much one call summarizes: six tenths of what the window leaves for
// the conversation, because the estimate by bytes can be too low.
func partTokens(s *threads.Service, most int64) int64 {
	window := s.Window
	if window <= 0 {
		window = unknownWindow
	}
	free := window - min(
		max(s.MaxOutput, 0),
		maxSummary,
		window/3,
	) - min(ownTokens, window/8)
	return max(min(free*6/10, most), 100)
}

const (
	unknownWindow = 16_000
	maxSummary    = 8_000 // tokens of the answer that are kept free
	ownTokens     = 1_000 // of the directive that summarizes
)

// price estimates what the summary of texts costs.
func price(s *threads.Service, texts []string, tokens int64) policy.USD {
	parts := compact.Parts(texts, tokens)
	var total policy.USD
	for _, part := range parts {
		cost, _ := s.Cost(s.Model, message.Usage{Input: compact.Tokens(part) + ownTokens, Output: ownTokens})
		total += cost
	}
	return total
}

// part summarizes one part. One that the service refuses as too long is divided.
func (s *summarizer) part(ctx context.Context, text string, level int) (string, error) {
	res, err := s.run(ctx, text)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	failed := res == nil || res.Status != threads.Completed
	if failed && level < maxLevels && tooLong(res, err) {
		var out []string
		for _, half := range compact.Parts([]string{text}, compact.Tokens(text)/2+1) {
			part, err := s.part(ctx, half, level+1)
			if err != nil {
				return "", err
			}
			out = append(out, part)
		}
		return strings.Join(out, "\n\n"), nil
	}
	switch {
	case failed && err != nil:
		return "", err
	case failed:
		return "", diag.New(diag.ExecutionFailed, "summarizing the conversation: the thread did not complete")
	case strings.TrimSpace(res.Text) == "":
		return "", diag.New(diag.ExecutionFailed, "summarizing the conversation: the model wrote nothing")
	}
	return res.Text, nil
}

func tooLong(res *threads.Result, err error) bool {
	return diag.CodeOf(err) == diag.ContextFull ||
		res != nil && res.Error != nil && res.Error.Code == diag.ContextFull
}

// run runs the directive that summarizes, as a thread below this one. Its id depends on the
// text: one that a stopped process began is continued, and one that completed is not repeated.
func (s *summarizer) run(ctx context.Context, text string) (*threads.Result, error) {
	id := summaryID(s.t.ID(), text)
	most, yes, begun, err := s.begun(ctx, id)
	if err != nil {
		return nil, err
	}
	if !yes {
		most = s.left
	}
	params, err := s.params(ctx, id, text, most)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(s.threads, id) {
		s.threads = append(s.threads, id)
	}
	res, err := s.result(ctx, id, begun, params)
	if res != nil {
		s.spend += res.Cost.Spend
		s.left = max(s.left-res.Cost.Spend, 0)
	}
	return res, err
}

// begun returns whether a stopped process has begun the thread with an id, and the maximum that
// it reserved. started is nil if the process was stopped before the first line of its log.
func (s *summarizer) begun(ctx context.Context, id string) (most policy.USD, yes bool, started *threads.Started, err error) {
	started, err = threads.ReadStarted(s.r.Project.Spaces.ProjectDir, id)
	switch {
	case err == nil:
		return started.Limits.Spend, true, started, nil
	case diag.CodeOf(err) != diag.ThreadNotFound:
		return 0, false, nil, err
	}
	most, yes, err = s.r.Account.MaxOf(ctx, id)
	return most, yes, nil, err
}

// summaryID returns the id of the thread that summarizes a text for a thread: with the time of
// that thread, and the digest of both in place of random digits.
func summaryID(thread, text string) string {
	at := thread[strings.LastIndexByte(thread, '-')+1:]
	return "summary-" + at[:min(10, len(at))] + item.DigestOf([]byte(thread + "\x00" + text)).Hex()[:16]
}

func (s *summarizer) result(
	ctx context.Context,
	id string,
	begun *threads.Started,
	params threads.Params,
) (*threads.Result, error) {
	switch {
	case begun == nil:
		return threads.Start(ctx, id, params)
	case begun.State != threads.Completed:
		return threads.Resume(ctx, id, params, "")
	}
	// Its process can have been stopped before it closed the account. If the rest of the
	// account went back, there may be no money to reserve it again, and no need.
	err := threads.Mark(ctx, id, threads.Failed, params)
	if err != nil && diag.CodeOf(err) != diag.BudgetExceeded {
		return nil, err
	}
	return threads.ReadResult(s.r.Project.Spaces.ProjectDir, id)
}

// service returns the model that summarizes.
func (s *summarizer) service(ctx context.Context) (*threads.Service, error) {
	prepared, _, err := s.prepare(ctx, "", "", 0)
	if err != nil {
		return nil, err
	}
	return prepared.Services[0], nil
}

// prepare prepares a thread that summarizes: with the model of the tier that its directive
// names, of the same provider, else with the model of this thread.
func (s *summarizer) prepare(
	ctx context.Context,
	id, text string,
	most policy.USD,
) (*prepare.Prepared, *Options, error) {
	ref, err := item.ParseRef(s.cfg.SummaryDirective, item.Directive)
	if err != nil {
		return nil, nil, err
	}
	own := s.t.Service()
	tokens := max(8*compact.Tokens(text), 100_000) // more than a request of the text can have
	o := &Options{
		ID:        id,
		Ref:       ref,
		Held:      s.r.Options.Held,
		Params:    map[string]any{"conversation": text},
		Limits:    []string{"spend=" + most.String(), "tokens=" + strconv.FormatInt(tokens, 10)},
		Provider:  own.Provider.ID,
		NoSuspend: true,
	}
	prepared, err := prepare.Directive(ctx, s.r.Project, o.Request())
	if err != nil {
		o.Model = own.Model
		prepared, err = prepare.Directive(ctx, s.r.Project, o.Request())
	}
	return prepared, o, err
}

// params returns the parameters of the kernel for a thread that summarizes.
func (s *summarizer) params(
	ctx context.Context,
	id, text string,
	most policy.USD,
) (threads.Params, error) {
	prepared, o, err := s.prepare(ctx, id, text, most)
	if err != nil {
		return threads.Params{}, err
	}
	sub := &Run{
		Prepared: prepared,
		Project:  s.r.Project,
		Options:  o,
		id:       id,
	}
	params, err := sub.params(ctx)
	params.Continue = nil
	params.Number = func(ctx context.Context, id string) (int64, error) {
		return sub.numberIn(ctx, s.r.Account, id)
	}
	params.Account = func(ctx context.Context, _ string, limit policy.USD) (threads.Ledger, error) {
		owner, err := s.r.Account.Child(ctx, sub.registered(), limit)
		if err != nil {
			return nil, err
		}
		return summaryAccount{&ledger.Account{Owner: owner}, s.r.Account}, nil
	}
	return params, err
}

// summaryAccount is the account of a thread that summarizes: it ends with the token of the
// thread above it.
type summaryAccount struct {
	*ledger.Account
	above *ledger.Account
}

// Reserve implements threads.Ledger.
func (a summaryAccount) Reserve(ctx context.Context, id, model string, amount policy.USD) error {
	if err := a.above.Permitted(ctx); err != nil {
		return err
	}
	return a.Account.Reserve(ctx, id, model, amount)
}
