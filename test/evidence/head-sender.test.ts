import { createHash } from 'node:crypto'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { WitnessSettings } from '../../src/config/settings.js'
import { headSending, type KeeperStatus } from '../../src/evidence/witness/head-sender.js'
import { encodeQuery, requireStamp } from '../../src/evidence/witness/timestamps.js'
import { listenOn } from '../../src/runtime/listen.js'
import { openCheckpoint } from '../../src/transparency/checkpoint.js'
import { formatVerifierKey } from '../../src/transparency/signed-note.js'
import { useTempFolder } from '../data/temp-folder.js'
import { findClosedAddress } from '../support/free-port.js'
import { TestLog } from '../support/test-log.js'
import { openTestWitness, witnessKey } from '../support/test-witness.js'
import { createAuthority } from '../support/time-stamp-authority.js'

const folder = useTempFolder()
let log: TestLog
let journal: string
const opened: { close(): void | Promise<void> }[] = []

beforeEach(() => {
  log = new TestLog().grow(300)
  journal = folder.file('journal')
  log.write(journal)
})
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

function openSender(...witnesses: readonly WitnessSettings[]) {
  const sender = headSending.create({ folder: journal, witnesses })
  opened.push(sender)
  return sender
}

async function openWitness(): Promise<WitnessSettings> {
  const server = await openTestWitness({
    folder: folder.path,
    logs: [log.verifierKey],
  })
  opened.push(server)
  return { kind: 'witness', url: server.url, key: formatVerifierKey(witnessKey) }
}

const send = async (sender: ReturnType<typeof openSender>): Promise<KeeperStatus> => {
  const [status] = await sender.handle({ waitMs: 5_000 })
  if (status === undefined) throw new Error('there is no witness')
  return status
}

/** Waits until the keeper has been asked, also one that is not waited for. */
async function sendUntil(
  sender: ReturnType<typeof openSender>,
  isDone: (status: KeeperStatus) => boolean,
): Promise<KeeperStatus> {
  for (;;) {
    const status = await send(sender)
    if (isDone(status)) return status
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A copy of the journal folder, to be put back. */
const copyJournal = () => cpSync(journal, folder.file('copy'), { recursive: true })
function putBack(): void {
  rmSync(journal, { recursive: true })
  cpSync(folder.file('copy'), journal, { recursive: true })
}

async function openHttp(
  answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void,
): Promise<string> {
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    answer(request, Buffer.concat(chunks), response)
  })
  const listener = await listenOn(server, { host: '127.0.0.1', port: 0 })
  opened.push({
    close: () => {
      server.closeAllConnections()
      return listener.close()
    },
  })
  return listener.url
}

