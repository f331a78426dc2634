# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# description: The step emitter in bash.

# It needs bash, awk and cat, and no other program.
#include json

# Hooks and graphs call this step as a tool: the parameters are those of the action.
refuse() {
  printf 'reading the parameters of the step emitter: %s\n' "$1" >&2
  exit 1
}

read_members "$(cat)"
of /name && name=$REPLY
of /data null && data=$REPLY
while IFS=$'\t' read -r path value; do
  case $path in
    1 | 1/name | 1/data | 1/data/*) ;;
    *) refuse "unknown: ${path#1/}" ;;
  esac
done <<<"${all:1:${#all}-2}"
length=$(printf '%s' "$name" | LC_ALL=C awk '{ gsub(/\\u[dD][89abAB]../, "xx"); gsub(/\\u[dD][c-fC-F]../, "xx"); gsub(/\\u00[0-7]./, "x"); gsub(/\\u0[0-7]../, "xx"); gsub(/\\u..../, "xxx"); gsub(/\\./, "x"); print length($0) - 2 }')
case $name in
  \"*\") ;;
  *) refuse "name must be a text" ;;
esac
[ "$length" -ge 1 ] && [ "$length" -le 100 ] || refuse "name must have from 1 to 100 characters"
printf '{"success":true,"data":{},"events":[{"event":"observation","data":{"name":%s,"data":%s}}]}\n' "$name" "$data"
