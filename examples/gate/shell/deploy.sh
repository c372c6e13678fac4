#!/usr/bin/env bash
# Deploys a build once a person has approved it: ./deploy.sh build-7
set -euo pipefail
source "$(dirname "$0")/gate.sh"
build=$1

# Stands for your deployment: adds a line to a file. It gets the approved input as JSON: a person may have edited it.
deploy() {
  echo "$1" >>"${DEPLOYED:-deployed.txt}"
  if [ -n "${CRASH:-}" ]; then kill -9 $$; fi
}

gate_ask "{\"tool\":\"deploy\",\"key\":\"$build\",\"input\":{\"build\":\"$build\",\"to\":\"production\"},\"title\":\"Deploy $build\",\"wait\":50}"
case $GATE_STATUS in
  approved) ;;
  done) echo "$build was deployed before."; exit 0 ;;
  *) echo "Not deployed: the call is $GATE_STATUS."; exit 1 ;;
esac
gate_start "${LEASE:-600}" || { echo "Not deployed: the start was not granted."; exit 1; }
if deploy "$GATE_INPUT"; then
  gate_done true
  echo "$build is deployed."
else
  gate_failed "The deployment failed"
  exit 1
fi
