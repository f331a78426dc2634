package threads

import "github.com/ryeos/rye/threads/message"

// newTokens counts the tokens that a thread uses of its limit of tokens: the output of each call,
// and of its input what no cache gave and no earlier request of the conversation had. So a
// window can fill: a conversation that is sent again in each turn is counted once.
type newTokens struct {
	used int64
	sent int64 // tokens of the conversation up to the end of the last answer
}

// add counts a call. aside is one that is not about the conversation.
func (n *newTokens) add(u message.Usage, aside bool) {
	uncached := u.InputTotal() - u.CacheRead
	if aside {
		n.used += uncached + u.Output
		return
	}
	n.used += min(uncached, max(0, u.InputTotal()-n.sent)) + u.Output
	n.sent = u.Total()
}

// missed counts a call whose answer was discarded: the next request has no part of it.
func (n *newTokens) missed(u message.Usage) {
	uncached := u.InputTotal() - u.CacheRead
	n.used += min(uncached, max(0, u.InputTotal()-n.sent)) + u.Output
	n.sent = max(n.sent, u.InputTotal())
}

// next returns the most new tokens that a call can have.
func (n *newTokens) next(e Estimate, aside bool) int64 {
	if aside {
		return e.Input + e.Output
	}
	return max(0, e.Input-n.sent) + e.Output
}
