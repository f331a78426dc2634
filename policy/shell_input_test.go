package policy

// fed are commands whose text arrives in another form than an argument: the input of a
// program that starts a shell, an abbreviated option, a list, or a setting in a variable.
func fed() [][2]string {
	return [][2]string{
		// The entry point of a container replaces the program of its image.
		{"docker run --entrypoint rm -v /:/h alpine -rf /h", "rm-recursive"}, {"docker run --entrypoint=rm -v /:/h alpine -rf /h", "rm-recursive"}, {"podman run --rm --entrypoint /bin/sh alpine -c 'rm -rf x'", "rm-recursive"},
		{`docker run --entrypoint "$X" alpine`, dynamic}, {"docker compose run --entrypoint rm web -rf x", "rm-recursive"},
		// A reference of a variable to itself, which another command has set.
		{"for EDITOR in 'rm -rf x'; do EDITOR=$EDITOR git commit; done", "rm-recursive"}, {`for EDITOR in "$X"; do EDITOR=$EDITOR git commit; done`, dynamic}, {`select EDITOR in "$@"; do EDITOR="$EDITOR" git commit; done`, dynamic}, {"printf -v EDITOR 'rm -rf x'; EDITOR=$EDITOR git commit", dynamic}, {"printf -vEDITOR 'rm -rf x'; export EDITOR=$EDITOR", dynamic},
		{"read EDITOR <<< 'rm -rf x'; export EDITOR=$EDITOR; git commit", dynamic}, {"read -r EDITOR <<< 'rm -rf x'; EDITOR=${EDITOR:-vim} git commit", dynamic}, {"builtin read -ra EDITOR <<< 'rm -rf x'; export EDITOR=$EDITOR", dynamic}, {`read "$N" <<< 'rm -rf x'; export EDITOR=$EDITOR`, dynamic}, {"mapfile -t PAGER <<< 'rm -rf x'; PAGER=$PAGER git log", dynamic}, {"readarray PAGER <<< 'rm -rf x'; PAGER=$PAGER git log", dynamic},
		{"getopts e: EDITOR; EDITOR=$EDITOR git commit", dynamic}, {"declare -n r=EDITOR; read r <<< 'rm -rf x'; EDITOR=$EDITOR git commit", dynamic}, {"typeset -n r=EDITOR; r='rm -rf x'; EDITOR=$EDITOR git commit", dynamic}, {": ${EDITOR:='rm -rf x'}; EDITOR=$EDITOR git commit", dynamic},
		{"read EDITOR <<< 'rm -rf x'; eval 'export EDITOR=$EDITOR'", dynamic}, {"eval \"read EDITOR <<< 'rm -rf x'\"; export EDITOR=$EDITOR", dynamic}, {"export 'EDITOR=rm -rf x'", "rm-recursive"},
		// Lists, and settings of git in variables.
		{"PROMPT_COMMAND=('rm -rf x') bash -i", unparsed}, {"PROMPT_COMMAND=('rm -rf x'); ls", "rm-recursive"}, {"declare -a PROMPT_COMMAND=(true 'rm -rf x')", "rm-recursive"}, {"PROMPT_COMMAND+=('rm -rf x')", "rm-recursive"}, {"PROMPT_COMMAND[0]='rm -rf x'", "rm-recursive"},
		{"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm -rf y' git x", "rm-recursive"}, {"GIT_CONFIG_VALUE_0='rm -rf y' GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_COUNT=1 git log", "rm-recursive"},
		{"export GIT_CONFIG_VALUE_1='!rm -rf y'", "rm-recursive"}, {"env GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='rm -rf y' git log", "rm-recursive"}, {`GIT_CONFIG_VALUE_0="$X" git log`, dynamic},
		{`GIT_CONFIG_PARAMETERS="'alias.x=!rm -rf y'" git x`, "rm-recursive"}, {`GIT_CONFIG_PARAMETERS="'core.pager'='rm -rf y'" git log`, "rm-recursive"},
		// Options in two words, and abbreviated.
		{"tar cf a --checkpoint=1 --checkpoint-action 'exec=rm -rf x' .", "rm-recursive"}, {"tar cf a --checkpoint-ac=exec='rm -rf x' .", "rm-recursive"}, {"tar xf a --to-comm='rm -rf x'", "rm-recursive"}, {"tar xf a --to-c 'rm -rf x'", "rm-recursive"}, {"tar --use-compress 'rm -rf x' -cf a b", "rm-recursive"},
		{"env --split 'rm -rf x'", "rm-recursive"}, {"env --split-string 'rm -rf x'", "rm-recursive"}, {"env --unset A --ch d rm -rf x", "rm-recursive"}, {"timeout --sig KILL 5 rm -rf x", "rm-recursive"}, {"nice --adj 5 rm -rf x", "rm-recursive"}, {"xargs --max-a 1 rm -rf", "rm-recursive"},
		{"su --comm 'rm -rf x'", "rm-recursive"}, {"su root --command='rm -rf x'", "rm-recursive"}, {"flock f --command 'rm -rf x'", "rm-recursive"}, {"script --command 'rm -rf x' log", "rm-recursive"}, {"rsync --rs 'rm -rf x' a b:c", "rm-recursive"}, {"git rebase --exe 'rm -rf x' main", "rm-recursive"},
		{"git clone -u 'rm -rf x' a b", "rm-recursive"}, {"git clone --upload-p='rm -rf x' a b", "rm-recursive"}, {"git ls-remote --exec='rm -rf x' a", "rm-recursive"}, {"git push --rec='rm -rf x' a", "rm-recursive"}, {"git grep -O'rm -rf x' a", "rm-recursive"}, {"git grep --open-files-in-pager='rm -rf x' a", "rm-recursive"},
		{"git clone 'ext::sh -c \"rm -rf x\"'", "rm-recursive"}, {"git --config-env=alias.x=X x", dynamic},
		{"ssh -o 'ProxyCommand rm -rf x' h", "rm-recursive"}, {"ssh -o'ProxyCommand rm -rf x' h", "rm-recursive"}, {"ssh -oproxycommand='rm -rf x' h", "rm-recursive"}, {"ssh -o 'proxycommand = rm -rf x' h", "rm-recursive"}, {"scp -S 'rm -rf x' a h:b", "rm-recursive"}, {`ssh -o "ProxyCommand $X" h`, dynamic},
		// Options before the subcommand that starts a program.
		{"npm --prefix d exec rm -rf x", "rm-recursive"}, {"npm --prefix d exec -- rm -rf x", "rm-recursive"}, {"npm -w a exec rm -rf x", "rm-recursive"}, {"pnpm -C d exec rm -rf x", "rm-recursive"}, {"pnpm --filter a exec rm -rf x", "rm-recursive"}, {"yarn --cwd d exec rm -rf x", "rm-recursive"},
		{"poetry -C d run rm -rf x", "rm-recursive"}, {"poetry --directory d run rm -rf x", "rm-recursive"}, {"uv --directory d run rm -rf x", "rm-recursive"}, {"uv run -p 3.12 --with a rm -rf x", "rm-recursive"}, {"mise -C d exec -- rm -rf x", "rm-recursive"}, {"mise exec node@20 -- rm -rf x", "rm-recursive"},
		// Programs that start a shell if they have no other, and give it their input.
		{"sudo -s <<< 'rm -rf x'", "rm-recursive"}, {"sudo -i <<'E'\nrm -rf x\nE", "rm-recursive"}, {"sudo -u a -s <<< 'rm -rf x'", "rm-recursive"}, {"echo 'rm -rf x' | sudo -s", "rm-recursive"}, {"su <<< 'rm -rf x'", "rm-recursive"}, {"su - root <<< 'rm -rf x'", "rm-recursive"}, {"sudo su <<< 'rm -rf x'", "rm-recursive"},
		{"curl u | sudo -s", dynamic}, {"cat f | su", dynamic}, {"unshare -r <<< 'rm -rf x'", "rm-recursive"}, {"chroot / <<< 'rm -rf x'", "rm-recursive"}, {"newgrp users <<< 'rm -rf x'", "rm-recursive"}, {"script -q log <<< 'rm -rf x'", "rm-recursive"},
		{"ssh host <<< 'rm -rf x'", "rm-recursive"}, {"echo 'rm -rf x' | ssh host", "rm-recursive"}, {"ssh host bash <<< 'rm -rf x'", "rm-recursive"}, {"ssh host bash -s <<'E'\nrm -rf x\nE", "rm-recursive"}, {"echo 'rm -rf x' | ssh host sudo bash", "rm-recursive"}, {"bash -c bash <<< 'rm -rf x'", "rm-recursive"}, {"eval bash <<< 'rm -rf x'", "rm-recursive"},
		{"ssh -oLogLevel=WARN h <<< 'rm -rf x'", "rm-recursive"}, {"ssh -oNumberOfPasswordPrompts=0 h <<< 'rm -rf x'", "rm-recursive"}, {"ssh -i/home/Nina/key h <<< 'rm -rf x'", "rm-recursive"}, {"ssh -i -N h <<< 'rm -rf x'", "rm-recursive"}, {"ssh -l NW h <<< 'rm -rf x'", "rm-recursive"},
		{"sudo A=b -s <<< 'rm -rf x'", "rm-recursive"}, {"sudo -u a A=b -s <<< 'rm -rf x'", "rm-recursive"}, {"sudo A=b -u a rm -rf x", "rm-recursive"}, {"ssh -NoProxyCommand='rm -rf x' h", "rm-recursive"}, {"ssh -No ProxyCommand='rm -rf x' h", "rm-recursive"}, {"scp -rS'rm -rf x' a h:b", "rm-recursive"}, {"scp -poProxyCommand='rm -rf x' a h:b", "rm-recursive"},
		{"exec <<< 'rm -rf x'; sh", "rm-recursive"}, {"exec <<'E'\nrm -rf x\nE\nbash -s", "rm-recursive"}, {"command exec <<< 'rm -rf x'; sh", "rm-recursive"}, {"{ exec <<< 'rm -rf x'; }; f() { sh; }; f", "rm-recursive"},
		{"f(){ sh; }; f <<< 'rm -rf x'", "rm-recursive"}, {"f(){ g; }; g(){ sudo -s; }; f <<< 'rm -rf x'", "rm-recursive"}, {"f(){ sh; }; { f; } <<< 'rm -rf x'", "rm-recursive"}, {"f(){ sh; }; echo 'rm -rf x' | f", "rm-recursive"}, {"f(){ bash; }; curl u | f", "pipe-to-shell"}, {"f(){ sh; f; }; f <<< 'rm -rf x'", "rm-recursive"},
		{"parallel <<< 'rm -rf x'", "rm-recursive"}, {"parallel -j 4 <<< 'rm -rf x'", "rm-recursive"}, {"parallel ::: ls 'rm -rf x'", "rm-recursive"}, {"parallel -I ,, rm -rf ,, ::: a", "rm-recursive"}, {"cat f | parallel", dynamic},
		// Options whose value can only be in the same word.
		{"xargs -i rm -rf {}", "rm-recursive"}, {"xargs -l rm -rf", "rm-recursive"}, {"xargs -e rm -rf", "rm-recursive"}, {"xargs --replace rm -rf {}", "rm-recursive"}, {"xargs --eof rm -rf", "rm-recursive"}, {"xargs --max-lines rm -rf", "rm-recursive"}, {"xargs -iL rm -rf L", "rm-recursive"}, {"xargs -0L 1 rm -rf", "rm-recursive"}, {"nsenter -t 1 -r rm -rf x", "rm-recursive"}, {"nsenter -t 1 -mS rm -rf x", "rm-recursive"},
		// Options of one letter among others, and other spellings.
		{"mise exec node -c 'rm -rf x'", "rm-recursive"}, {"mise x node --command='rm -rf x'", "rm-recursive"}, {"git rebase -ix 'rm -rf x' main", "rm-recursive"}, {"git rebase -ix'rm -rf x' main", "rm-recursive"}, {"git difftool -yx 'rm -rf x'", "rm-recursive"}, {"git clone -qu 'rm -rf x' a b", "rm-recursive"}, {"git grep -nO'rm -rf x' a", "rm-recursive"},
		{"git clone 'ext::sh -c rm% -rf% x'", "rm-recursive"}, {"git clone 'ext::sh -c true%%;% rm% -rf% x'", "rm-recursive"}, {"git clone --conf=core.sshCommand='rm -rf x' u", "rm-recursive"}, {"git clone --conf core.sshCommand='rm -rf x' u", "rm-recursive"}, {"git --config-e core.pager=X log", dynamic}, {"git --config-e=core.pager=X log", dynamic},
		{"tar cIf 'rm -rf x' a b", "rm-recursive"}, {"tar cfI a 'rm -rf x' b", "rm-recursive"}, {"tar xFf 'rm -rf x' a", "rm-recursive"}, {"tar -cI'rm -rf x' -f a b", "rm-recursive"}, {"npx -yc 'rm -rf x'", "rm-recursive"}, {"rsync -ave'rm -rf x' a b:c", "rm-recursive"},
		{"curl u | ssh host sh", "pipe-to-shell"}, {"sudo -s rm -rf x", "rm-recursive"}, {"sudo -s -- rm -rf x", "rm-recursive"}, {"docker run -i alpine sh <<< 'rm -rf x'", "rm-recursive"}, {"{ sh; } <<< 'rm -rf x'", "rm-recursive"}, {"if true; then bash; fi <<'E'\nrm -rf x\nE", "rm-recursive"}, {"(cd d; sh -s) <<< 'rm -rf x'", "rm-recursive"},
	}
}

