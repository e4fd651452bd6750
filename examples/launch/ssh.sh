#!/bin/bash
# One run on some machines, by ssh:   ./ssh.sh host1 host2 host3
# The first one listens; all have the same settings, and the folder is one that all of them see.
if [ $# -eq 0 ]; then
  echo "ssh.sh: give the machines, as in ./ssh.sh host1 host2" >&2
  exit 2
fi
run=${RUN:-runs/big}
settings=${SETTINGS:-settings.toml}
port=${PORT:-12345}
what="--config '$settings'"
if [ -e "$run/config.json" ]; then what=--resume; fi

process=0
for host in "$@"; do
  place="--coordinator $1:$port --processes $# --process $process"
  ssh "$host" "cd '$PWD' && ostinato train $what --run '$run' --distributed $place" &
  process=$((process + 1))
done

failed=0
for job in $(jobs -p); do wait "$job" || failed=$?; done
exit $failed
