/** The formats held against values that other implementations computed (golang/mod `sumdb`, OpenSSL, Python). */
import { createHash, generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatProofFile,
  openCheckpoint,
  parseCheckpoint,
  parseProofFile,
  signCheckpoint,
  toInclusionProof,
} from '../../src/transparency/checkpoint.js'
import { commitTo, decodeEntry, encodeEntry } from '../../src/transparency/log-entry.js'
import {
  computeRoot,
  hashLeaf,
  proveConsistency,
  proveInclusion,
  type ReadNode,
  verifyConsistency,
  verifyInclusion,
} from '../../src/transparency/merkle-tree.js'
import {
  createSigningKey,
  formatNote,
  formatSignature,
  formatVerifierKey,
  NoteError,
  parseNote,
  parseVerifierKey,
  signNote,
  verifySignatures,
} from '../../src/transparency/signed-note.js'
import { seededKey } from '../support/seeded-key.js'

/** The definitions of RFC 6962, section 2.1, word for word, over all leaves: another way than that of the product. */
const sha256 = (...parts: Uint8Array[]) =>
  createHash('sha256').update(Buffer.concat(parts)).digest()
const split = (count: number) => 2 ** (Math.ceil(Math.log2(count)) - 1)
function mth(d: readonly Buffer[]): Buffer {
  if (d.length === 0) return sha256()
  if (d.length === 1) return sha256(Buffer.of(0), d[0] as Buffer)
  const k = split(d.length)
  return sha256(Buffer.of(1), mth(d.slice(0, k)), mth(d.slice(k)))
}
function pathOf(m: number, d: readonly Buffer[]): Buffer[] {
  if (d.length === 1) return []
  const k = split(d.length)
  return m < k
    ? [...pathOf(m, d.slice(0, k)), mth(d.slice(k))]
    : [...pathOf(m - k, d.slice(k)), mth(d.slice(0, k))]
}
function subproof(m: number, d: readonly Buffer[], b: boolean): Buffer[] {
  if (m === d.length) return b ? [] : [mth(d)]
  const k = split(d.length)
  return m <= k
    ? [...subproof(m, d.slice(0, k), b), mth(d.slice(k))]
    : [...subproof(m - k, d.slice(k), false), mth(d.slice(0, k))]
}

const nodesOf =
  (leaves: readonly Buffer[]): ReadNode =>
  (level, index) =>
    mth(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const publicLeaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
].map((text) => Buffer.from(text, 'hex'))

const salt = (i: number) => Buffer.alloc(16, i + 1)
const body = (i: number) => {
  const isBlock = i === 2 || i === 5
  const [decision, reason] = isBlock ? ['block', 'internal-dnc'] : ['allow', 'all-passed']
  const kept = `{"id":"d-${i}","decision":"${decision}","reason":"${reason}"}`
  return Buffer.from(`${kept}\t{"number":"212555010${i}"}`)
}
const entry = (i: number) =>
  encodeEntry({
    kind: 1,
    seq: i,
    at: 1795370400000 + 1000 * i,
    commitment: commitTo(salt(i), body(i)),
  })
const entries = Array.from({ length: 7 }, (_, i) => entry(i))

const logKey = seededKey('gate.example.com/journal', 'signer', 1)
const witnessKey = seededKey('witness.example.com/w1', 'cosigner', 2)

const proofFile = `c2sp.org/tlog-proof@v1
extra BAQEBAQEBAQEBAQEBAQEBHsiaWQiOiJkLTMiLCJkZWNpc2lvbiI6ImFsbG93IiwicmVhc29uIjoiYWxsLXBhc3NlZCJ9CXsibnVtYmVyIjoiMjEyNTU1MDEwMyJ9
index 3
kvd3LvBOV1xhPzxFwcLaMQNfrIKWff99GS3wm4jjd58=
mhLqZo/aGM0j4+olgpSoKUzh6r+zloNR9DSVfi86+pQ=
bGzK0mkKyFOP6W7jLEJQmFg8bzVSHIsoz1Oo01hJRAg=

gate.example.com/journal
7
VCm+n6rrmwhlTbiH7UP/TluiUFbZdfp6oqvMJj8piaU=

— gate.example.com/journal CdTBFD5VBLNCB0H/tdOyu00tqJa0yD1hyp7drZd6tJOzG4LnqGnMWXOCxj6C16WsRyKNf+GYTEfkuPGCZZZQD3s/jAE=
— witness.example.com/w1 dF+16AAAAABrAy3c6dO3F14vTrXMzbiS/IMs9tO6xna07HZBEfnbd+KeQTLjPil6JFEKGw4D57hLL+vQCAM0bKrAAjdmSeaoEerqAg==
`

