#!/bin/sh
# Originates a call over ARI, through the gate. An ARI user has every right: protect the dialer's user
# as well as the trunk. usage: ARI=http://127.0.0.1:8088 ARI_USER=name:secret originate-ari.sh NUMBER
set -eu
case $1 in *[!0-9]* | '') echo 'number: must be digits' >&2; exit 2 ;; esac
exec curl -sS -u "$ARI_USER" -H 'Content-Type: application/json' "$ARI/ari/channels" -d '{
  "endpoint": "Local/'"$1"'@gate/n",
  "formats": "ulaw",
  "context": "answered", "extension": "s", "priority": 1,
  "timeout": 45,
  "callerId": "2125550199",
  "variables": { "__CALL_POSTAL": "10001", "__CALL_REF": "lead-7" }
}'
