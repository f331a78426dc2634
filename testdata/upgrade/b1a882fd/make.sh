#!/bin/sh
# make.sh PROGRAM: writes fixture.tar.gz, a project and the directories of its user as PROGRAM, rye of this commit, leaves
# them. It needs git and python3, and reaches loopback only.
#
# The work happens in /tmp/rye-upgrade, whatever machine makes it, so that this is the only absolute path in the result.
# It is in the store of threads and the list of its projects, which the command fixture of the scripts (cmd/rye) changes
# when it moves the project, and in files that only name where a bundle came from. The registry was served on loopback.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")
base=/tmp/rye-upgrade
test ! -e $base || { echo "$base exists" >&2; exit 1; }
trap 'kill $started 2>/dev/null || true; chmod -R u+w $base; rm -rf $base' EXIT
started=

mkdir -p $base/bin $base/home $base/author $base/app
ln -s "$program" $base/bin/rye
for name in $(env | grep -oE '^(XDG|RYE|GIT|CI)[A-Z_]*='); do unset "${name%=}"; done
export PATH=$base/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TZ=UTC GIT_CONFIG_NOSYSTEM=1 DEMO_KEY=sk-demo-12345678
user() { # user DIRECTORY: the next commands are those of its user
  export HOME=$base/$1 XDG_CONFIG_HOME=$base/$1/config XDG_DATA_HOME=$base/$1/data XDG_STATE_HOME=$base/$1/state XDG_CACHE_HOME=$base/$1/cache
  mkdir -p $HOME/config $HOME/data $HOME/state $HOME/cache
  git config --global user.name "$1" && git config --global user.email "$1@example.test"
  git config --global init.defaultBranch main && git config --global protocol.file.allow always
}
await() { # await COMMAND: until it succeeds, for at most 20 seconds
  n=0
  until sh -c "$1"; do n=$((n + 1)); test $n -lt 1000 || { echo "waiting for: $1" >&2; exit 1; }; sleep 0.02; done
}

# An author releases one bundle as a git repository and another one in a registry.
user author
rye key new --owner leo --no-passphrase
rye key export >$base/leo.toml
leo=$(rye key list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["data"]["keys"][0]["fingerprint"])')
tool() { # tool DIRECTORY NAME
  mkdir -p "$1/.ai/tools/$2"
  cat >"$1/.ai/tools/$2/t.sh" <<T
# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: $2
# description: Prints the name of its bundle.
echo $2
T
}
cd $base
tool $base/gittools gittools
printf 'rye: 1\n' >gittools/rye.yaml
rye -C gittools sign '*'
rye -C gittools bundle create gittools --version 1.0.0
git -C gittools init -q && git -C gittools add -A && git -C gittools commit -qm tools && git -C gittools tag v1.0.0
tool $base/regtools regtools
printf 'rye: 1\nname: registry:rye.example/acme/regtools\n' >regtools/rye.yaml
rye -C regtools sign '*'
rye -C regtools bundle create regtools --version 1.0.0
rye registry serve --data reg --addr 127.0.0.1:0 --public-url https://rye.example 2>registry.log &
started="$started $!"
registry=$!
await "grep -q ' on http' $base/registry.log"
url=$(sed -n 's/.* on \(http:[^ ]*[0-9]\).*/\1/p' registry.log)
logkey=$(python3 -c 'import json, sys, urllib.request as u; print(json.load(u.urlopen(sys.argv[1]))["log"]["key"])' "$url/.well-known/rye-registry.json")
rye registry admin namespace grant acme leo.toml --data reg
rye registry add rye.example --url "$url" --log-key "$logkey"
rye -C regtools registry publish

# The user of the fixture. A call that needs a yes suspends a thread.
user home
mkdir -p $HOME/.ai/config/agent
cat >$HOME/.ai/config/agent/allowance.yaml <<'T'
schema_version: "1.0.0"
category: agent
description: My allowance.
approvals: {headless: suspend}
T
cd $base/app
mkdir .ai
cp -R "$here"/items/. .ai
for kind in surrogate twice number counts; do # each is read by one directive
  sed "s/odd/$kind/g" "$here/items/directives/demo/odd.md" >.ai/directives/demo/$kind.md
done
rm .ai/directives/demo/odd.md
echo 'The button crashes.' >issue.md
rye key new --owner ada --no-passphrase
rye init .
rye sign config:agent/allowance
rye sign '*'
rye trust add $base/leo.toml --kinds bundle,tool --namespaces '**' --may sign,release --until 90d
rye registry add rye.example --url "$url" --log-key "$logkey"
rye add "file://$base/gittools@v1.0.0" registry:rye.example/acme/regtools@v1.0.0
rye verify
rye run tool:demo/hello
rye run tool:demo/count
kill -INT $registry && wait $registry || true

# Threads: completed, one with a child, suspended by a question and by a limit, continued by another one.
python3 "$here/model.py" $base/model-url &
started="$started $!"
await "test -s $base/model-url"
MODEL_URL=$(cat $base/model-url)
export MODEL_URL
rye run directive demo/triage file=issue.md
rye test record triage --as demo/recorded
rye sign test:demo/recorded
rye run directive demo/root
rye run directive demo/clean </dev/null
rye run directive demo/turns file=issue.md --limit turns=1
rye run directive demo/chain file=issue.md && exit 1
rye threads handoff chain

# Answers that this version recorded and cannot read: half a surrogate pair, a key twice, a number and a count out of range.
for kind in surrogate twice number counts; do
  rye run directive demo/$kind file=issue.md || true
  rye threads resume $kind || true
done

# Runs of graphs: completed, suspended by a question.
rye graph run demo/short
rye graph run demo/release tag=v1

# Last, because every command settles what it finds stopped: a thread that waits for its model and a graph in a node, ended
# by kill -9.
rye spawn directive demo/wait >$base/wait.txt
await "test \$(grep -c model_request .ai/threads/wait-*/transcript.jsonl) = 2"
rye graph run demo/slow --async >$base/slow.txt
await "grep -qs second effects"
kill -9 $(cut -d' ' -f2 $base/wait.txt) $(cut -d' ' -f2 $base/slow.txt)
touch stop
await "! cat /proc/[0-9]*/cmdline 2>/dev/null | grep -q 'until [t]est -e stop'"
rm stop effects

# The store has all in one file, and no process of the machine that made it.
python3 - $XDG_STATE_HOME/rye/threads/store.db <<'T'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE threads SET boot_id = '00000000-0000-4000-8000-000000000000' WHERE boot_id != ''")
db.commit()
db.execute("VACUUM")
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
T
date -u +%Y-%m-%dT%H:%M:%SZ >$base/made

# What git wrote, the installed program and the author stay behind. The archive has no owner, and its files no date.
chmod -R u+w $base
cd $base
rm -rf bin author gittools regtools home/.gitconfig home/cache app/.git
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --format=ustar -czf "$here/fixture.tar.gz" app home reg made
