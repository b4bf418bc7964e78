/** An authority of `openssl ts`, made for a test. */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeQuery } from '../../src/evidence/witness/timestamps.js'

/** In a new folder. */
export function createAuthority(at: string, key: readonly string[] = ['-newkey', 'rsa:2048']) {
  mkdirSync(at)
  const openssl = (...args: readonly string[]) =>
    execFileSync('openssl', args, { cwd: at, stdio: 'pipe' })
  writeFileSync(
    join(at, 'ts.cnf'),
    '[req]\ndistinguished_name=dn\nx509_extensions=ext\nprompt=no\n[dn]\nCN=Test TSA\n' +
      '[ext]\nextendedKeyUsage=critical,timeStamping\nbasicConstraints=critical,CA:true\n' +
      '[tsa]\ndefault_tsa=t\n[t]\nserial=./serial\nsigner_cert=./ca.pem\nsigner_key=./key.pem\n' +
      'signer_digest=sha256\ndefault_policy=1.2.3.4\ndigests=sha256,sha512\nordering=yes\ntsa_name=yes\n',
  )
  const request = ['req', '-x509', ...key, '-nodes', '-keyout', 'key.pem']
  openssl(...request, '-out', 'ca.pem', '-days', '30', '-config', 'ts.cnf')
  writeFileSync(join(at, 'serial'), '01\n')
  return {
    ca: join(at, 'ca.pem'),
    openssl,
    stamp(query: Buffer): Buffer {
      writeFileSync(join(at, 'q.tsq'), query)
      openssl('ts', '-reply', '-config', 'ts.cnf', '-queryfile', 'q.tsq', '-out', 'r.tsr')
      return readFileSync(join(at, 'r.tsr'))
    },
  }
}

/** Puts a stamp of now beside the newest head of a journal, by an authority in a new folder. */
export function stampHead(journal: string, authority: string): void {
  const head = readFileSync(join(journal, 'tree/checkpoint'))
  const stamps = join(journal, 'tree/timestamps')
  mkdirSync(stamps)
  const nonce = randomBytes(8)
  nonce[0] = 0x40
  const query = encodeQuery(createHash('sha256').update(head).digest(), nonce)
  writeFileSync(join(stamps, 'now.tsr'), createAuthority(authority).stamp(query))
  writeFileSync(join(stamps, 'now.checkpoint'), head)
}
