#!/usr/bin/env bash
# `SqlQuery` against a real PostgreSQL server: installs one from Debian where it may, starts it as an ordinary user on a
# free port below a temporary folder, runs the tests, and takes both away again. The arguments are the command that runs
# tests of tests/it [default: cargo, a debug build]. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../../.."
exec </dev/null
export CARGO_TERM_COLOR=never

give_up() {
    echo "$1" >&2
    echo "0 passed, 1 failed"
    exit 1
}

find_server() {
    local folder
    folder=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
    if [ -n "$folder" ] && [ -x "$folder/initdb" ]; then
        echo "$folder"
    elif command -v initdb >/dev/null && command -v pg_ctl >/dev/null; then
        dirname "$(readlink -f "$(command -v initdb)")"
    else
        return 1
    fi
}

install_server() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q && apt-get install -q -y --no-install-recommends postgresql-common openssl || return 1
    # Without this the package would start a server of its own.
    sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
    apt-get install -q -y --no-install-recommends postgresql
}

bin=$(find_server) || { install_server && bin=$(find_server); } ||
    give_up "no PostgreSQL server: install it (apt-get install postgresql) or run this as root on Debian"
command -v openssl >/dev/null || give_up "openssl is missing, and with it the certificate that the server shows"
"$bin/postgres" --version
openssl version

# The server refuses to run as root.
as_user=()
if [ "$(id -u)" = 0 ]; then
    as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/nonexistent)
fi

folder=$(mktemp -d)
data="$folder/data"
stop() {
    "${as_user[@]}" "$bin/pg_ctl" -D "$data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap stop EXIT

(
    cd "$folder"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=authority of a test" \
        -keyout authority.key -out authority.pem
    openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout server.key -out server.csr
    echo "subjectAltName=DNS:localhost,IP:127.0.0.1" >names
    openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 \
        -extfile names -out server.pem
) >"$folder/openssl.log" 2>&1 || { cat "$folder/openssl.log" >&2; give_up "no certificate could be made"; }
echo "right-password" >"$folder/password"
chmod 600 "$folder"/*
chmod 644 "$folder/authority.pem"
[ "${#as_user[@]}" = 0 ] || chown -R nobody:nogroup "$folder"
chmod 755 "$folder"

"${as_user[@]}" "$bin/initdb" -D "$data" -U playhouse -A scram-sha-256 --pwfile="$folder/password" \
    -E UTF8 --locale=C >"$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; give_up "initdb failed"; }

# Some port is free.
port=
for _ in 1 2 3 4 5; do
    candidate=$((20000 + RANDOM % 20000))
    options="-p $candidate -c listen_addresses=127.0.0.1,127.0.0.2 -c unix_socket_directories=$folder -c fsync=off"
    options="$options -c ssl=on -c ssl_cert_file=$folder/server.pem -c ssl_key_file=$folder/server.key"
    if "${as_user[@]}" "$bin/pg_ctl" -D "$data" -w -t 30 -l "$folder/server.log" -o "$options" start >/dev/null; then
        port=$candidate
        break
    fi
done
[ -n "$port" ] || { cat "$folder/server.log" >&2; give_up "the server does not start"; }
echo "pg_hba: scram-sha-256; 127.0.0.1:$port"

export PGPASSWORD=right-password
"$bin/psql" -q -h 127.0.0.1 -p "$port" -U playhouse -d postgres \
    -c "CREATE DOMAIN positive AS int CHECK (value > 0)" -c "CREATE TYPE mood AS ENUM ('one', 'two')" ||
    give_up "the server lets nobody in"

export PLAYHOUSE_TEST_POSTGRES="postgres://playhouse:right-password@127.0.0.1:$port/postgres"
export PLAYHOUSE_TEST_POSTGRES_CERTIFICATE="$folder/authority.pem"
status=0
[ $# != 0 ] || set -- cargo test --locked --features postgres --test it
output=$("$@" -- --include-ignored resource::postgres 2>&1) || status=$?
printf '%s\n' "$output"
result=$(grep '^test result:' <<<"$output" || true)
n_passed=$(sed -n 's/.* \([0-9]*\) passed.*/\1/p' <<<"$result")
n_failed=$(sed -n 's/.* \([0-9]*\) failed.*/\1/p' <<<"$result")
[ "${n_passed:-0}" != 0 ] || [ "${n_failed:-0}" != 0 ] || give_up "no test named resource::postgres ran: look for a build error above"
echo "${n_passed:-0} passed, ${n_failed:-0} failed"
exit "$status"