describe('a C2SP witness', () => {
  it('is sent each head with a proof, and its cosignature is kept', async () => {
    const sender = openSender(await openWitness())
    expect(await send(sender)).toMatchObject({ size: 300, failures: 0, isConflict: false })
    for (const count of [1, 211, 1, 500]) {
      log.grow(count).write(journal)
      expect(await send(sender)).toMatchObject({ size: log.size, failures: 0 })
      const cosigned = readFileSync(join(journal, 'tree/cosigned'), 'utf8')
      const opened = openCheckpoint(cosigned, log.key, [witnessKey])
      expect([opened.size, opened.signatures.length]).toEqual([log.size, 2])
    }
  })

  it('is asked what it has by one that does not know', async () => {
    const witness = await openWitness()
    await send(openSender(witness))
    log.grow(7).write(journal)
    expect(await send(openSender(witness))).toMatchObject({ size: 307, failures: 0 })
  })

  it('finds out that the folder was rolled back', async () => {
    const witness = await openWitness()
    copyJournal()
    log.grow(40).write(journal)
    const sender = openSender(witness)
    await send(sender)
    putBack()
    const conflict = { size: 340, isConflict: true }
    // The sender that saw the larger head itself, and one after a restart.
    expect(await send(sender)).toMatchObject(conflict)
    const status = await send(openSender(witness))
    expect(status).toMatchObject(conflict)
    expect(status.problem).toBe(
      'has a head of 340 records, but the journal has signed 300: it was rolled back, as by an old copy of its folder',
    )
  })

  it('finds out that a journal went on after it was rolled back', async () => {
    const witness = await openWitness()
    log.grow(40).write(journal)
    await send(openSender(witness))
    for (const count of [40, 90]) {
      rmSync(join(journal, 'tree'), { recursive: true })
      new TestLog().grow(300).grow(count, 'fork').write(journal)
      const status = await send(openSender(witness))
      expect(status).toMatchObject({ size: 340, isConflict: true })
      expect(status.problem).toContain('has another past of the journal at 340 records')
    }
  })

  it('is sent nothing more then', async () => {
    let requests = 0
    const url = await openHttp((_request, _body, response) => {
      requests += 1
      response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('9999\n')
    })
    const sender = openSender({ kind: 'witness', url, key: formatVerifierKey(witnessKey) })
    expect(await send(sender)).toMatchObject({ isConflict: true, size: 9999 })
    log.grow(1).write(journal)
    expect(await send(sender)).toMatchObject({ isConflict: true })
    expect(requests).toBe(1)
  })

  it('must sign with its key', async () => {
    const { url } = (await openWitness()) as { url: string }
    const other = formatVerifierKey({ ...witnessKey, publicKey: Buffer.alloc(32, 1) })
    const status = await send(openSender({ kind: 'witness', url, key: other }))
    expect(status).toMatchObject({ failures: 1, size: undefined, isConflict: false })
    expect(status.problem).toContain('is not signed with the key of witness.example.com/w1')
  })

  it('is no reason for an alarm when it is away, wrong or endless', async () => {
    const key = formatVerifierKey(witnessKey)
    const urls = [
      await findClosedAddress(),
      await openHttp((_request, _body, response) => response.writeHead(503).end('later')),
      await openHttp((_request, _body, response) => response.writeHead(409).end('many\n')),
      await openHttp((_request, _body, response) => response.writeHead(409).end('3\n')),
      await openHttp((_request, _body, response) => response.end(Buffer.alloc(100_000))),
      await openHttp((_request, _body, response) => response.end('\u2014 no note')),
    ]
    for (const url of urls) {
      const status = await send(openSender({ kind: 'witness', url, key }))
      expect(status).toMatchObject({ isConflict: false, failures: 1, size: undefined })
      expect(status.problem).not.toContain(url)
    }
  })

  it('that does not answer holds up no other one', async () => {
    const url = await openHttp(() => undefined)
    const slow: WitnessSettings = { kind: 'witness', url, key: formatVerifierKey(witnessKey) }
    const sender = openSender(slow, await openWitness())
    for (const count of [0, 5]) {
      log.grow(count).write(journal)
      const statuses = await sender.handle({ waitMs: 300 })
      expect(statuses.map(({ size }) => size)).toEqual([undefined, log.size])
    }
  })

  it('has the last head, also when it was busy with the one before', async () => {
    const witness = await openTestWitness({ folder: folder.path, logs: [log.verifierKey] })
    opened.push(witness)
    const bodies: string[] = []
    let allow = () => {}
    const isAllowed = new Promise<void>((resolve) => {
      allow = resolve
    })
    const url = await openHttp(async (_, body, response) => {
      bodies.push(body.toString())
      await isAllowed
      const answer = await fetch(`${witness.url}/add-checkpoint`, {
        method: 'POST',
        headers: { connection: 'close' },
        body: body.toString(),
      })
      response.writeHead(answer.status).end(await answer.text())
    })
    const sender = openSender({ kind: 'witness', url, key: formatVerifierKey(witnessKey) })
    await sender.handle({ waitMs: 0 })
    await expect.poll(() => bodies.length).toBe(1)
    log.grow(5).write(journal)
    const last = send(sender)
    allow()
    expect(await last).toMatchObject({ size: 305, problem: undefined })
    expect(bodies).toHaveLength(2)
  })

  it('is not blamed for tiles that are damaged', async () => {
    const sender = openSender(await openWitness())
    await send(sender)
    log.grow(3).write(journal)
    rmSync(join(journal, 'tree/tile/0/001.p/47'))
    expect(await send(sender)).toMatchObject({ isConflict: false, failures: 1 })
    writeFileSync(join(journal, 'tree/tile/0/001.p/47'), Buffer.alloc(47 * 32))
    expect(await send(openSender(await openWitness()))).toMatchObject({
      isConflict: false,
      failures: 1,
    })
  })
})

