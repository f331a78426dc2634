package sign

import (
	"bytes"

	"github.com/ryeos/rye/diag"
)

// The variables that name a key for headless use. Their values are paths, never
// keys or passphrases.
const (
	EnvKeyFile        = "RYE_KEY_FILE"
	EnvPassphraseFile = "RYE_PASSPHRASE_FILE"
)

// EnvSigner returns the signer that the environment names, and false if it names
// none. The passphrase file must be as private as the key. One line feed at its
// end is not part of the passphrase.
func EnvSigner(getenv func(string) string) (Signer, bool, error) {
	key := getenv(EnvKeyFile)
	pass := getenv(EnvPassphraseFile)
	if key == "" {
		if pass != "" {
			return nil, false, diag.New(diag.Usage, "reading the environment: %s is set without %s", EnvPassphraseFile, EnvKeyFile)
		}
		return nil, false, nil
	}
	var ask func() ([]byte, error)
	if pass != "" {
		ask = func() ([]byte, error) {
			return readPassphrase(pass)
		}
	}
	s, err := OpenFileSigner(key, ask)
	if err != nil {
		return nil, false, err
	}
	return s, true, nil
}

func readPassphrase(path string) ([]byte, error) {
	b, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	if len(b) == 0 {
		return nil, diag.New(diag.AuthRequired, "reading passphrase %s: the file is empty", path)
	}
	return b, nil
}
