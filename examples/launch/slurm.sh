#!/bin/bash
# One run on two machines of eight GPUs each:   sbatch slurm.sh
# Slurm tells JAX where the first process is, how many there are and which one each is.
#SBATCH --job-name=ostinato
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue

# The folder is on a file system that all machines see. A job that was stopped or requeued goes on.
run=${RUN:-runs/big}
settings=${SETTINGS:-settings.toml}

if [ -e "$run/config.json" ]; then
  srun ostinato train --resume --run "$run" --distributed
else
  srun ostinato train --config "$settings" --run "$run" --distributed
fi
