#!/usr/bin/env bash
# What stands around `playhouse serve` in production: the files of docs/serving, with ports and certificates of here: nginx
# and Caddy before a server, and the unit of systemd.
#     tests/third_party/serve/proxy/run.sh PLAYHOUSE CACHE
set -euo pipefail
. "$(dirname "$0")/../common.sh"
files=$(cd "$here/../../../../docs/serving" && pwd)
export XDG_DATA_HOME="$scratch/data" XDG_CONFIG_HOME="$scratch/config"

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=desk.example \
    -addext subjectAltName=DNS:desk.example -keyout key.pem -out certificate.pem 2>/dev/null
token=$("$playhouse" serve token new ida 2>/dev/null)
read -r plain port < <(python3 "$here/../../free_ports.py" 2)

# Each proxy has a server of its own, so that limits begin anew: `before NAME COMMAND…`.
before() {
    local name=$1 proxy
    shift
    "$@" >"$name.log" 2>&1 &
    proxy=$!
    for _ in $(seq 100); do
        curl -sk "https://127.0.0.1:$port/" -H 'Host: desk.example' -o /dev/null && break
        sleep 0.1
    done
    echo "-- $name"
    python3 client.py "$port" certificate.pem "$token" | tee results || true
    count results
    grep -q ', 0 failed' results || cat "$name.log"
    kill "$proxy" || true
    wait "$proxy" || true
    kill "$server"
    wait "$server" || true
    rm address
}

serve desk.md --model script:desk.jsonl
sed -e "s/127\.0\.0\.1:7171/${url#http://}/" -e "s/listen \[::\]:.*//" \
    -e "s/listen 80;/listen 127.0.0.1:$plain;/" -e "s/listen 443/listen 127.0.0.1:$port/" \
    -e "s|/etc/letsencrypt.*fullchain.pem|$scratch/certificate.pem|" -e "s|/etc/letsencrypt.*privkey.pem|$scratch/key.pem|" \
    "$files/nginx.conf" >desk.conf
mkdir nginx
for kind in body proxy fastcgi uwsgi scgi; do
    paths+="${kind/body/client_body}_temp_path $scratch/nginx/$kind; "
done
echo "user $(id -un) $(id -gn); pid $scratch/nginx/pid; error_log stderr; events {} http { access_log off; $paths include $scratch/desk.conf; }" >nginx.conf
before nginx nginx -p "$scratch/nginx" -c "$scratch/nginx.conf" -g 'daemon off;'

serve desk.md --model script:desk.jsonl
{
    printf '{\n\tadmin off\n\thttp_port %s\n\thttps_port %s\n\tskip_install_trust\n}\n' "$plain" "$port"
    sed -e "s/127\.0\.0\.1:7171/${url#http://}/" -e "s|# tls .*|tls $scratch/certificate.pem $scratch/key.pem|" "$files/Caddyfile"
} >Caddyfile
before caddy caddy run --config Caddyfile
server=

# The unit: every line of it is known, and it is as closed as it says.
echo "-- systemd"
sed "s|/usr/local/bin/playhouse|$playhouse|" "$files/playhouse.service" >playhouse.service
if told=$(systemd-analyze verify ./playhouse.service 2>&1) && [ -z "$told" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAILED: systemd-analyze verify: $told"
fi
if systemd-analyze security --no-pager --offline=true --threshold=20 ./playhouse.service >security 2>&1; then
    passed=$((passed + 1))
    tail -n 1 security
else
    failed=$((failed + 1))
    cat security
fi
conclude
