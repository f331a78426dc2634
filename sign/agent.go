package sign

import (
	"context"
	"crypto/ed25519"
	"io"
	"math"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ryeos/rye/diag"
)

// Time that an agent has for an answer. It may ask a person before it signs. A hook or
// a job of CI must not wait for a broken one forever.
const (
	agentAnswers = 5 * time.Second
	agentSigns   = 2 * time.Minute
)

// Agent is a connection to an ssh-agent. A call whose ctx ends, or that takes too long,
// closes the connection, so that an agent that waits for a person cannot hang its caller.
// Calls must not overlap.
type Agent struct {
	conn           io.ReadWriteCloser
	client         agent.ExtendedAgent
	answers, signs time.Duration
}

// AgentKey is one key an agent holds.
type AgentKey struct {
	Format  string            // "ssh-ed25519", …
	Comment string            // untrusted text
	Public  ed25519.PublicKey // nil unless it is an Ed25519 key
	Refused string            // why it cannot sign items, "" when it can
}

// DialAgent connects to the agent at socket, the value of SSH_AUTH_SOCK. An
// empty socket is AUTH_REQUIRED.
func DialAgent(ctx context.Context, socket string) (*Agent, error) {
	if socket == "" {
		return nil, diag.New(diag.AuthRequired, "connecting to the ssh-agent: SSH_AUTH_SOCK is not set").WithReason("no_agent")
	}
	conn, err := dialSocket(ctx, socket)
	if err != nil {
		return nil, diag.New(diag.AuthRequired, "connecting to the ssh-agent: %w", err).WithReason("no_agent")
	}
	return NewAgent(conn), nil
}

// NewAgent returns a client of the agent at the other end of conn, which Close
// closes.
func NewAgent(conn io.ReadWriteCloser) *Agent {
	return &Agent{conn, agent.NewClient(conn), agentAnswers, agentSigns}
}

// Close ends the connection.
func (a *Agent) Close() error {
	return a.conn.Close()
}

// call runs f for at most the given time. Its end and the end of ctx close the connection,
// which interrupts f.
func (a *Agent) call(
	ctx context.Context,
	doing string,
	within time.Duration,
	f func() error,
) error {
	late := diag.New(diag.AuthFailed, "%s: the ssh-agent has not answered within %s", doing, within).WithReason("agent_refused")
	ctx, cancel := context.WithTimeoutCause(ctx, within, late)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { a.conn.Close() })
	defer stop()
	err := f()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if cause == error(late) {
		return late
	}
	if cause != nil {
		return diag.New(diag.Cancelled, "%s: %w", doing, cause)
	}
	return diag.New(diag.AuthFailed, "%s: %w", doing, err).WithReason("agent_refused")
}

// List returns the agent's keys. Refused is set for those that cannot sign.
func (a *Agent) List(ctx context.Context) ([]AgentKey, error) {
	var held []*agent.Key
	err := a.call(ctx, "listing the ssh-agent's keys", a.answers, func() (err error) {
		held, err = a.client.List()
		return err
	})
	keys := make([]AgentKey, len(held))
	for i, k := range held {
		keys[i] = describe(k)
	}
	return keys, err
}

func describe(k *agent.Key) AgentKey {
	out := AgentKey{Format: k.Format, Comment: k.Comment}
	var blob struct {
		Format string
		Key    []byte
		Rest   []byte `ssh:"rest"`
	}
	err := ssh.Unmarshal(k.Blob, &blob)
	isKey := err == nil && blob.Format == k.Format && len(blob.Key) == ed25519.PublicKeySize
	switch {
	case k.Format == ssh.KeyAlgoED25519 && isKey && len(blob.Rest) == 0:
		out.Public = blob.Key
	case k.Format == ssh.KeyAlgoSKED25519 && isKey:
		out.Public = blob.Key
		out.Refused = refusedType(k.Format)
	default:
		out.Refused = refusedType(k.Format)
	}
	return out
}

// Signer returns a signer for the key with that fingerprint. The error is
// KEY_UNKNOWN if the agent does not have the key or the key cannot sign.
func (a *Agent) Signer(ctx context.Context, fp Fingerprint) (Signer, error) {
	keys, err := a.List(ctx)
	if err != nil {
		return nil, err
	}
	refused := "the agent does not have it"
	for _, k := range keys {
		if k.Public == nil || FingerprintOf(k.Public) != fp {
			continue
		}
		if k.Refused == "" {
			return &agentSigner{a, k.Public}, nil
		}
		refused = k.Refused
	}
	return nil, diag.New(diag.KeyUnknown, "choosing key %s in the ssh-agent: %s", fp.Short(), refused).WithReason("not_in_agent")
}

// Add adds a key to the agent. The agent removes it after lifetime (0: never), and
// with confirm it asks the user before each signature.
func (a *Agent) Add(
	ctx context.Context,
	priv ed25519.PrivateKey,
	comment string,
	lifetime time.Duration,
	confirm bool,
) error {
	secs := lifetime / time.Second
	if lifetime < 0 || secs > math.MaxUint32 || lifetime%time.Second != 0 {
		return diag.New(diag.Usage, "adding a key to the ssh-agent: %v is not a lifetime in whole seconds", lifetime)
	}
	return a.call(ctx, "adding a key to the ssh-agent", a.signs, func() error {
		return a.client.Add(agent.AddedKey{
			PrivateKey:       priv,
			Comment:          comment,
			LifetimeSecs:     uint32(secs),
			ConfirmBeforeUse: confirm,
		})
	})
}

type agentSigner struct {
	agent *Agent
	pub   ed25519.PublicKey
}

func (s *agentSigner) Public() ed25519.PublicKey {
	return s.pub
}
func (s *agentSigner) String() string {
	return "key " + FingerprintOf(s.pub).Short() + " in the ssh-agent"
}

func (s *agentSigner) Sign(ctx context.Context, msg []byte) ([]byte, error) {
	key, err := ssh.NewPublicKey(s.pub)
	if err != nil {
		return nil, diag.New(diag.Internal, "signing: %w", err)
	}
	var sig *ssh.Signature
	err = s.agent.call(ctx, "signing with the ssh-agent", s.agent.signs, func() (err error) {
		sig, err = s.agent.client.Sign(key, msg)
		return err
	})
	if err != nil {
		return nil, err
	}
	if sig.Format != ssh.KeyAlgoED25519 {
		return nil, diag.New(diag.SigInvalid, "signing with the ssh-agent: it returned a %q signature", sig.Format)
	}
	return sig.Blob, nil
}
