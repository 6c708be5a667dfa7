#!/usr/bin/env bash
# A campaign as a Slurm array: sbatch --array=1-20 slurm.sh campaign
# `spec-tests shares campaign 20 --format=slurm` prints such lines with the CPUs, GPUs and memory that the plan states.
# Each task does one share; tasks that are cut off go on where they stopped if the same command is submitted again.
# Then merge: spec-tests merge campaign
#SBATCH --job-name=spec-tests
#SBATCH --cpus-per-task=1
#SBATCH --time=24:00:00
set -euo pipefail
spec-tests work "${@:-campaign}" --item="${SLURM_ARRAY_TASK_ID}/${SLURM_ARRAY_TASK_COUNT}"
