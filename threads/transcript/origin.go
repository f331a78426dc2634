package transcript

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/sign"
)

// OriginFile proves which user account began a log: it is the checkpoint of the log before
// its first line. A log can be read from a repository that another person filled, and until
// its first checkpoint nothing else in it is signed.
const OriginFile = "origin.json"

type origin struct {
	Key       string `json:"key"`
	Signature string `json:"signature"`
}

// claim writes the origin of a new log, which has no line yet.
func (l *Log) claim(ctx context.Context) error {
	if l.p.Signer == nil {
		return nil
	}
	sig, err := l.p.Signer.Sign(ctx, statement(l.p.ID, format(l.p.ID).Start()))
	if err != nil {
		return err
	}
	b, err := jsonx.Marshal(origin{Key: sign.FingerprintOf(l.p.Signer.Public()).String(), Signature: encoding.EncodeToString(sig)})
	if err != nil {
		return err
	}
	// The content is the same each time: one that a stopped process left half is replaced.
	f, err := l.p.base().OpenFile(
		OriginFile,
		os.O_WRONLY|os.O_CREATE|os.O_TRUNC,
		0o600,
	)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync() // a log whose lines survive a loss of power must keep its origin, too
	}
	return errors.Join(err, f.Close())
}

// isOwn reports whether this user account began the log.
func isOwn(p Params) bool {
	b, _, err := openat.Read(
		p.Project,
		Dir+"/"+p.ID+"/"+OriginFile,
		4096,
	)
	var o origin
	if err != nil || json.Unmarshal(b, &o) != nil {
		return false
	}
	fp, err := sign.ParseFingerprint(o.Key)
	if err != nil {
		return false
	}
	public, ok := p.Keys(fp)
	sig, err := encoding.DecodeString(o.Signature)
	return ok &&
		err == nil &&
		ed25519.Verify(public, statement(p.ID, format(p.ID).Start()), sig)
}
