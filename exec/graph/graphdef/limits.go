package graphdef

import (
	"time"

	"github.com/ryeos/rye/policy"
)

func (p *parser) limits(g *Graph) {
	l := p.r.Map("limits")
	l.Only("turns", "tokens", "spend", "spawns", "depth", "duration_seconds")
	for key, to := range map[string]**int64{"turns": &g.Limits.Turns, "tokens": &g.Limits.Tokens, "spawns": &g.Limits.Spawns} {
		n := l.Int(key, 0, 0, 1<<40)
		if l.Has(key) {
			*to = &n
		}
	}
	if l.Has("spend") {
		l.TextFunc("spend", func(s string) error {
			usd, err := policy.ParseUSD(s)
			g.Limits.Spend = &usd
			return err
		})
	}
	g.Limits.Depth = int(l.Int("depth", 10, 0, 64))
	g.Limits.Duration = l.Seconds(
		"duration_seconds",
		g.Limits.Duration,
		time.Second,
		86_100*time.Second,
	)
}
