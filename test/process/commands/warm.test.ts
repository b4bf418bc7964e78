/** `callgate warm` against a running server: files, keys, what is shown and how it ends. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CommandFailure } from '../../../src/commands/command.js'
import { registerWarm } from '../../../src/commands/warm/warm.js'
import type { Question } from '../../../src/domain/compliance.js'
import { DataFileError } from '../../../src/errors.js'
import { systemClock, systemTimers } from '../../../src/runtime/runtime.js'
import type { WarmupResult } from '../../../src/sources/cache/cached-compliance.js'
import { Warmer } from '../../../src/sources/warming/warmer.js'
import { warmupRoutes } from '../../../src/sources/warming/warmup-routes.js'
import { adminKey, openTestApp, type TestApp } from '../../support/test-app.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-warm-'))
const keyFile = join(folder, 'key')
let files = 0
let app: TestApp
let asked: Question[] = []
let outcome: WarmupResult = 'answered'

beforeAll(async () => {
  writeFileSync(keyFile, `${adminKey}\nsecond line\n`)
  let ids = 0
  const warmer = new Warmer({
    warmUp: async (question) => {
      asked.push(question)
      return outcome
    },
    cache: { allowMs: 300_000, blockMs: 300_000 },
    maxNumbers: 250_000,
    maxInFlight: 10_000,
    clock: systemClock,
    timers: systemTimers,
    newId: () => `job${++ids}`,
  })
  const options = { serviceCodes: new Set(['7005550000']) }
  app = await openTestApp({ routes: warmupRoutes(warmer, options) })
  return () => warmer.close()
})
afterEach(() => {
  asked = []
  outcome = 'answered'
  delete process.env.CALLGATE_LOGIN_ID
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileOf(text: string): string {
  files += 1
  const file = join(folder, `numbers-${files}.txt`)
  writeFileSync(file, text)
  return file
}

/** As on the command line; what it ends with is thrown. */
async function run(text: string, ...options: readonly string[]): Promise<string> {
  const given = new Set(options.map((option) => option.split('=', 1)[0]))
  const key = given.has('--login-id-file') || process.env.CALLGATE_LOGIN_ID !== undefined
  let out = ''
  const program = new Command('callgate').option('--config <file>').exitOverride()
  registerWarm(program, {
    out: (more) => {
      out += more
    },
    note: () => undefined,
    interactive: false,
  })
  const args = [
    'warm',
    fileOf(text),
    ...options,
    ...(given.has('--url') ? [] : [`--url=${app.url}`]),
    ...(key ? [] : [`--login-id-file=${keyFile}`]),
    ...(given.has('--keep-for') ? [] : ['--keep-for=0s']),
  ]
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if (error instanceof CommandFailure) {
      throw new CommandFailure(`${out}${error.message}`, error.exitCode)
    }
    throw error
  })
  return out
}

