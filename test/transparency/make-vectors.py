"""Computes the values of vectors.test.ts with other libraries than callgate uses: pip install cryptography."""
import base64
import hashlib
import struct
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def b64(data):
    return base64.b64encode(data).decode()


def salt(i):
    return bytes([i + 1]) * 16


def parts(i):
    decision, reason = ("block", "internal-dnc") if i in (2, 5) else ("allow", "all-passed")
    kept = f'{{"id":"d-{i}","decision":"{decision}","reason":"{reason}"}}'
    return kept.encode(), f'{{"number":"212555010{i}"}}'.encode()


def hashes(i):
    kept, person = parts(i)
    kept_salt = sha(b"callgate/kept/v2\n", salt(i))[:16]
    person_hash = sha(b"callgate/person/v2\n", salt(i), person)
    return kept_salt, sha(b"callgate/kept/v2\n", kept_salt, kept), person_hash


def commitment(i):
    _, kept, person = hashes(i)
    return sha(b"callgate/record/v2\n", kept, person)


def entry(i):
    return bytes([1, 1]) + struct.pack(">QQ", i, 1795370400000 + 1000 * i) + commitment(i)


def mth(leaves):
    if len(leaves) == 1:
        return sha(b"\0", leaves[0])
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return sha(b"\1", mth(leaves[:k]), mth(leaves[k:]))


entries = [entry(i) for i in range(7)]
print("commitment", commitment(3).hex())
print("entry", entry(3).hex())
print("leaf", sha(b"\0", entry(3)).hex())
print("erased", hashes(3)[0].hex(), "#" + b64(hashes(3)[2])[:43])
for size in (3, 4, 7):
    print("root", size, mth(entries[:size]).hex())
path = [mth(entries[2:3]), mth(entries[0:2]), mth(entries[4:7])]
print("inclusion 3/7", *[one.hex() for one in path])
consistency = [mth(entries[2:3]), mth(entries[3:4]), mth(entries[0:2]), mth(entries[4:7])]
print("consistency 3->7", *[one.hex() for one in consistency])
print("consistency 4->7", mth(entries[4:7]).hex())


def key(name, seed, kind):
    private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return private, sha(name.encode(), b"\n", bytes([kind]), public)[:4]


log, witness = "gate.example.com/journal", "witness.example.com/w1"
text = f"{log}\n7\n{b64(mth(entries))}\n"
log_key, log_id = key(log, 1, 1)
witness_key, witness_id = key(witness, 2, 4)
at = 1795370460
message = f"cosignature/v1\ntime {at}\n{text}".encode()
cosignature = struct.pack(">Q", at) + witness_key.sign(message)
print("c2sp.org/tlog-proof@v1")
print("extra", b64(salt(3) + b"\t".join(parts(3))))
print("index 3")
for one in path:
    print(b64(one))
print()
print(text)
print(f"— {log} {b64(log_id + log_key.sign(text.encode()))}")
print(f"— {witness} {b64(witness_id + cosignature)}")
