#!/bin/sh
# Certificates for a trial: an authority, the broker, and one for each who connects to it. Needs openssl.
#
#   ./certificates.sh FOLDER BROKER [AGENT...]
#
# BROKER is the host name or the address under which clients reach the broker. What exists is kept: call it again to add an agent.
# They are valid for a year. The authority's key signs whoever may fly: for more than a trial keep ca.key on a machine of its
# own, and make each key where it is used.
set -eu

[ $# -ge 2 ] || { echo "usage: $0 FOLDER BROKER [AGENT...]" >&2; exit 1; }
folder=$1 broker=$2
shift 2
[ $# -gt 0 ] || set -- planner

umask 077
mkdir -p "$folder"
cd "$folder"

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

if [ ! -e ca.crt ]; then
  new_key ca
  openssl req -x509 -new -key ca.key -days 365 -subj "/CN=HALO trial authority" -out ca.crt \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign"
fi

# certificate NAME USE [MORE]: signed by the authority, good for one use only.
certificate() {
  [ ! -e "$1.crt" ] || return 0
  new_key "$1"
  openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
  printf '%s\n' "basicConstraints=critical,CA:FALSE" "keyUsage=critical,digitalSignature" "extendedKeyUsage=$2" "${3:-}" \
    > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
  rm "$1.csr" "$1.ext"
}

case $broker in
  *[!0-9.]*) name="DNS:$broker" ;;
  *) name="IP:$broker" ;;
esac
certificate broker serverAuth "subjectAltName=$name,DNS:localhost,IP:127.0.0.1"
for client in companion companion-agents operator ground watch "$@"; do
  certificate "$client" clientAuth
done
chmod a+r ./*.crt