describe('a file on another volume', () => {
  const path = () => folder.file('heads.txt')
  const file = (): WitnessSettings => ({ kind: 'file', path: path() })

  it('gets each head once', async () => {
    const sender = openSender(file())
    await send(sender)
    log.grow(9).write(journal)
    await send(sender)
    await send(openSender(file()))
    const sizes = readFileSync(path(), 'utf8').match(/^\d+$/gm)
    expect(sizes).toEqual(['300', '309'])
  })

  it('names its newest head where the journal was rolled back below several', async () => {
    copyJournal()
    const sender = openSender(file())
    for (const count of [3, 5]) {
      log.grow(count).write(journal)
      await send(sender)
    }
    putBack()
    const status = await send(openSender(file()))
    expect(status).toMatchObject({ isConflict: true, size: 308 })
    expect(status.problem).toContain('has a head of 308 records, but the journal has signed 300')
  })

  it('goes on after an append that was cut off', async () => {
    await send(openSender(file()))
    const whole = readFileSync(path(), 'utf8')
    for (let cut = 0; cut < whole.length; cut += 7) {
      writeFileSync(path(), whole + whole.slice(0, cut))
      log.grow(1).write(journal)
      expect(await send(openSender(file()))).toMatchObject({ size: log.size, failures: 0 })
      // The head that was added is found, or it would be added again.
      const { length } = readFileSync(path())
      await send(openSender(file()))
      expect(readFileSync(path()).length).toBe(length)
    }
  })

  it('finds out that the folder was rolled back, or went on otherwise', async () => {
    copyJournal()
    log.grow(40).write(journal)
    await send(openSender(file()))
    putBack()
    expect(await send(openSender(file()))).toMatchObject({ size: 340, isConflict: true })
    rmSync(join(journal, 'tree'), { recursive: true })
    new TestLog().grow(300).grow(50, 'fork').write(journal)
    expect(await send(openSender(file()))).toMatchObject({ size: 340, isConflict: true })
  })

  it('is not made in a folder that is missing, where the volume may not be mounted', async () => {
    const status = await send(openSender({ kind: 'file', path: folder.file('volume/heads.txt') }))
    expect(status).toMatchObject({ failures: 1, isConflict: false })
    expect(status.problem).toContain('ENOENT')
  })

  it('that was changed is reported', async () => {
    await send(openSender(file()))
    const forged = new TestLog(log.origin, 9).grow(300)
    writeFileSync(path(), `${forged.sign()}\n`)
    const status = await send(openSender(file()))
    expect(status).toMatchObject({ failures: 1, isConflict: false })
    expect(status.problem).toContain('is not signed by')
  })
})

describe('a webhook', () => {
  it('gets the signed head, and must answer with success', async () => {
    const bodies: string[] = []
    let status = 500
    const url = await openHttp((_request, body, response) => {
      bodies.push(body.toString())
      response.writeHead(status).end()
    })
    const sender = openSender({ kind: 'webhook', url: `${url}/secret-path` })
    const failed = await sendUntil(sender, ({ failures }) => failures > 0)
    expect(failed.name).not.toContain('secret')
    status = 204
    expect(await sendUntil(sender, ({ size }) => size === 300)).toMatchObject({ failures: 0 })
    expect(bodies.at(-1)).toBe(log.sign())
  })
})

