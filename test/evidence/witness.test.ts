import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWitnessKey } from '../../src/evidence/witness/witness-key.js'
import type { Listener } from '../../src/runtime/listen.js'
import { openCheckpoint, signCheckpoint } from '../../src/transparency/checkpoint.js'
import {
  formatNote,
  parseNote,
  signNote,
  verifySignatures,
} from '../../src/transparency/signed-note.js'
import { useTempFolder } from '../data/temp-folder.js'
import { openRaw } from '../fake-vendor/raw-client.js'
import { seededKey } from '../support/seeded-key.js'
import { TestLog } from '../support/test-log.js'
import { openTestWitness, witnessKey } from '../support/test-witness.js'

const folder = useTempFolder()
let log: TestLog
let server: Listener

beforeEach(async () => {
  log = new TestLog().grow(10)
  server = await openTestWitness({
    folder: folder.path,
    logs: [log.verifierKey],
    requestTimeoutMs: 300,
  })
})
afterEach(() => server.close())

interface Answer {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

async function post(body: string | Buffer): Promise<Answer> {
  const connection = await openRaw(server.url)
  const bytes = Buffer.from(body)
  const head = `POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: ${bytes.length}\r\n\r\n`
  connection.send(`${head}${bytes.toString('utf8')}`)
  const reply = await connection.reply()
  connection.close()
  return {
    status: reply.status,
    contentType: reply.headers.get('content-type') ?? '',
    text: reply.body.toString(),
  }
}

async function readHead(): Promise<Answer> {
  const response = await fetch(`${server.url}/${log.originHash}/checkpoint`)
  const contentType = response.headers.get('content-type') ?? ''
  return { status: response.status, contentType, text: await response.text() }
}

/** The cosignature in an answer of 200, of a checkpoint with this text. */
function cosigned(answer: Answer, size = log.size) {
  const { text } = parseNote(log.sign(size))
  return verifySignatures(parseNote(`${text}\n${answer.text}`), [witnessKey])
}

describe('add-checkpoint', () => {
  it('signs a first head, and heads that go on from it', async () => {
    expect(cosigned(await post(log.request(0)))).toMatchObject([{ at: 1_795_694_400 }])
    for (const size of [11, 12, 16, 17, 300, 1_000]) {
      const old = log.size
      log.grow(size - old)
      const answer = await post(log.request(old))
      expect([size, answer.status]).toEqual([size, 200])
      expect(cosigned(answer)).toHaveLength(1)
    }
  })

  it('shows the newest head with both signatures', async () => {
    expect(await readHead()).toMatchObject({ status: 404 })
    await post(log.request(0))
    const head = await readHead()
    expect(head).toMatchObject({ status: 200, contentType: 'text/plain; charset=utf-8' })
    expect(openCheckpoint(head.text, log.key, [witnessKey]).signatures).toHaveLength(2)
  })

  it('signs a head that is sent again', async () => {
    await post(log.request(0))
    expect(await post(log.request(10))).toMatchObject({ status: 200 })
  })

  it('answers 409 with its size, when another old size is named', async () => {
    const conflict = (size: number) => ({
      status: 409,
      contentType: 'text/x.tlog.size',
      text: `${size}\n`,
    })
    expect(await post(log.request(5))).toEqual(conflict(0))
    await post(log.request(0))
    log.grow(5)
    expect(await post(log.request(0))).toEqual(conflict(10))
    expect(await post(log.request(7))).toEqual(conflict(10))
    expect(await post(log.request(7, 8))).toEqual(conflict(10))
  })

  it('answers 400 to an old size above that of the checkpoint', async () => {
    expect(await post(log.request(11))).toMatchObject({ status: 400 })
  })

  it('answers 403 to other keys, and 404 to other logs', async () => {
    const impostor = seededKey(log.origin, 'signer', 9)
    const request = (checkpoint: string) => `old 0\n\n${checkpoint}`
    expect(await post(request(log.sign(10, impostor)))).toMatchObject({ status: 403 })
    const text = parseNote(log.sign()).text
    const forged = { ...signNote(text, impostor), keyId: signNote(text, log.key).keyId }
    expect(await post(request(formatNote({ text, signatures: [forged] })))).toMatchObject({
      status: 403,
    })
    const other = new TestLog('other', 1).grow(3)
    expect(await post(other.request(0))).toMatchObject({ status: 404 })
    expect(await readHead()).toMatchObject({ status: 404 })
  })

  it('answers 422 to a proof that fails, and to another tree of the same size', async () => {
    await post(log.request(0))
    const fork = new TestLog().grow(9).grow(1, 'fork')
    expect(await post(`old 10\n\n${fork.sign()}`)).toMatchObject({ status: 422 })
    fork.grow(5, 'fork')
    expect(await post(fork.request(10))).toMatchObject({ status: 422 })
    log.grow(5)
    const lines = log.request(10).split('\n')
    expect(await post(lines.toSpliced(1, 1).join('\n'))).toMatchObject({ status: 422 })
    const twice = lines.toSpliced(1, 0, lines[1] ?? '')
    expect(await post(twice.join('\n'))).toMatchObject({ status: 422 })
    const { size } = openCheckpoint((await readHead()).text, log.key)
    expect(size).toBe(10)
  })

  it('answers 422 to a proof with old size 0, and to an empty tree with a wrong root', async () => {
    const hash = Buffer.alloc(32, 7).toString('base64')
    expect(await post(`old 0\n${hash}\n\n${log.sign()}`)).toMatchObject({ status: 422 })
    const empty = { origin: log.origin, size: 0, root: Buffer.alloc(32, 7) }
    const wrong = signCheckpoint(empty, log.key)
    expect(await post(`old 0\n\n${wrong}`)).toMatchObject({ status: 422 })
    expect(await post(`old 0\n\n${log.sign(0)}`)).toMatchObject({ status: 200 })
    expect(await post(log.request(0))).toMatchObject({ status: 200 })
  })

  it('refuses mutated requests, and changes nothing', async () => {
    await post(log.request(0))
    const before = (await readHead()).text
    log.grow(7)
    const good = Buffer.from(log.request(10))
    for (let at = 0; at < good.length; at += 1) {
      const bad = Buffer.from(good)
      bad.writeUInt8((bad[at] ?? 0) ^ 1, at)
      const { status } = await post(bad.toString('utf8'))
      // A base64 letter at the end of a signature line may say the same in another form, which is refused as well.
      expect([at, [400, 403, 404, 409, 422].includes(status)]).toEqual([at, true])
    }
    for (const text of [
      '',
      'old 10',
      'old 010\n\n',
      'old -1\n\n',
      'old 1e1\n\n',
      '\n\n',
      'x\n\ny',
    ]) {
      expect(await post(text)).toMatchObject({ status: 400 })
    }
    const crlf = log.request(10).replaceAll('\n', '\r\n')
    expect(await post(crlf)).toMatchObject({ status: 400 })
    expect((await readHead()).text).toBe(before)
    expect(await post(good)).toMatchObject({ status: 200 })
  })

  it('lets one of two that come at once win', async () => {
    await post(log.request(0))
    const forks = ['one', 'other'].map((name) => new TestLog().grow(10).grow(5, name))
    const answers = await Promise.all(forks.map((fork) => post(fork.request(10))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  it('keeps the signatures of the log alone', async () => {
    const { text, signatures } = parseNote(log.sign())
    const strange = signNote(text, seededKey('strange', 'signer', 3))
    await post(`old 0\n\n${formatNote({ text, signatures: [strange, ...signatures] })}`)
    const names = parseNote((await readHead()).text).signatures.map(({ name }) => name)
    expect(names).toEqual([log.origin, witnessKey.name])
  })

  it('goes on from what it had after a restart', async () => {
    await post(log.request(0))
    await server.close()
    server = await openTestWitness({ folder: folder.path, logs: [log.verifierKey] })
    log.grow(1)
    expect(await post(log.request(0))).toMatchObject({ status: 409, text: '10\n' })
    expect(await post(log.request(10))).toMatchObject({ status: 200 })
  })

  it('answers 500 while its head is damaged or cannot be written, and signs nothing', async () => {
    await post(log.request(0))
    const [name = ''] = readdirSync(folder.path).filter((one) => one.endsWith('.checkpoint'))
    const head = readFileSync(folder.file(name), 'utf8')
    log.grow(1)
    writeFileSync(folder.file(name), head.slice(0, 20))
    expect(await post(log.request(10))).toMatchObject({ status: 500 })
    expect(await post(log.request(0))).toMatchObject({ status: 500 })
    writeFileSync(folder.file(name), head)
    mkdirSync(folder.file(`${name}.tmp`))
    expect(await post(log.request(10))).toMatchObject({ status: 500 })
    rmSync(folder.file(`${name}.tmp`), { recursive: true })
    expect(await post(log.request(10))).toMatchObject({ status: 200 })
  })
})

describe('the HTTP server of a witness', () => {
  it('refuses a long body before it has all of it', async () => {
    const connection = await openRaw(server.url)
    connection.send(
      'POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 1000000000\r\n\r\n',
    )
    connection.send('x'.repeat(70_000))
    expect((await connection.reply()).status).toBe(413)
    expect(await connection.ended()).not.toBe('open')
    connection.close()
  })

  it('ends the connection of a client that sends too slowly', async () => {
    const connection = await openRaw(server.url)
    connection.send('POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 100\r\n\r\nold')
    expect((await connection.reply()).status).toBe(408)
    expect(await connection.ended()).not.toBe('open')
    connection.close()
    expect(await post(log.request(0))).toMatchObject({ status: 200 })
  })

  it('names other paths and methods', async () => {
    const statuses = await Promise.all(
      [
        fetch(`${server.url}/`),
        fetch(`${server.url}/add-checkpoint`),
        fetch(`${server.url}/../../etc/passwd/checkpoint`),
        fetch(`${server.url}/${log.originHash}/checkpoint`, { method: 'POST' }),
      ].map(async (one) => (await one).status),
    )
    expect(statuses).toEqual([404, 405, 404, 405])
  })
})

describe('the logs that a witness knows', () => {
  it('are read again when their file changes, and stay when it is damaged', async () => {
    const file = folder.write('logs.txt', '# none yet\n')
    const errors: unknown[] = []
    await server.close()
    server = await openTestWitness({
      folder: folder.path,
      logsFile: file,
      onError: (cause) => errors.push(cause),
    })
    expect(await post(log.request(0))).toMatchObject({ status: 404 })
    writeFileSync(file, `# of the call center\n\n${log.verifierKey}\n`)
    expect(await post(log.request(0))).toMatchObject({ status: 200 })
    writeFileSync(file, `${log.verifierKey}\nnot a key\n`)
    expect(await post(log.request(10))).toMatchObject({ status: 200 })
    expect(String(errors[0])).toContain('logs.txt: line 2:')
    writeFileSync(file, '')
    expect(await post(log.request(10))).toMatchObject({ status: 404 })
  })
})

describe('the key of a witness', () => {
  it('is made once, for its owner alone', () => {
    const path = folder.file('w.pem')
    const key = openWitnessKey(path, 'w')
    expect(openWitnessKey(path, 'w').publicKey).toEqual(key.publicKey)
    expect(readFileSync(path, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
  })

  it('must be one of Ed25519', () => {
    const path = folder.write('w.pem', 'nothing')
    expect(() => openWitnessKey(path, 'w')).toThrow(
      'w.pem: the file must have a private key of Ed25519 in PEM',
    )
  })
})