describe('the tree', () => {
  it.each([
    [1, '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
    [2, 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
    [3, 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
    [4, 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7'],
    [7, 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
    [8, '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328'],
  ])('has the published root of %i reference leaves', (size, root) => {
    expect(hex(computeRoot(size, nodesOf(publicLeaves)))).toBe(root)
  })

  it('has the published empty root', () => {
    expect(hex(computeRoot(0, nodesOf([])))).toBe(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    )
  })

  it('has the computed roots and proofs of seven records', () => {
    expect(hex(commitTo(salt(3), body(3)))).toBe(
      '3104d1ee4392b0ce40d971cfd09ee90858903e449a2aa239a4da11b2aad69d4e',
    )
    expect(hex(entry(3))).toBe(
      '01010000000000000003000001a2046a44b83104d1ee4392b0ce40d971cfd09ee90858903e449a2aa239a4da11b2aad69d4e',
    )
    expect(hex(hashLeaf(entry(3)))).toBe(
      '996668a699ed33875d38b48da802c42f9c33b5dae6b73db43dd2a5515286f53c',
    )
    const node = nodesOf(entries)
    expect([3, 4, 7].map((size) => hex(computeRoot(size, node)))).toEqual([
      '1411835113d1d8fc6178d723ec9795079c88b504fcb658d90b8e5d76c2ef314b',
      '65b220934b8b6112df12cd35972854bf841a3b8c3004e1acfd250845c7f36da9',
      '5429be9faaeb9b08654db887ed43ff4e5ba25056d975fa7aa2abcc263f2989a5',
    ])
    expect(proveInclusion(3, 7, node).map(hex)).toEqual([
      '92f7772ef04e575c613f3c45c1c2da31035fac82967dff7d192df09b88e3779f',
      '9a12ea668fda18cd23e3ea258294a8294ce1eabfb3968351f434957e2f3afa94',
      '6c6ccad2690ac8538fe96ee32c425098583c6f35521c8b28cf53a8d358494408',
    ])
    expect(proveConsistency(3, 7, node).map((hash) => hex(hash).slice(0, 8))).toEqual([
      '92f7772e',
      '996668a6',
      '9a12ea66',
      '6c6ccad2',
    ])
    expect(proveConsistency(4, 7, node).map((hash) => hex(hash).slice(0, 8))).toEqual(['6c6ccad2'])
  })

  it('gives the proofs of the definition, and accepts them, for every pair of sizes up to 40', () => {
    const leaves = Array.from({ length: 40 }, (_, i) => Buffer.from(`leaf ${i}`))
    for (let size = 1; size <= leaves.length; size += 1) {
      const some = leaves.slice(0, size)
      const root = mth(some)
      expect(computeRoot(size, nodesOf(some))).toEqual(root)
      for (let index = 0; index < size; index += 1) {
        const path = proveInclusion(index, size, nodesOf(some))
        expect(path).toEqual(pathOf(index, some))
        const leaf = hashLeaf(leaves[index] as Buffer)
        expect(verifyInclusion(leaf, { index, size, root, path })).toBe(true)
        const old = { size: index + 1, root: mth(leaves.slice(0, index + 1)) }
        const proof = proveConsistency(old.size, size, nodesOf(some))
        expect(proof).toEqual(subproof(old.size, some, true))
        expect(verifyConsistency(old, { size, root }, proof)).toBe(true)
      }
    }
  })

  it('refuses a changed proof of either kind', () => {
    const leaves = Array.from({ length: 40 }, (_, i) => Buffer.from(`leaf ${i}`))
    const rootOf = (size: number) => mth(leaves.slice(0, size))
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 40 }),
        fc.nat(),
        fc.integer({ min: 0, max: 5 }),
        fc.nat(),
        (size, at, way, place) => {
          const index = at % size
          const node = nodesOf(leaves.slice(0, size))
          const old = (at % (size - 1)) + 1
          const mutate = (path: readonly Buffer[]): Buffer[] => {
            const some = path.map((hash) => Buffer.from(hash))
            const i = place % Math.max(1, some.length)
            const [one, next] = [some[i], some[(i + 1) % some.length]]
            if (way === 0) return [...some, Buffer.alloc(32)]
            if (way === 1) return some.slice(0, -1)
            if (way === 2 && one) one[place % 32] = (one[place % 32] ?? 0) ^ (1 << (place % 8))
            if (way === 3 && one && next) [some[i], some[(i + 1) % some.length]] = [next, one]
            return some
          }
          const path = proveInclusion(index, size, node)
          const changed = mutate(path)
          const isSame =
            changed.length === path.length && changed.every((h, i) => h.equals(path[i] as Buffer))
          const leaf = hashLeaf(leaves[index] as Buffer)
          const good = { index, size, root: rootOf(size), path }
          if (!isSame) expect(verifyInclusion(leaf, { ...good, path: changed })).toBe(false)
          if (way === 4) {
            const other = place % size
            expect(verifyInclusion(leaf, { ...good, index: other })).toBe(other === index)
          }
          if (way === 5) {
            expect(verifyInclusion(leaf, { ...good, index: size + (place % 9) })).toBe(false)
            expect(verifyInclusion(leaf, { ...good, size: size + 64 + (place % 9) })).toBe(false)
          }
          const proof = proveConsistency(old, size, node)
          const changedProof = mutate(proof)
          const isSameProof =
            changedProof.length === proof.length &&
            changedProof.every((h, i) => h.equals(proof[i] as Buffer))
          const heads = [
            { size: old, root: rootOf(old) },
            { size, root: rootOf(size) },
          ] as const
          if (!isSameProof) expect(verifyConsistency(...heads, changedProof)).toBe(false)
        },
      ),
      { numRuns: 3_000 },
    )
  })
})

describe('an entry', () => {
  it('is read as it was written, and not with another version or length', () => {
    const bytes = entry(5)
    expect(decodeEntry(bytes)).toMatchObject({ kind: 1, seq: 5, at: 1795370405000 })
    expect(decodeEntry(bytes.subarray(0, 49))).toBeUndefined()
    expect(decodeEntry(Buffer.concat([Buffer.of(2), bytes.subarray(1)]))).toBeUndefined()
  })

  it('commits to a record of any length, whatever was hashed before', () => {
    for (const length of [0, 8_156, 8_157, 8_158, 100_000, 3, 1_000_000, 0]) {
      const [salt, body] = [Buffer.alloc(16, length % 251), Buffer.alloc(length, 'record')]
      const hash = (...all: readonly (string | Buffer)[]) =>
        all.reduce((sum, one) => sum.update(one), createHash('sha256')).digest()
      const keptSalt = hash('callgate/kept/v2\n', salt).subarray(0, 16)
      const kept = hash('callgate/kept/v2\n', keptSalt, body)
      const person = hash('callgate/person/v2\n', salt)
      const expected = hash('callgate/record/v2\n', kept, person)
      expect(hex(commitTo(salt, body)), String(length)).toBe(hex(expected))
    }
  })
})

describe('notes', () => {
  it('have the computed keys', () => {
    expect(formatVerifierKey(logKey)).toBe(
      'gate.example.com/journal+09d4c114+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c',
    )
    expect(formatVerifierKey(witnessKey)).toBe(
      'witness.example.com/w1+745fb5e8+BIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU',
    )
    expect(parseVerifierKey(formatVerifierKey(witnessKey))).toMatchObject({ type: 'cosigner' })
  })

  it('accept the key of another implementation whose base64 has a plus sign', () => {
    const text = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
    expect(formatVerifierKey(parseVerifierKey(text))).toBe(text)
    const plus = seededKey('a', 'signer', 9)
    expect(parseVerifierKey(formatVerifierKey(plus)).publicKey).toEqual(plus.publicKey)
  })

  it('are not signed by other kinds of keys', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    expect(() => createSigningKey('a', 'signer', privateKey)).toThrow('must be one of Ed25519')
  })

  it('are signed and cosigned to the byte as computed elsewhere', () => {
    const checkpoint = { origin: logKey.name, size: 7, root: computeRoot(7, nodesOf(entries)) }
    const signed = signCheckpoint(checkpoint, logKey)
    const { text } = parseNote(signed)
    const cosigned = signed + formatSignature(signNote(text, witnessKey, 1795370460))
    expect(proofFile.endsWith(cosigned)).toBe(true)
    const opened = openCheckpoint(cosigned, logKey, [witnessKey])
    expect(opened).toMatchObject(checkpoint)
    expect(opened.signatures.map(({ at }) => at)).toEqual([undefined, 1795370460])
  })

  it.each<[string, (note: string) => string]>([
    ['CRLF', (note) => note.replaceAll('\n', '\r\n')],
    ['no final line feed', (note) => note.slice(0, -1)],
    ['a leading zero in the size', (note) => note.replace('\n7\n', '\n07\n')],
    ['another size', (note) => note.replace('\n7\n', '\n8\n')],
    ['another origin', (note) => note.replaceAll('gate.example', 'gaze.example')],
    ['only a signature of an unknown key', (note) => note.replace(/^— gate.*\n/m, '')],
    ['a wrong signature of a known key', (note) => note.replace('CdTBFD5V', 'CdTBFD5W')],
    [
      'a wrong cosignature',
      (note) => note.replace('AAAAAGsD', 'AAAAAGsE').replace('dF+16AAAAABrAy', 'dF+16AAAAABrAz'),
    ],
    ['no base64', (note) => note.replace('s/jAE=', 's/jA!=')],
    ['no signature at all', (note) => note.slice(0, note.indexOf('\n\n') + 2)],
    ['a plus sign in a name', (note) => note.replace('— witness.', '— wit+ness.')],
    ['a control character', (note) => note.replace('journal\n7', 'journal\u0001\n7')],
  ])('are refused with %s', (_, mutate) => {
    const note = proofFile.slice(proofFile.indexOf('\n\n') + 2)
    expect(() => openCheckpoint(note, logKey, [witnessKey])).not.toThrow()
    expect(mutate(note)).not.toBe(note)
    expect(() => openCheckpoint(mutate(note), logKey, [witnessKey])).toThrow(NoteError)
  })

  it('pass over unknown signatures, up to a bound', () => {
    const text = 'some text\n'
    const others = Array.from({ length: 17 }, (_, i) =>
      signNote(text, seededKey(`other${i}`, 'signer', i + 3)),
    )
    const note = formatNote({ text, signatures: [...others, signNote(text, logKey)] })
    expect(verifySignatures(parseNote(note), [logKey])).toHaveLength(1)
    const many = formatNote({ text, signatures: Array(101).fill(signNote(text, logKey)) })
    expect(() => parseNote(many)).toThrow('more than 100 signatures')
  })
})