describe('a time-stamp authority', () => {
  const stamps = () => readdirSync(join(journal, 'tree/timestamps')).sort()

  it('stamps the head, so that openssl accepts it', async () => {
    const authority = createAuthority(folder.file('tsa'))
    const types: unknown[] = []
    const url = await openHttp((request, body, response) => {
      types.push(request.headers['content-type'])
      response.setHeader('content-type', 'application/timestamp-reply').end(authority.stamp(body))
    })
    const settings: WitnessSettings = { kind: 'timestamp', url, every: 'hourly' }
    const sender = openSender(settings)
    const status = await sendUntil(sender, ({ size }) => size === 300)
    expect(status.answeredAt).toBeDefined()
    expect(types).toEqual(['application/timestamp-query'])
    const [checkpoint = '', stamp = ''] = stamps().map((name) =>
      join(journal, 'tree/timestamps', name),
    )
    expect(stamp).toMatch(/\/300-20\d\d-\d\d-\d\dT\S+Z-127\.0\.0\.1_\d+\.tsr$/)
    expect(readFileSync(checkpoint, 'utf8')).toBe(log.sign())
    const verify = (data: string) =>
      authority.openssl('ts', '-verify', '-data', data, '-in', stamp, '-CAfile', authority.ca)
    expect(verify(checkpoint).toString()).toContain('Verification: OK')
    const other = folder.write('other', 'something else')
    expect(() => verify(other)).toThrow('message imprint mismatch')
    // Within the hour there is no other one, also after a restart.
    log.grow(1).write(journal)
    await sendUntil(sender, ({ size }) => size === 301)
    await sendUntil(openSender(settings), ({ size }) => size === 301)
    expect(types).toHaveLength(1)
  })

  it('is refused when it stamps something else, or answers another request', () => {
    const { stamp } = createAuthority(folder.file('tsa'))
    const hash = createHash('sha256').update('head').digest()
    const nonce = Buffer.from('4000000000000001', 'hex')
    const answer = stamp(encodeQuery(hash, nonce))
    requireStamp(answer, hash, nonce)
    const otherHash = createHash('sha256').update('other').digest()
    expect(() => requireStamp(answer, otherHash, nonce)).toThrow('is of something else')
    const otherNonce = Buffer.from('4000000000000002', 'hex')
    expect(() => requireStamp(answer, hash, otherNonce)).toThrow('answers another request')
    const refusal = Buffer.from('30053003020102', 'hex')
    expect(() => requireStamp(refusal, hash, nonce)).toThrow('refuses: status 02')
    for (let length = 0; length < answer.length; length += 1) {
      expect(() => requireStamp(answer.subarray(0, length), hash, nonce)).toThrow()
    }
  })

  it('that fails is asked again, and nothing is kept', async () => {
    const url = await openHttp((_request, _body, response) => response.end('<html>'))
    const sender = openSender({ kind: 'timestamp', url, every: 'daily' })
    const status = await sendUntil(sender, ({ failures }) => failures > 0)
    expect(status.problem).toBe('the answer of the authority is no time stamp')
    expect(() => stamps()).toThrow('ENOENT')
  })
})

describe('a sender of heads', () => {
  it('waits for the first head', async () => {
    rmSync(journal, { recursive: true })
    const sender = openSender(await openWitness())
    expect(await send(sender)).toMatchObject({ size: undefined, failures: 0 })
    log.write(journal)
    expect(await send(sender)).toMatchObject({ size: 300 })
  })

  it('refuses a head that its own key has not signed', async () => {
    const sender = openSender(await openWitness())
    const forged = new TestLog(log.origin, 9).grow(300)
    writeFileSync(join(journal, 'tree/checkpoint'), forged.sign())
    await expect(send(sender)).rejects.toThrow('the checkpoint is not signed by')
  })

  it('gives two of the same name different ones', async () => {
    const one: WitnessSettings = { kind: 'file', path: folder.file('heads.txt') }
    const statuses = await openSender(one, one).handle({ waitMs: 0 })
    expect(new Set(statuses.map(({ name }) => name)).size).toBe(2)
  })
})
