# members prints the values in lines of JSON, one a line: the number of the line and the keys
# with a slash before each, a tab, and the value as JSON. The argument is an expression for the
# keys of those that are needed.
members() {
  LC_ALL=C awk -v only="^[0-9]+$1" '
    function space() { while (substr(s, i, 1) ~ /[ \t\r]/) i++ }
    function text(   from, c) {
      for (from = ++i; (c = substr(s, i, 1)) != "\""; i++) if (c == "\\") i++
      return substr(s, from, i++ - from)
    }
    function value(path,   from, c, n, key) {
      space(); from = i; c = substr(s, i, 1)
      if (c == "{" || c == "[") {
        i++; space()
        if (substr(s, i, 1) ~ /[]}]/) i++
        else do {
          space(); key = n++
          if (c == "{") { key = text(); space(); i++ }
          value(path "/" key); space()
        } while (substr(s, i++, 1) == ",")
      } else if (c == "\"") text()
      else while (substr(s, i, 1) ~ /[-+.0-9a-zA-Z]/) i++
      if (path ~ only) print path "\t" substr(s, from, i - from)
    }
    { s = $0; i = 1; value(NR) }'
}

# read_members reads a line of JSON, for of.
read_members() { all=$'\n'$(printf '%s\n' "$1" | members "${2-}")$'\n'; }

# of sets REPLY to the value with a path, or to the second argument. It starts no process.
of() {
  REPLY=${2-}
  local rest=${all#*$'\n'"1$1"$'\t'}
  [ "$rest" = "$all" ] || REPLY=${rest%%$'\n'*}
}

# events prints the value with a path in each line of the conversation that has one of the events.
events() {
  local path value event='' found='' want=$1 file name
  shift
  of /conversation_file
  file=${REPLY#\"}
  grep -F "$(printf '"%s"\n' "$@")" "${file%\"}" | members "(/event|/$want)?\$" | while IFS=$'\t' read -r path value; do
    [ "${path#*/}" = "$want" ] && found=$value
    [ "${path#*/}" = event ] && event=$value
    [ "$path" = "${path#*/}" ] || continue
    for name in "$@"; do # the event itself, not a value of its data
      [ "$event" = "\"$name\"" ] && printf '%s\n' "$found"
    done
    event='' found=''
  done
}
