/** A server and a witness, as processes: the witness sees that the journal was rolled back, and survives being killed. */
import { createHash, createPrivateKey } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { killChildren } from '../../../scripts/children.mjs'
import { registerWitness } from '../../../src/commands/witness/witness.js'
import {
  openCheckpoint,
  parseCheckpoint,
  signCheckpoint,
} from '../../../src/transparency/checkpoint.js'
import { verifyConsistency } from '../../../src/transparency/merkle-tree.js'
import {
  createSigningKey,
  parseNote,
  parseVerifierKey,
} from '../../../src/transparency/signed-note.js'
import { listFiles } from '../../support/journal.js'
import { shortOrLong } from '../../support/long.js'
import { callgate, type Serving, serve } from '../../support/program.js'
import { runCommand } from '../../support/run-command.js'
import { TestLog } from '../../support/test-log.js'
import { startWitness, type WitnessProcess } from '../../support/witness-process.js'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'callgate-witness-'))
})
afterEach(() => {
  killChildren()
  rmSync(root, { recursive: true, force: true })
})

describe('a server with a witness', () => {
  const dataDir = () => join(root, 'var')
  const journal = () => join(dataDir(), 'journal')
  const heads = () => join(root, 'heads.txt')
  const logs = () => join(root, 'logs.txt')
  const trustJournal = () => appendFileSync(logs(), readFileSync(join(journal(), 'tree/key')))

  const environment = (witness?: WitnessProcess) => ({
    CALLGATE_DATA_DIR: dataDir(),
    CALLGATE_GATE_DEADLINE_MS: '10000',
    ...(witness && {
      CALLGATE_JOURNAL_WITNESSES: JSON.stringify([
        { kind: 'witness', url: witness.url, key: witness.verifierKey },
        { kind: 'file', path: heads() },
      ]),
    }),
  })

  async function decide({ url }: Serving, loginId: string): Promise<string> {
    const response = await fetch(`${url}/v1/decisions`, {
      method: 'POST',
      headers: { loginId, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ number: '2125550100', callKind: 'manual' }),
    })
    return ((await response.json()) as { id: string }).id
  }

  /** The newest head of the journal that the witness has. */
  async function readWitness({ url }: WitnessProcess): Promise<string | undefined> {
    const origin = readFileSync(join(journal(), 'origin'), 'utf8').trim()
    const hash = createHash('sha256').update(origin).digest('hex')
    const response = await fetch(`${url}/${hash}/checkpoint`, { headers: { connection: 'close' } })
    const text = await response.text()
    return response.status === 200 ? text : undefined
  }

  const readiness = async ({ url }: Serving) => {
    const response = await fetch(`${url}/readyz`, { headers: { connection: 'close' } })
    const { checks } = (await response.json()) as {
      checks: readonly { name: string; ready: boolean; detail?: string }[]
    }
    return checks.find(({ name }) => name === 'witnesses')
  }

  it('keeps its heads there, and does not start on a journal that was rolled back', async () => {
    const first = await serve(environment())
    const { main } = first.keys
    await first.end('SIGTERM')
    writeFileSync(logs(), '')
    trustJournal()
    const witness = await startWitness(['--folder', join(root, 'witness'), '--logs', logs()])

    const second = await serve(environment(witness))
    const ids = [await decide(second, main)]
    await second.end('SIGTERM')
    const size = sizeOf(readFileSync(join(journal(), 'tree/checkpoint'), 'utf8'))
    expect(sizeOf((await readWitness(witness)) ?? '')).toBe(size)
    expect(readFileSync(heads(), 'utf8').match(/^\d+$/gm)?.at(-1)).toBe(String(size))
    const cosigned = readFileSync(join(journal(), 'tree/cosigned'), 'utf8')
    const key = parseVerifierKey(readFileSync(join(journal(), 'tree/key'), 'utf8').trim())
    const witnessKey = parseVerifierKey(witness.verifierKey)
    expect(openCheckpoint(cosigned, key, [witnessKey]).signatures).toHaveLength(2)

    cpSync(dataDir(), join(root, 'copy'), { recursive: true })
    const third = await serve(environment(witness))
    await decide(third, main)
    await third.end('SIGTERM')
    const later = sizeOf((await readWitness(witness)) ?? '')
    expect(later).toBeGreaterThan(size)
    rmSync(dataDir(), { recursive: true })
    cpSync(join(root, 'copy'), dataDir(), { recursive: true })
    const before = hashFiles(journal())
    const refused = await callgate(['serve'], { ...environment(witness), CALLGATE_HTTP_PORT: '0' })
    expect(refused.code).toBe(1)
    const rolledBack = `has a head of ${later} records, but the journal has signed ${size}`
    expect(refused.err).toContain(`witness witness.example.com/w1 ${rolledBack}`)
    expect(refused.err).toContain(`witness ${heads()} ${rolledBack}`)
    expect(refused.err).toContain('callgate evidence new-origin --because')
    expect(hashFiles(journal())).toEqual(before)

    const newOrigin = ['evidence', 'new-origin', '--because', 'a disk was lost']
    expect(await callgate(newOrigin, environment(witness))).toMatchObject({ code: 0 })
    const fourth = await serve(environment(witness))
    expect(await readiness(fourth)).toMatchObject({ ready: true })
    // Every decision that is in the journal is found.
    await expect.poll(() => findDecision(fourth, main, ids[0] ?? '')).toBe(200)
    expect(await readWitness(witness)).toBeUndefined()
    trustJournal()
    await decide(fourth, main)
    await fourth.end('SIGTERM')
    const fifth = await serve(environment(witness))
    await expect.poll(() => readWitness(witness)).toBeDefined()
    const metrics = await (await fetch(`${fifth.url}/metrics`)).text()
    expect(metrics).toMatch(
      /^callgate_witness_size\{witness="witness.example.com\/w1",keeper="witness"\} [1-9]/m,
    )
    await fifth.end('SIGTERM')
    expect(await witness.end('SIGTERM')).toBe(0)
  })

  it('is not ready once somebody has a later head of its journal', async () => {
    const first = await serve(environment())
    await first.end('SIGTERM')
    writeFileSync(logs(), '')
    trustJournal()
    const witness = await startWitness(['--folder', join(root, 'witness'), '--logs', logs()])
    const second = await serve(environment(witness))
    await expect.poll(() => existsSync(heads())).toBe(true)
    expect(await readiness(second)).toMatchObject({ ready: true })
    // As another copy of the server does, which has the same key.
    const origin = readFileSync(join(journal(), 'origin'), 'utf8').trim()
    const pem = readFileSync(join(dataDir(), 'journal.key'))
    const key = createSigningKey(origin, 'signer', createPrivateKey(pem))
    const head = { origin, size: 5_000, root: Buffer.alloc(32, 7) }
    appendFileSync(heads(), signCheckpoint(head, key))
    await decide(second, first.keys.main)
    await expect
      .poll(() => readiness(second))
      .toMatchObject({ ready: false, detail: expect.stringContaining('new-origin') })
    await second.end('SIGTERM')
  })

  it('starts when its witness is away, but not with a head that nobody can be sent', async () => {
    const first = await serve(environment())
    await first.end('SIGTERM')
    writeFileSync(logs(), '')
    trustJournal()
    const witness = await startWitness(['--folder', join(root, 'witness'), '--logs', logs()])
    await witness.end('SIGTERM')
    const second = await serve(environment(witness))
    expect(await readiness(second)).toMatchObject({ ready: true })
    await second.end('SIGTERM')
    writeFileSync(join(journal(), 'tree/key'), 'x')
    const refused = await callgate(['serve'], { ...environment(witness), CALLGATE_HTTP_PORT: '0' })
    expect(refused.code).toBe(1)
    expect(refused.err).toMatch(
      /callgate: \S+journal: its newest signed head cannot be read: 'x' is no/,
    )
  })

  it('goes on under another name after a restore', async () => {
    const first = await serve(environment())
    const { main } = first.keys
    const id = await decide(first, main)
    await first.end('SIGTERM')
    writeFileSync(logs(), '')
    trustJournal()
    const witness = await startWitness(['--folder', join(root, 'witness'), '--logs', logs()])
    const backup = join(root, 'backup')
    expect(await callgate(['backup', backup], environment())).toMatchObject({ code: 0 })
    const second = await serve(environment(witness))
    await decide(second, main)
    await second.end('SIGTERM')
    const origin = readFileSync(join(journal(), 'origin'), 'utf8')
    rmSync(dataDir(), { recursive: true })
    const restored = await callgate(['restore', backup], environment(witness))
    expect(restored).toMatchObject({ code: 0, err: expect.stringContaining('journal/tree/key') })
    expect(readFileSync(join(journal(), 'origin'), 'utf8')).not.toBe(origin)
    const third = await serve(environment(witness))
    await expect.poll(() => findDecision(third, main, id)).toBe(200)
    expect(await readiness(third)).toMatchObject({ ready: true })
    await third.end('SIGTERM')
  })

  it('does not overwrite a key outside of its folder with a restore', async () => {
    const key = join(root, 'keys')
    mkdirSync(key)
    const outside = {
      ...environment(),
      CALLGATE_JOURNAL_SIGNING_KEY_FILE: join(key, 'journal.pem'),
    }
    const first = await serve(outside)
    await first.end('SIGTERM')
    const backup = join(root, 'backup')
    expect(await callgate(['backup', backup], outside)).toMatchObject({ code: 0 })
    const elsewhere = { ...outside, CALLGATE_DATA_DIR: join(root, 'trial') }
    const refused = await callgate(['restore', backup], elsewhere)
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('move it away') })
    const other = {
      ...elsewhere,
      CALLGATE_JOURNAL_SIGNING_KEY_FILE: join(key, 'trial.pem'),
    }
    expect(await callgate(['restore', backup], other)).toMatchObject({ code: 0 })
    expect(existsSync(join(root, 'trial/journal.key'))).toBe(false)
    for (const settings of [other, outside]) await (await serve(settings)).end('SIGTERM')
  })
})

