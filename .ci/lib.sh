# Shared by the scripts of this folder, which source it; it runs nothing by itself.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for those who source it
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

fail() { say "error: $*"; exit 2; }

# retry TRIES COMMAND...: registries drop a connection now and then.
retry() {
    local tries=$1 i
    shift
    for ((i = 1; i <= tries; i++)); do
        if "$@"; then return 0; fi
        if ((i < tries)); then
            say "try $i of $tries failed: $*"
            sleep $((i * 3))
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# need_packages NAME...: installs the Debian packages that are not there; asks nobody when all are.
need_packages() {
    local missing=() name
    for name in "$@"; do
        # A package may answer for several architectures; one that is installed is enough.
        # shellcheck disable=SC2016
        if ! dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed; then
            missing+=("$name")
        fi
    done
    if [ ${#missing[@]} -eq 0 ]; then return 0; fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        say "error: not root and no sudo; install these Debian packages by hand: ${missing[*]}"
        return 2
    fi
    say "installing ${missing[*]}"
    retry 4 as_root apt-get -qq -o DPkg::Lock::Timeout=120 update >&2 || return 1
    retry 4 as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -y -o DPkg::Lock::Timeout=120 --no-install-recommends install "${missing[@]}" >&2
}

# minutes SECONDS: 75 -> 1m15s
minutes() { printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); }
