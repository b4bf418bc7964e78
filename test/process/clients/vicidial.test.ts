/**
 * VICIdial's two clients: the list filter, which posts a whole list as multipart and compares line by
 * line, and the inbound filter, which asks about one caller. Requests are sent as bytes; replies are read
 * as these programs read them: no status, columns by commas, line n for number n.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resultLetters } from '../../../src/domain/compliance.js'
import { shortOrLong } from '../../support/long.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate({ environment: { CALLGATE_LIMITS_SCRUB_PER_MINUTE: '0' } })
  await running.callgate.accounts.set('sandbox', { numbersPerScrub: 60_000 })
})

afterAll(async () => {
  await running.end()
})

const boundary = '----------------------------5f3c'

/** The bytes of one batch; empty parts are sent too, and no part has a type. */
function listFilterRequest(
  phoneList: string,
  { loginId = running.keys.sandbox, version = '3' } = {},
) {
  const parts = { loginId, version, projId: '', campaignId: '', phoneList }
  const body = Object.entries(parts)
    .map(
      ([name, value]) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    .join('')
  const whole = `${body}--${boundary}--\r\n`
  return [
    'POST /app/main/rpc/scrub HTTP/1.1',
    `Host: ${new URL(running.url).host}`,
    'Accept: */*',
    `Content-Length: ${whole.length}`,
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    'Connection: close',
    '',
    whole,
  ].join('\r\n')
}

const inboundFilterRequest = (number: string, protocol = 'HTTP/1.0') =>
  [
    `GET /app/main/rpc/scrub?version=2&loginId=${running.keys.sandbox}&phoneList=${number} ${protocol}`,
    `Host: ${new URL(running.url).host}`,
    'Connection: close',
    '',
    '',
  ].join('\r\n')

/** Body of the reply, whatever its status. */
async function bodyOf(request: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(running.url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(request)
  await new Promise((resolve, reject) => socket.once('error', reject).once('close', resolve))
  const reply = Buffer.concat(chunks).toString('latin1')
  const headEnd = reply.indexOf('\r\n\r\n')
  const head = reply.slice(0, headEnd)
  const rest = reply.slice(headEnd + 4)
  const isChunked = /^transfer-encoding: chunked$/im.test(head)
  return { status: Number(head.slice(9, 12)), body: isChunked ? dechunked(rest) : rest }
}

/** Throws for a body without its last chunk, as a client's transport does. */
function dechunked(text: string): string {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf('\r\n', at)
    const length = Number.parseInt(text.slice(at, lineEnd), 16)
    if (lineEnd < 0 || Number.isNaN(length)) throw new Error('the reply was cut short')
    if (length === 0) return body
    body += text.slice(lineEnd + 2, lineEnd + 2 + length)
    at = lineEnd + 2 + length + 2
  }
}

const letters = new Set('XCOERWGHLFVIMBPDSTY')

/** The letters of a batch; throws where the program exits. An empty body leaves every lead as it is. */
function readAsListFilter(body: string, numbers: readonly string[]): readonly string[] {
  if (body === '') throw new Error('an empty body marks the batch as done')
  const lines = body.split('\n')
  return numbers.map((number, index) => {
    const [phone, letter = ''] = (lines[index] ?? '').split(',')
    if (phone !== number) throw new Error(`the numbers do not match: ${phone} is not ${number}`)
    if (!letters.has(letter)) throw new Error(`the letter ${letter} is not known`)
    return letter
  })
}

async function filtered(numbers: readonly string[], options = {}): Promise<readonly string[]> {
  const { body } = await bodyOf(listFilterRequest(numbers.join(','), options))
  return readAsListFilter(body, numbers)
}

const fictional = (index: number) => `21255501${String(index % 20).padStart(2, '0')}`

/** How many numbers the longest batch has. */
const many = shortOrLong(20_999, 50_999)

describe('the list filter', () => {
  test('reads a letter for each number, in order, duplicates kept', async () => {
    expect(await filtered(['2125550100', '2125550103', '2125550100'])).toEqual(['C', 'D', 'C'])
  })

  test.each(['1', '2', '3', '5', '8'])('reads version %s', async (version) => {
    const numbers = Array.from({ length: 25 }, (_, index) => fictional(index))
    expect(await filtered(numbers, { version })).toHaveLength(25)
  })

  test(`reads ${many} numbers while single scrubs and decisions go on`, {
    timeout: 120_000,
  }, async () => {
    const numbers = Array.from({ length: many }, (_, index) => fictional(index * 7))
    let isDone = false
    const batch = filtered(numbers).finally(() => {
      isDone = true
    })
    let answeredBeside = 0
    while (!isDone) {
      const [scrub, decision] = await Promise.all([
        running.get('/app/main/rpc/scrub?phoneList=2125550106', running.keys.sandbox),
        running.postJson(
          '/v1/decisions',
          { number: '2125550106', callKind: 'manual' },
          running.keys.sandbox,
        ),
      ])
      expect([scrub.status, decision.status]).toEqual([200, 200])
      await Promise.all([scrub.text(), decision.json()])
      if (!isDone) answeredBeside += 1
    }
    const found = await batch
    const single = await filtered(numbers.slice(0, 20))
    expect(found).toEqual(numbers.map((_, index) => single[index % 20]))
    // Client and server share a thread here; while a list held it, nothing else would be answered.
    expect(answeredBeside).toBeGreaterThan(10)
  })

  test('two batches at once, which an account may have, are both whole', async () => {
    const length = shortOrLong(5_000, 20_000)
    const numbers = Array.from({ length }, (_, index) => fictional(index))
    const both = await Promise.all([filtered(numbers), filtered(numbers)])
    expect(both.map((letters) => letters.length)).toEqual([length, length])
  })

  test.each([
    ['more numbers than the account may send', 60_001, {}, 400],
    ['a bad key', 3, { loginId: 'x'.repeat(44) }, 401],
    ['a version that is none', 3, { version: '9' }, 400],
  ])(
    'exits at the refusal of %s, since its text is no row',
    async (_what, count, options, status) => {
      const numbers = Array.from({ length: count }, (_, index) => fictional(index))
      const reply = await bodyOf(listFilterRequest(numbers.join(','), options))
      expect(reply.status).toBe(status)
      expect(() => readAsListFilter(reply.body, numbers)).toThrow('the numbers do not match')
    },
  )

  test('line n is about number n, and a 200 is never empty, whatever the mix', async () => {
    const phone = fc.oneof(
      fc.integer({ min: 0, max: 19 }).map(fictional),
      fc.stringMatching(/^\d{1,12}$/),
      fc.stringMatching(/^[A-Za-z+() -]{1,8}\d$/).map((text) => text.trim()),
    )
    const item = fc.record({
      phone,
      id: fc.option(fc.stringMatching(/^[\w;:. -]{0,12}$/), { nil: undefined }),
      isRepeated: fc.boolean(),
    })
    const batch = fc
      .array(item, { minLength: 1, maxLength: 60 })
      .map((items) => items.flatMap((one) => (one.isRepeated ? [one, one] : [one])))
    await fc.assert(
      fc.asyncProperty(batch, async (items) => {
        const phoneList = items
          .map((one) => (one.id === undefined ? one.phone : `${one.phone}|${one.id}`))
          .join(',')
        const { status, body } = await bodyOf(listFilterRequest(phoneList))
        expect(status).toBe(200)
        expect(body.endsWith('\n')).toBe(true)
        const lines = body.slice(0, -1).split('\n')
        expect(lines.map((line) => line.split(',')[0])).toEqual(items.map((one) => one.phone))
      }),
      { numRuns: 40 },
    )
  })
})

/** Whether the caller is let in: `D` with one of two words, `P`, `I`, or what says it is no number. */
function isLetIn(number: string, { status, body }: { status: number; body: string }): boolean {
  // Any refusal is no answer, which after five tries lets the caller in.
  if (status >= 400) return true
  const letter = body.split(',')[1]
  if (letter === 'P' || letter === 'I' || !/^\d+$/.test(number)) return false
  if (body.includes('not a valid number')) return false
  return !(letter === 'D' && /National \(USA\)|Litigator/.test(body))
}

describe('the inbound filter', () => {
  test.each([
    ['2125550100', 'a clean number', true],
    ['2125550103', 'one of the national list', false],
    ['2125550105', 'a litigator', false],
    ['12345', 'a short number', false],
    ['212555010099', 'a long number', false],
    ['anonymous', 'no number', false],
  ])('%s, %s', async (number, _what, letIn) => {
    for (const protocol of ['HTTP/1.0', 'HTTP/1.1']) {
      const reply = await bodyOf(inboundFilterRequest(number, protocol))
      expect(reply.status).toBe(200)
      expect(isLetIn(number, reply)).toBe(letIn)
    }
  })
})

describe('the settings container of the list filter', () => {
  const lines = readFileSync('config/vicidial/dncdotcom.container', 'utf8')
    .split('\n')
    .map((line) => line.replace(/[#;].*/, '').split('=>'))
  const settings = new Map(lines.map(([name = '', value = '']) => [name.trim(), value.trim()]))

  test('says what becomes of every letter, and lets none but the dialable be dialed', () => {
    const letters = [...resultLetters, 'S', 'T']
    const dialed = letters.filter((letter) => settings.get(`STATUS_${letter}`) === 'NEW')
    expect(dialed.toSorted().join('')).toBe('CEGHORX')
    const others = letters.map((letter) => settings.get(`STATUS_${letter}`))
    expect(new Set(others)).toEqual(new Set(['NEW', 'CGNONE', 'CGDNC']))
  })

  // Those that VICIdial 2.14 makes for a new database (MySQL_AST_CREATE_tables.sql).
  test('passes over every status of VICIdial itself, so that none becomes NEW again', () => {
    const own = [
      'NEW QUEUE INCALL DROP XDROP NA CALLBK CBHOLD A AA AM AL AFAX AB B DC ADC DEC DNC DNCL DNCC SALE',
      'N NI NP PU PM XFER ERI SVYEXT SVYVM SVYHU SVYREC QVMAIL RQXFER TIMEOT AFTHRS NANQUE IQNANQ PDROP',
      'IVRXFR SVYCLM MLINAT MAXCAL LRERR QCFAIL ADCT LSMERG DAIR ADAIR CGDNC CGNONE',
    ]
    const skipped = settings.get('VICI_STATUS_SKIP')?.split('-').toSorted()
    expect(skipped).toEqual(own.join(' ').split(' ').toSorted())
  })
})
