# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# description: The step control in bash.

# It needs bash, awk and cat, and no other program.
#include json

# Hooks and graphs call this step as a tool: the parameters are those of the action.
refuse() {
  printf 'reading a control action: %s\n' "$1" >&2
  exit 1
}

read_members "$(cat)"
decision=
while IFS=$'\t' read -r path value; do
  case $path in
    1) continue ;;
    1/action | 1/feedback | 1/message | 1/by | 1/to) [ "$value" = '""' ] && continue ;;
    1/delay) awk -v d="$value" 'BEGIN { exit !(d == 0) }' && continue ;;
    *) refuse "the parameter ${path#1/} is unknown" ;;
  esac
  decision="$decision${decision:+,}\"${path#1/}\":$value"
done <<<"${all:1:${#all}-2}"
of /action && action=$REPLY
of /delay 0 && delay=$REPLY
of /to '""' && to=$REPLY
case $action in
  '"retry"' | '"continue"' | '"skip"' | '"deny"' | '"fail"' | '"abort"' | '"suspend"' | '"escalate"') ;;
  *) refuse "action is ${action:-missing}, must be one of retry, continue, skip, deny, fail, abort, suspend, escalate" ;;
esac
awk -v d="$delay" 'BEGIN { exit !(d >= 0 && d <= 86400) }' || refuse "delay is $delay, must be from 0 to 86400 seconds"
[ "$action" = '"retry"' ] || awk -v d="$delay" 'BEGIN { exit d > 0 }' || refuse "delay has no effect for $action, only for retry"
case $action$to in
  *'""') ;;
  '"escalate""parent"' | '"escalate""person"') ;;
  *) refuse "to is $to, must be parent or person, of escalate" ;;
esac
[ "$action$to" = '"escalate"""' ] && decision="$decision,\"to\":\"person\""
printf '{%s,"control":{%s}}\n' "$decision" "$decision"
