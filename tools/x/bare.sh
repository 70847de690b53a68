# shellcheck shell=bash
## bare [COMMAND...]      ./x demo and ./x test, or COMMAND, in a Debian that has nothing else, made
##                        for it by mmdebstrap and removed afterwards; says what each took
cmd_bare() {
  local started=$SECONDS
  bare_begin
  if (($#)); then
    bare_run "$@"
  else
    bare_run ./x demo
    bare_run ./x test
  fi
  echo "x: bare: all of it took $((SECONDS - started)) s"
}

# Make it, as $bare_root, for as long as this shell lives.
bare_begin() {
  local started=$SECONDS
  ((EUID == 0)) || has_command sudo || give_up 'bare: neither root nor sudo' mmdebstrap util-linux
  need mmdebstrap util-linux
  bare_root=$(mktemp -d "${TMPDIR:-/var/tmp}/volt-bare.XXXXXX")
  trap bare_remove EXIT
  trap 'exit 130' INT TERM HUP
  bare_make "$bare_root"
  echo "x: bare: the root was made in $((SECONDS - started)) s, $(as_root du -shx "$bare_root" | cut -f 1)"
}

# A Debian of what every Debian has, from where this machine's packages come from; and this checkout,
# as it is, without what was built.
bare_make() { # <directory>
  local root=$1
  chmod 755 "$root"
  bare_settings > "$root.conf"
  bare_sources > "$root.list"
  [[ -s $root.list ]] || wrong 'bare: apt knows no packages of Debian here: apt-get update'
  as_root mmdebstrap --quiet --variant=minbase --aptopt="$root.conf" \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" - < "$root.list" >&2
  as_root cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  as_root mkdir "$root/home/checkout"
  this_checkout | as_root tar -x --no-same-owner -C "$root/home/checkout"
}

bare_sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
    'Origin: Debian' | sort -u
}

# How to reach them: proxies, and what is checked.
bare_settings() {
  apt-config dump | grep -E '^Acquire::(https?|Check-|Retries|ForceIP)' || true
}

# In namespaces of its own, so that no mount and no process outlives it.
bare_run() { # <command> [argument]...
  local started=$SECONDS variable kept=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
  for variable in http_proxy https_proxy no_proxy; do
    if [[ -n ${!variable:-} ]]; then kept+=("$variable=${!variable}"); fi
  done
  # shellcheck disable=SC2016 # expanded inside
  as_root unshare --mount --pid --fork --kill-child bash -c '
    root=$1
    mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
      mount --rbind /dev "$root/dev" && mount -t tmpfs tmpfs "$root/dev/shm" &&
      exec chroot "$root" env -i "${@:2}"' bare "$bare_root" "${kept[@]}" \
    bash -c 'cd /home/checkout && exec "$@"' bare "$@"
  echo "x: bare: $* took $((SECONDS - started)) s"
}

bare_remove() {
  as_root rm -rf --one-file-system "$bare_root"
  rm -f "$bare_root".{conf,list,boot}
}