describe('callgate warm', () => {
  const readable: readonly (readonly [string, string, readonly (readonly [string, string?])[]])[] =
    [
      [
        'a number a line',
        '2125550100\r\n\n# comment\n+1 (212) 555-0101\n',
        [['2125550100'], ['2125550101']],
      ],
      [
        'the first of several columns',
        '2125550100,Doe\n2125550101,Roe\n',
        [['2125550100'], ['2125550101']],
      ],
      [
        'CSV with named columns',
        '\ufeffName,Phone,Zip\n"Doe, J.",212-555-0100,10001\nRoe,2125550101,\n',
        [['2125550100', '10001'], ['2125550101']],
      ],
      [
        'other marks and names',
        'Postal Code;Phone Number\nK1A 0B1;6135550100\n',
        [['6135550100', 'K1A 0B1']],
      ],
    ]
  it.each(readable)('reads %s', async (_name, text, numbers) => {
    await run(text)
    expect(asked.map(({ number, postalCode }) => [number, postalCode])).toEqual(
      numbers.map(([number, postalCode]) => [number, postalCode]),
    )
  })

  it('waits for the answers and sums them up, with the lines it left out', async () => {
    const out = await run('2125550100\n911\n2125550101\nhello\n7005550000\n')
    const [first, ...rest] = out.trimEnd().split('\n')
    expect(first).toBe('2 numbers, 3 lines refused')
    expect(rest[0]).toBe('  2 answered, 0 fresh already, 0 unanswered')
    expect(rest[1]).toMatch(/^ {2}job job\d+: ended, kept fresh until \d{4}-/)
    expect(rest.slice(2).map((line) => line.replace(/^.* line/, 'line'))).toEqual([
      "line 2 '911': is an emergency or service code, which is never looked up",
      "line 4 'hello': is not one telephone number: must be digits, with an optional + and spaces or " +
        '( ) . - / between them, or a tel: or sip: URI without other digits',
      "line 5 '7005550000': is an emergency or service code, which is never looked up",
    ])
  })

  it('passes project, campaign and time on', async () => {
    const out = await run('2125550100\n', '--project=P', '--campaign=C', '--keep-for=2h')
    expect(asked[0]).toMatchObject({ projectId: 'P', campaignId: 'C' })
    expect(out).toContain('warm, kept fresh until')
  })

  it('ends with 1 when a number was not answered', async () => {
    outcome = 'unanswered'
    await expect(run('2125550100\n2125550101\n')).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(
        /0 fresh already, 2 unanswered[\s\S]*2 numbers were not answered/,
      ),
    })
  })

  it('does not wait when told not to', async () => {
    outcome = 'unanswered'
    const out = await run('2125550100\n', '--no-wait')
    expect(out).toMatch(/^1 numbers, 0 lines refused\n {2}job job\d+: asking, kept fresh until/)
  })

  it('makes several jobs of a file too large for one request', async () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => String(3_030_000_000 + index))
    const out = await run(rows.join('\n'))
    expect(out).toMatch(/^200,000 numbers, 0 lines refused\n {2}200,000 answered/)
    expect(out.match(/job job\d+: ended/g)).toHaveLength(2)
    const ofFile = asked.map(({ number }) => number).filter((number) => number.startsWith('303'))
    expect(new Set(ofFile).size).toBe(200_000)
  })

  it('takes the key from the environment, where no file is named', async () => {
    process.env.CALLGATE_LOGIN_ID = adminKey
    expect(await run('2125550100\n')).toContain('1 answered')
  })

  const failures: readonly (readonly [string, readonly string[], number, string])[] = [
    ['an unknown host', ['--url=http://127.0.0.1:1'], 1, "--url 'http://127.0.0.1:1': cannot be"],
    ['no address', ['--url=ftp://x'], 2, "--url 'ftp://x': must be http://host:port"],
    ['a key in the address', ['--url=http://key@host'], 2, 'must be http://host:port'],
    [
      'a key file that is not there',
      ['--login-id-file=/no/key'],
      2,
      '/no/key: --login-id-file: cannot be read',
    ],
    ['an odd time', ['--keep-for=1 day'], 2, "--keep-for '1 day': must be a time such as 90s"],
    ['too long a time', ['--keep-for=25h'], 2, "--keep-for '25h': must be a time such as 90s"],
  ]
  it.each(failures)('refuses %s', async (_name, options, exitCode, message) => {
    await expect(run('2125550100\n', ...options)).rejects.toMatchObject({
      exitCode,
      message: expect.stringContaining(message),
    })
  })

  it('says what the server says, and never the key', async () => {
    const wrongKey = 'w'.repeat(44)
    process.env.CALLGATE_LOGIN_ID = wrongKey
    const failure = await run('2125550100\n').catch((error: unknown) => String(error))
    expect(failure).toContain(`--url '${app.url}': status 401: The API key is not valid`)
    expect(failure).not.toContain(wrongKey)
  })

  it('says how many numbers are warmed all the same when a later part is refused', async () => {
    const rows = Array.from({ length: 300_000 }, (_, index) => String(2_120_000_000 + index))
    await expect(run(rows.join('\n'), '--keep-for=1h')).rejects.toMatchObject({
      message: expect.stringMatching(
        /250000 can be kept warm at once .*; 1\d\d,\d{3} numbers were accepted/,
      ),
    })
  })

  it('counts all lines that the server refused, not only those it lists', async () => {
    const rows = ['2125550100', ...Array.from({ length: 1_500 }, () => '7005550000')]
    const out = await run(rows.join('\n'))
    expect(out).toMatch(/^1 numbers, 1,500 lines refused\n/)
    expect(out).toMatch(/ {2}\.\.\. and 1480 more\n$/)
  })

  it('ends with 1 when the server left out every number', async () => {
    await expect(run('7005550000\n')).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(
        /^0 numbers, 1 lines refused\n[\s\S]*there is no number to look up$/,
      ),
    })
  })

  const badKeys: readonly (readonly [string, string])[] = [
    ['two lines', 'SECRETKEY1\nABC'],
    ['a space', 'SECRETKEY1 ABC'],
    ['a letter no header carries', 'SECRETKEY1→'],
  ]
  it.each(badKeys)('refuses a key of %s, and does not show it', async (_name, key) => {
    process.env.CALLGATE_LOGIN_ID = key
    const ofVariable: unknown = await run('2125550100\n').catch((error: unknown) => error)
    expect(ofVariable).toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^CALLGATE_LOGIN_ID: must be 1 to 500 visible ASCII/),
    })
    expect(String(ofVariable)).not.toContain('SECRET')
  })

  it('refuses a key file whose first line is no key, and does not show it', async () => {
    const file = fileOf('SECRETKEY1 ABC\n')
    const failure: unknown = await run('2125550100\n', `--login-id-file=${file}`).catch(
      (error: unknown) => error,
    )
    expect(failure).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('its first line must be 1 to 500 visible ASCII'),
    })
    expect(String(failure)).not.toContain('SECRET')
  })

  it.each([
    ['a header that names no numbers', 'name,city\nDoe,NY\n', "no column 'number' or 'phone'"],
    ['an empty file', '', 'is empty'],
    ['a web page', '<html>\n', 'this is a web page'],
  ])('refuses %s', async (_name, text, message) => {
    const failure = await run(text).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(DataFileError)
    expect(String(failure)).toContain(message)
  })
})
