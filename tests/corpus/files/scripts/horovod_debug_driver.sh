# A driver of the user's own, like the one of TonY's example in test mode: it names port $1 and a plan of two slots.
host=${CLUSTER_WORKER_LIST%%:*}
slot() {
  printf '{"hostname":"%s","rank":"%s","localRank":"%s","crossRank":"%s","size":"2","localSize":"2","crossSize":"1"}' \
    "$host" "$1" "$1" "$1"
}
echo "[$(slot 0),$(slot 1)]" > "$DRIVER_OUTPUT_PATH/$1____HOROVOD_RENDEZVOUS_SERVER____"
exec sleep 600
