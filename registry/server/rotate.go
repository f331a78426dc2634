package server

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// nextKeyFile has the new key of the log while it replaces the old one.
const nextKeyFile = "keys/log.next"

// rotationPath is where clients read the document that replaces a log key.
func rotationPath(key string) string {
	_, rest, _ := strings.Cut(key, "+")
	hash, _, _ := strings.Cut(rest, "+")
	return wire.LogPath + "/rotation/" + hash + ".toml"
}

// RotateKey replaces the key of the log. The old key signs a document that names the new
// one, so that clients follow without a question. No process may serve the registry.
func RotateKey(ctx context.Context, p Params) (key string, err error) {
	s, err := Open(ctx, p) // verifies the log, and completes an earlier rotation
	if err != nil {
		return "", err
	}
	defer s.Close()
	secret, key, err := log.GenerateKey(randomOf(p.Rand), s.host)
	if err != nil {
		return "", err
	}
	if err := s.base.Write(nextKeyFile, []byte(secret+"\n"+key+"\n"), 0o600); err != nil {
		return "", diag.Doing("writing the new key of the log", err)
	}
	return key, s.finishRotation(ctx)
}

// finishRotation completes a rotation whose new key is stored. It can be repeated after a
// crash at any step.
func (s *Server) finishRotation(ctx context.Context) error {
	next, err := os.ReadFile(filepath.Join(s.p.Dir, filepath.FromSlash(nextKeyFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the new key of the log: %w", err)
	}
	secret, key, ok := cutLine(next)
	signer, err := log.NewSigner(secret)
	if !ok || err != nil {
		return diag.New(diag.ConfigError, "reading the new key of the log: %s is damaged", nextKeyFile)
	}
	was, err := os.ReadFile(filepath.Join(s.p.Dir, filepath.FromSlash(keyFile)))
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the key of the log: %w", err)
	}
	oldSecret, old, ok := cutLine(was)
	if !ok {
		return diag.New(diag.ConfigError, "reading the key of the log: %s is damaged", keyFile)
	}
	if old != key {
		if err := s.writeRotation(ctx, oldSecret, old, key); err != nil {
			return err
		}
		if err := s.signAgain(signer, old, key); err != nil {
			return err
		}
		if err := s.base.Write(keyFile, next, 0o600); err != nil {
			return err
		}
	}
	s.key = key
	err = s.writeChanged(wire.DiscoveryPath, s.discovery())
	if err != nil {
		return err
	}
	return s.base.Remove(nextKeyFile)
}

// writeRotation publishes the document by which the old key names the new one.
func (s *Server) writeRotation(ctx context.Context, oldSecret, old, key string) error {
	signer, err := logKeySigner(oldSecret)
	if err != nil {
		return err
	}
	_, b, err := doc.NewRegistry(
		ctx,
		doc.RegistryParams{Host: s.host, LogKey: key, Replaces: old},
		signer,
		s.p.Now(),
	)
	if err != nil {
		return err
	}
	return s.writePublic(rotationPath(old), b)
}

// logKeySigner returns the key in the secret of a log: PRIVATE+KEY+NAME+HASH+BASE64.
func logKeySigner(secret string) (sign.Signer, error) {
	parts := strings.SplitN(secret, "+", 5)
	raw, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(parts) != 5 || len(raw) != 1+ed25519.SeedSize {
		return nil, diag.New(diag.ConfigError, "reading the secret of the log: it is damaged")
	}
	return sign.NewFileSigner(ed25519.NewKeyFromSeed(raw[1:]), keyFile), nil
}

// signAgain signs the checkpoint with the new key, unless it is signed by it.
func (s *Server) signAgain(signer *log.Signer, old, key string) error {
	p := wire.LogPath + "/" + log.CheckpointName
	note, err := s.readPublic(p, log.MaxCheckpoint)
	if err != nil {
		return err
	}
	origin := s.host + wire.LogPath
	_, err = (log.Verifier{Origin: origin, Key: key}).Verify(note)
	if err == nil {
		return nil
	}
	c, err := log.Verifier{Origin: origin, Key: old}.Verify(note)
	if err != nil {
		return diag.New(diag.LogProof, "reading the checkpoint: %w", err)
	}
	if note, err = signer.Sign(origin, c.Tree); err != nil {
		return err
	}
	return s.writePublic(p, note)
}
