# As in a container: what the agent calls the run directory lies at /run/determined.
exec unshare --map-root-user --mount sh -ec '
mount -t tmpfs none /run
mkdir /run/determined
mount --bind "$DET_RUN_DIR" /run/determined
unset PYTHONPATH
exec "$@"' sh "$@"