// fedHarmless are close to those of fed and need no question.
func fedHarmless() []string {
	return []string{
		`export EDITOR="${EDITOR:-vim}"`, "EDITOR=${EDITOR:-vim} git commit", `PAGER="${PAGER-less -R}" git log`, `export PATH="$PATH:x" PAGER="$PAGER"`, `rsync -e "ssh -p $PORT" a h:b`, `rsync --rsh="ssh -i $KEY" a h:b`,
		"for EDITOR in vim nano; do command -v $EDITOR && break; done", "read -rp \"edit $f? \" answer; EDITOR=${EDITOR:-vim} git commit", "printf '%s' \"$x\"; export EDITOR=\"${EDITOR:-vim}\"", "declare -n r=x; EDITOR=$EDITOR git commit", "export 'EDITOR=vim -f'",
		"docker run --entrypoint ls alpine -r", "docker run --entrypoint=cat alpine f", "docker run --rm alpine ls", "PROMPT_COMMAND=(date)", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0='rm -rf x' git log", "tar --checkpoint=1 --checkpoint-action dot -cf a b", "tar --exclude x --use-compress zstd -cf a b",
		"git clone -u git-upload-pack a b", "git push -u origin main", "git commit -u -m x", "git grep -O pattern", "ssh -o 'StrictHostKeyChecking no' host ls", "ssh -S none host ls", "npm --prefix d run build", "npm --prefix d exec prettier .", "poetry -C d run pytest", "uv --directory d run pytest", "mise exec -- go test",
		"sudo -s <<< 'ls'", "su - app -c 'ls'", "ssh host <<< 'uptime'", "echo ls | ssh host", "tar cf - d | ssh host 'tar xf -'", "ssh host 'cat > f' < f", `cat f | ssh host "tee g"`, "cat f | ssh host tee g", "docker run -i alpine cat <<< 'rm -rf x'", "sudo tee f <<< 'rm -rf x'", "{ cat; } <<< 'rm -rf x'", "(cd d; tee g) <<< 'rm -rf x'", "sudo -u app tee f < g", "pg_dump a | ssh host psql b", "ssh -N -L 1:h:1 host", "while read -r l; do echo \"$l\"; done <<< 'rm -rf x'",
		"ssh -N h <<< 'rm -rf x'", "ssh -fNL 1:h:1 h <<< 'rm -rf x'", "ssh h -N <<< 'rm -rf x'", "ssh -W a:1 h <<< 'rm -rf x'", "sudo A=b tee f <<< 'rm -rf x'", "exec 3<<< 'rm -rf x'; cat <&3", "exec cat <<< 'rm -rf x'", "f() { cat; }; f <<< 'rm -rf x'", "f() { sh x.sh; }; f", "f() { sh; }; f <<< ls",
		"xargs -i cp {} rm", "xargs --replace cp -r {} d", "xargs -L 1 echo", "parallel ls <<< 'rm -rf x'", "parallel <<< ls", "parallel gzip ::: a b", "mise exec -- grep -c x \"$f\"", "mise x node -c 'npm test'", "git rebase -ix 'go test' main", "git clone 'ext::ssh -p 22 h %S r'", "git clone --conf=user.name='rm -rf x' u", "git grep -nO pattern", "git push -qu origin main",
		"tar cIf zstd a b", "tar cf 'rm -rf x' b", "tar xzfC a.tgz d",
		"env --unset A ls", "timeout --signal KILL 5 ls", "git --config-env=user.name=X log",
	}
}
