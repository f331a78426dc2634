package trust_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// The project's revocations are those that its own documents prove. They are the
// same for a user who trusts their signers and for one who trusts no key.
func TestProjectRevoked(t *testing.T) {
	root, ben := key(1), key(2)
	w := newWorld(t)
	same := func(what string, want trust.Revoked) {
		t.Helper()
		s, _ := w.load()
		if got := s.ProjectRevoked(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		stranger := w.p
		stranger.UserDir, stranger.SystemDirs = t.TempDir(), nil
		other, _ := trust.Load(stranger)
		if got := other.ProjectRevoked(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, to a stranger: %v, want %v", what, got, want)
		}
	}
	w.own(root, doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "endorse", "revoke"}})
	same("nothing", trust.Revoked{})

	w.revoke(w.userDir, ben, doc.ReasonCompromised, time.Time{})
	same("one that only this user has", trust.Revoked{})
	path := w.revoke(w.project, ben, doc.ReasonCompromised, time.Time{})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs := []item.Digest{item.DigestOf(text)}
	same("one of a key itself", trust.Revoked{Documents: docs})

	name, list, err := doc.NewRevocationList(context.Background(), docs, root, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.project, name, list)
	same("a list of a key that the project does not hold", trust.Revoked{Documents: docs})
	keyName, keyDoc := w.document(root, "leo", everything)
	w.write(w.project, keyName, keyDoc)
	lists := []trust.ListState{{By: fp(root), At: w.now}}
	same("and that it holds", trust.Revoked{Documents: docs, Lists: lists})

	w.write(w.project, name, bytes.Replace(list, []byte("kind"), []byte("kind "), 1))
	same("a list that was changed", trust.Revoked{Documents: docs})
	w.write(w.project, name, list)
	w.write(w.project, filepath.Base(path), append(text, '\n'))
	same("a revocation that was changed", trust.Revoked{Lists: lists})
}
