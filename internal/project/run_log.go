package project

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/runlog"
	"github.com/ryeos/rye/primary"
)

// ran writes one line about each run to the record in the user's state folder.
// What cannot be written is not: no run fails because of it. RYE_RUN_LOG=off
// keeps no record.
func (p *Project) ran() func(*primary.Run, error) {
	if p.Env.Getenv("RYE_RUN_LOG") == "off" {
		return nil
	}
	log := &runlog.Log{Dir: p.Dirs.State}
	return func(run *primary.Run, err error) {
		m := run.Metadata
		e := runlog.Entry{
			Time:     p.Env.Now(),
			Ref:      m.Ref,
			Surface:  p.Env.Command,
			Duration: m.DurationMS,
		}
		if err != nil {
			e.Code = diag.Typed(err).Code
		}
		if len(m.Chain) > 0 {
			tool := m.Chain[0]
			e.Space, e.Version, e.Digest = tool.Space, tool.Version, tool.Digest.String()
		}
		if m.Usage != nil {
			e.CPU = m.Usage.CPU
		}
		_ = log.Append(e)
	}
}
