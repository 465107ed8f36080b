#!/bin/sh
#DUCKROW --timeout 1h --signal USR2@2m
# A job that is longer than its time limit: warned, it saves its step and asks to be put back (exit 75).
#   duckrow submit examples/checkpoint.sh
step=$(cat "$DUCKROW_RUN_DIR/step" 2>/dev/null || echo 0)
trap 'echo "$step" > "$DUCKROW_RUN_DIR/step"; exit 75' USR2
while [ "$step" -lt "${STEPS:-10000}" ]; do
    sleep "${STEP_S:-1}" # a training step
    step=$((step + 1))
done
echo "all $step steps done"
