# The gate of a Countersign server, for bash with curl: source this file. Needs COUNTERSIGN_URL and COUNTERSIGN_TOKEN.
#
#   gate_ask  BODY             asks with this JSON, waits for the decision, and sets GATE_STATUS and GATE_RUN
#   gate_start [LEASE]         gets the start of an approved call, once, and sets GATE_TOKEN and GATE_INPUT; fails if refused
#   gate_done  OUTPUT          reports the output, which is JSON
#   gate_failed TEXT           reports that the call failed

# Prints a string field of the JSON object on standard input.
gate_field() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }

# Every request of the gate may be repeated, so curl repeats those that are not answered.
gate_send() { # METHOD PATH [BODY]
  # The token is passed on standard input: other users of this machine can read command lines.
  printf 'header = "authorization: Bearer %s"\n' "$COUNTERSIGN_TOKEN" |
    curl --silent --show-error --fail-with-body --config - --request "$1" --max-time 90 --retry 5 --retry-connrefused \
      --header 'content-type: application/json' ${3:+--data "$3"} "$COUNTERSIGN_URL/api/v1/gate$2"
}

gate_ask() {
  GATE_ANSWER=$(gate_send POST '' "$1") || { echo "$GATE_ANSWER" >&2; return 1; }
  GATE_RUN=$(gate_field runId <<<"$GATE_ANSWER")
  echo "Waiting for a decision: $(gate_field url <<<"$GATE_ANSWER")"
  while GATE_STATUS=$(gate_field status <<<"$GATE_ANSWER"); [ "$GATE_STATUS" = pending ]; do
    GATE_ANSWER=$(gate_send GET "/$GATE_RUN?wait=50") || { echo "$GATE_ANSWER" >&2; return 1; }
  done
}

gate_start() {
  # Of this process: the same token gets the same answer again, if the first one is lost.
  GATE_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  GATE_ANSWER=$(gate_send POST "/$GATE_RUN/started" "{\"token\":\"$GATE_TOKEN\",\"lease\":${1:-600}}") || return 1
  # The input is between two fields of which the names are known.
  GATE_INPUT=${GATE_ANSWER#*\"input\":}
  GATE_INPUT=${GATE_INPUT%,\"until\":*}
}

gate_done() { gate_send POST "/$GATE_RUN/result" "{\"token\":\"$GATE_TOKEN\",\"output\":$1}" >/dev/null; }

gate_failed() {
  local text=${1//[^[:alnum:] .,:_-]/ }
  gate_send POST "/$GATE_RUN/result" "{\"token\":\"$GATE_TOKEN\",\"error\":\"$text\"}" >/dev/null
}