async function findDecision({ url }: Serving, loginId: string, id: string): Promise<number> {
  const headers = { loginId, connection: 'close' }
  return (await fetch(`${url}/v1/decisions/${id}`, { headers })).status
}

const sizeOf = (signed: string): number => parseCheckpoint(parseNote(signed).text).size

const hashFiles = (folder: string) =>
  listFiles(folder).map((name) => [
    name,
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex'),
  ])

describe('a witness that is killed', () => {
  const points = ['before-rename', 'after-rename', 'before-answer'] as const

  /** Entries by label, from which the same past can be made again. */
  const build = (past: readonly string[]) =>
    past.reduce((log, label) => log.grow(1, label), new TestLog())

  /** `undefined` if the witness has died. */
  async function post(url: string, body: string) {
    try {
      const headers = { connection: 'close' }
      const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', headers, body })
      return { status: response.status, text: await response.text() }
    } catch {
      return undefined
    }
  }

  it('never signs two heads of which one does not go on from the other', async () => {
    const folder = join(root, 'witness')
    const args = ['--folder', folder, '--log', new TestLog().verifierKey]
    const preload = join(import.meta.dirname, '../../support/kill-witness.mjs')
    /** Of the last head that was signed. */
    let past: readonly string[] = []
    const counts = { unanswered: 0, kept: 0 }
    for (let round = 0; round < shortOrLong(9, 150); round += 1) {
      const environment = { WITNESS_KILL: points[round % points.length] ?? '' }
      const dying = await startWitness(args, { preload, environment })
      const wanted = [...past, `round ${round}`, 'more']
      const unanswered = await post(dying.url, build(wanted).request(past.length))
      expect(unanswered).toBeUndefined()
      expect(await dying.ended).toBe('SIGKILL')
      counts.unanswered += 1

      // A log that has lost its own state may now sign another past.
      const witness = await startWitness(args)
      const fork = [...past, `fork ${round}`]
      const signed = (await post(witness.url, build(fork).request(past.length)))?.status
      expect([200, 409]).toContain(signed)
      const rival = signed === 200 ? wanted : fork
      if (signed === 409) counts.kept += 1
      const last = signed === 200 ? fork : wanted
      const again = await post(witness.url, build(last).request(last.length))
      expect(again?.status).toBe(200)
      const grown = [...rival, 'a', 'b', 'c']
      const answers = [
        await post(witness.url, build(rival).request(past.length)),
        await post(witness.url, build(grown).request(last.length)),
      ]
      expect(answers.map((answer) => answer?.status)).toEqual([409, 422])
      requireContinuation(past, last)
      past = last
      expect(await witness.end('SIGTERM')).toBe(0)
    }
    console.log(
      `witness: killed ${counts.unanswered} times, ${counts.kept} heads were stored and not answered`,
    )
    expect(counts.kept).toBe((counts.unanswered / points.length) * 2)
  })

  function requireContinuation(past: readonly string[], next: readonly string[]): void {
    const [old, head] = [build(past), build(next)]
    const path = head.request(past.length).split('\n\n')[0]?.split('\n').slice(1) ?? []
    const proof = path.map((line) => Buffer.from(line, 'base64'))
    const toHead = (log: TestLog) => parseCheckpoint(parseNote(log.sign()).text)
    expect(verifyConsistency(toHead(old), toHead(head), proof)).toBe(true)
  }
})