describe('a proof file', () => {
  it('is read and written to the byte, and proves its record', () => {
    const proof = parseProofFile(proofFile)
    expect(formatProofFile(proof)).toBe(proofFile)
    const checkpoint = openCheckpoint(proof.checkpoint, logKey, [witnessKey])
    const { extra = Buffer.alloc(0) } = proof
    const commitment = commitTo(extra.subarray(0, 16), extra.subarray(16))
    const leaf = hashLeaf(encodeEntry({ kind: 1, seq: 3, at: 1795370403000, commitment }))
    expect(verifyInclusion(leaf, toInclusionProof(proof, checkpoint))).toBe(true)
  })

  it.each([
    ['another header', proofFile.replace('@v1', '@v2')],
    ['extra data that is no base64', proofFile.replace('extra BAQ', 'extra !AQ')],
    ['an index with a leading zero', proofFile.replace('index 3', 'index 03')],
    ['a short hash', proofFile.replace('kvd3LvBOV1xh', 'kvd3LvBO')],
    ['no checkpoint', proofFile.slice(0, proofFile.indexOf('\n\n') + 1)],
  ])('is refused with %s', (_, file) => {
    expect(() => parseProofFile(file)).toThrow(NoteError)
  })

  it('has a checkpoint that is refused without its three lines', () => {
    expect(() => parseCheckpoint('a\n1\n')).toThrow(NoteError)
    expect(() => parseCheckpoint('\n1\nAAAA\n')).toThrow(NoteError)
  })
})
