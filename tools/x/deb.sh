# shellcheck shell=bash
## deb                    the Debian packages, into build/deb: in a Debian as that of ./x bare they are built twice, which
##                        has to give the same bytes, looked through by lintian, installed, tried by autopkgtest,
##                        upgraded and purged; and voltgate's unit is tried where that Debian can be booted
## deb --quick            built once, here, and lintian; nothing is installed but what that needs
## deb --update           what debian/ has of the version and of src/volt.abi, written anew
cmd_deb() {
  at_most 1 "$@"
  case ${1:-} in
    '') deb_whole ;;
    --quick) deb_quick ;;
    --update)
      need python3
      python tools/debian.py --update
      ;;
    *) wrong "not an option of deb: $1" ;;
  esac
}

deb_quick() {
  need_all @deb
  python tools/debian.py
  rm -rf build/deb
  deb_build build/deb
  deb_lintian build/deb/*.changes
  ls -l build/deb/*.deb
}

# From this checkout, in DIRECTORY/volt.
deb_build() { # <directory> [option of dpkg-buildpackage]...
  local started=$SECONDS
  mkdir -p "$1/volt"
  this_checkout | tar -x --no-same-owner -C "$1/volt"
  deb_run "$1" "${@:2}"
  echo "x: deb: built in $((SECONDS - started)) s"
}

deb_run() { # <directory> [option of dpkg-buildpackage]...
  (cd "$1/volt" && dpkg-buildpackage -us -uc "${@:2}" > ../log 2>&1) || { tail -n 60 "$1/log" >&2 && exit 1; }
}

# What it says of less than warnings is shown; overrides have their reasons beside them in debian/.
deb_lintian() { # <.changes>
  local options=(--fail-on 'error,warning' --display-info --tag-display-limit 0)
  if ((EUID == 0)); then options+=(--allow-root); fi
  lintian "${options[@]}" "$1" || { echo 'x: deb: lintian is not content' >&2 && exit 1; }
  echo 'x: deb: lintian has no error and no warning'
}

deb_whole() {
  local started=$SECONDS
  bare_begin
  bare_run ./x deb --quick
  bare_run tests/bare/packages.sh build/deb
  rm -rf build/deb
  mkdir -p build
  as_root cp -R "$bare_root/home/checkout/build/deb" build/deb
  as_root rm -rf build/deb/volt
  as_root chown -R "$(id -u):$(id -g)" build/deb
  deb_booted
  echo "x: deb: all of it took $((SECONDS - started)) s"
}

# debian/tests/voltgate once more, with systemd as the first process: the root is booted as a container, with
# nothing of this machine's network, and ends with the exit code of the test.
deb_booted() {
  local code=0 reached=$bare_root/var/tmp/booted
  need systemd-container
  bare_run apt-get install -y -qq --no-install-recommends systemd-sysv dbus > /dev/null
  as_root tee "$bare_root/etc/systemd/system/trial.service" > /dev/null << 'END'
[Unit]
After=multi-user.target
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
WorkingDirectory=/home/checkout
ExecStartPre=/usr/bin/touch /var/tmp/booted
ExecStart=/bin/bash -c 'AUTOPKGTEST_TMP=$(mktemp -d) exec debian/tests/voltgate'
StandardOutput=file:/var/tmp/trial
StandardError=inherit
TimeoutStartSec=300
END
  as_root mkdir -p "$bare_root/etc/systemd/system/default.target.wants"
  as_root ln -s ../trial.service "$bare_root/etc/systemd/system/default.target.wants/"
  as_root timeout 600 systemd-nspawn --quiet --directory="$bare_root" --machine=volt-deb-$$ --boot --register=no \
    --keep-unit --private-network > "$bare_root.boot" 2>&1 < /dev/null || code=$?
  if [[ ! -e $reached ]]; then
    tail -n 20 "$bare_root.boot" >&2
    echo "x: deb: voltgate's unit is left out: the Debian does not boot here" >&2
    return
  fi
  as_root cat "$bare_root/var/tmp/trial"
  ((code == 0)) || { echo "x: deb: voltgate's unit: exit code $code" >&2 && exit 1; }
}
