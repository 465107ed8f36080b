#!/bin/sh
# A small sweep over two devices: learning rate times batch size, eight "trainings" of a second or two.
# No GPU is needed: the two devices are named, and duckrow hands them to the jobs by CUDA_VISIBLE_DEVICES.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export DUCKROW_HOME="${DUCKROW_HOME:-$(dirname "$here")/.demo}"

for lr in 0.1 0.01 0.001 10; do
  for batch in 32 64; do
    echo "python3 '$here/train.py' --lr $lr --batch $batch"
  done
done | duckrow run --devices 0,1 --table && echo "All succeeded." || {
  code=$?
  echo
  echo "The learning rate 10 diverges on purpose, so that you see how a failure is told."
  echo "To type commands such as the one above, or duckrow ls, in this shell:"
  echo "  export DUCKROW_HOME='$DUCKROW_HOME' PATH='$(dirname "$(command -v duckrow)")':\"\$PATH\""
  [ "$code" -eq 1 ]
}
