# As in a container: a root of its own, in which the run directory lies at /run/determined and the
# storage at /determined_shared_fs, where the published harness looks for them.
exec unshare --map-root-user --mount sh -ec '
root=/mnt
mount -t tmpfs none "$root"
for each in /*; do
  if [ -L "$each" ]; then cp -P "$each" "$root"
  elif [ -d "$each" ] && [ "$each" != "$root" ] && [ "$each" != /run ]; then
    mkdir "$root$each"
    mount --rbind "$each" "$root$each"
  fi
done
mkdir -p "$root/run/determined" "$root/determined_shared_fs"
mount --bind "$DET_RUN_DIR" "$root/run/determined"
mount --bind "$DET_SHARED_FS_PATH" "$root/determined_shared_fs"
unset PYTHONPATH
PATH=$PATH:/usr/sbin  # where chroot is
exec chroot "$root" env --chdir="$PWD" "$@"' sh "$@"