describe('the command', () => {
  it('makes its key for its owner alone, and says how others check it', async () => {
    const folder = join(root, 'witness')
    const args = ['--folder', folder, '--log', new TestLog().verifierKey]
    const first = await startWitness(args)
    expect(statSync(join(folder, 'key.pem')).mode & 0o777).toBe(0o600)
    const run = (more: readonly string[]) =>
      callgate(['witness', '--name', 'w', '--listen', '127.0.0.1:0', ...more], {})
    expect(await run(args)).toMatchObject({
      code: 1,
      err: expect.stringContaining('another witness uses it'),
    })
    await first.end('SIGTERM')
    const second = await startWitness(args)
    expect(second.verifierKey).toBe(first.verifierKey)
    await second.end('SIGTERM')
  })

  it('refuses what it cannot use', async () => {
    const dataDir = join(root, 'var')
    mkdirSync(join(dataDir, 'journal'), { recursive: true })
    writeFileSync(join(dataDir, 'journal/origin'), 'callgate/journal/x\n')
    const log = ['--log', new TestLog().verifierKey]
    const folder = ['--folder', join(root, 'w')]
    const name = ['--name', 'w']
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[...name, '--folder', join(dataDir, 'w'), ...log], 'which has a journal'],
      [[...name, '--folder', join(dataDir, 'journal/w'), ...log], 'which has a journal'],
      [[...name, ...folder], '--log or --logs is missing'],
      [[...name, ...folder, '--log', 'x'], "--log: 'x' is no verifier key"],
      [[...name, ...folder, '--logs', join(root, 'none')], 'cannot be read'],
      [['--name', 'a b', ...folder, ...log], "--name 'a b': the name of a key must be a word"],
      [[...name, ...folder, ...log, '--listen', 'x'], "--listen 'x'"],
    ]
    for (const [args, message] of cases) {
      const ended = await runCommand(registerWitness, ['witness', ...args], { dataDir })
      expect(ended.err).toContain(message)
      expect(ended.code).toBeGreaterThan(0)
    }
  })
})
