#!/usr/bin/env bash
# A campaign without a scheduler: processes.sh 8 does eight shares side by side on this machine, and merges them.
set -euo pipefail
shares=${1:-2}
seq "$shares" | xargs -P "$shares" -I{} spec-tests work campaign --item="{}/$shares"
spec-tests merge campaign
