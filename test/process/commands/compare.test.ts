/** `callgate compare` against the fake vendor and against a second callgate: what differs, and why. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { CommandFailure } from '../../../src/commands/command.js'
import { registerCompare } from '../../../src/commands/compare/compare.js'
import {
  ComparisonReport,
  findDifferences,
} from '../../../src/commands/compare/comparison-report.js'
import { openDifferenceFile } from '../../../src/commands/compare/difference-file.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import type { PhoneNumber } from '../../../src/domain/phone-number.js'
import { type FakeVendor, openFakeVendor } from '../../../src/fake-vendor/fake-vendor.js'
import { systemClock } from '../../../src/runtime/runtime.js'
import type { Ended } from '../../support/program.js'
import { vendorConsent, vendorList } from '../../support/remote-callgate.js'
import { runCommand } from '../../support/run-command.js'
import { mondayNoon, openTestCallgate } from '../../support/test-callgate.js'

/** A data folder as a first start leaves it. */
let started = ''
beforeAll(async () => {
  const here = await openTestCallgate()
  await here.stop()
  started = here.dataDir
})
afterAll(() => rmSync(started, { recursive: true, force: true }))

let dataDir = ''
let opened: FakeVendor | undefined
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-compare-'))
  cpSync(started, dataDir, { recursive: true })
})
afterEach(async () => {
  await opened?.close()
  opened = undefined
  rmSync(dataDir, { recursive: true, force: true })
})

/** One for each case that asks it. */
async function openVendor(): Promise<FakeVendor> {
  opened ??= await openFakeVendor({ at: mondayNoon, loginId: 'vendor-key' })
  return opened
}

interface Provider {
  readonly url: string
  readonly loginId: string
  readonly maxQueued?: number
}

/** For usage that is refused before anybody is asked. */
const nobody: Provider = { url: 'http://127.0.0.1:9', loginId: 'nobody' }

function fileOf(text: string): string {
  const file = join(dataDir, 'numbers.csv')
  writeFileSync(file, text)
  return file
}

/** Against the vendor unless said otherwise; the sandbox stands at the vendor's instant. */
async function compare(
  args: readonly string[],
  given?: Provider,
  folder = dataDir,
): Promise<Ended> {
  const provider: Provider = given ?? (await openVendor())
  const limits = '{ requestsPerMinute: 100000 }'
  const more = `
sandbox: { at: 2026-11-23T17:00:00Z }
gate: { cache: { maxEntries: 1000 } }
source:
  kind: remote
  provider:
    name: acme
    baseUrl: ${provider.url}
    loginId: ${provider.loginId}
    maxQueued: ${provider.maxQueued ?? 20_000}
    scrub: ${limits}
    internalDnc: ${limits}
    litigator: ${limits}
    legalTime: ${limits}
`
  return await runCommand(registerCompare, ['compare', '--with', 'acme', ...args], {
    dataDir: folder,
    more,
  })
}

const sandbox = ['--account', 'sandbox']

/** Lines of the sandbox, in two area codes. */
const { lines } = parseYaml(readFileSync('config/sandbox.yaml', 'utf8')) as {
  readonly lines: Readonly<Record<string, unknown>>
}
const fictional = ['212', '850'].flatMap((areaCode) =>
  Object.keys(lines).map((line) => `${areaCode}555${line}`),
)

describe('callgate compare', () => {
  it('finds nothing between two services with the same facts', async () => {
    const file = fileOf(`${fictional.join('\n')}\n`)
    const { code, out, err } = await compare([file, ...sandbox, '--exit-code'])
    expect(err).toBe('')
    expect(code).toBe(0)
    expect(out).toContain(`${fictional.length} numbers\n`)
    expect(out).toContain('permitted here but not by acme: 0\n')
    for (const name of ['scrub', 'internal-dnc', 'litigator', 'legal-time']) {
      expect(out).toContain(`${name}: ${fictional.length} rows compared, all the same\n`)
    }
  })

  it('shows each differing field by kind and rows, what lets a call through, and our facts', async () => {
    const vendor = await openVendor()
    // An opt-out and a consent that only the vendor has.
    await vendorList(vendor, 'add', '2125550100')
    await vendorList(vendor, 'add', '8505550100')
    await vendorConsent(vendor, '2125550101', '11/01/2026')
    const file = fileOf('phone\n2125550100\n8505550100\n2125550101\n2125550102\n')
    const { code, out } = await compare([file, ...sandbox, '--exit-code'])
    expect(code).toBe(3)
    expect(out).toContain('4 numbers\n')
    expect(out).toContain('permitted here but not by acme: 2\n')
    expect(out).toContain('permitted by acme but not here: 1\n')
    expect(out).toContain(
      '  ResultCode: 3 different rows\n' +
        "    2  'P' at acme, 'C' here (permitted only here), such as 2125550100\n" +
        "    1  'G' at acme, 'W' here, such as 2125550101\n",
    )
    expect(out).toContain("  onList: 2 different rows\n    2  'true' at acme, 'false' here (perm")
    expect(out).toContain('\n  facts here:\n    2125550100: not on the internal list\n')
    const facts = 'not on the internal list; checked against us-dnc sandbox as of 2026-01-01'
    expect(out).toContain(`    2125550100: ${facts}`)
    expect(out).toContain('litigator: 4 rows compared, all the same')
  })
})

describe('the file of differences', () => {
  it('has every differing field of every number with facts, and is for its owner', async () => {
    const vendor = await openVendor()
    await vendorList(vendor, 'add', '2125550100')
    const path = join(dataDir, 'differences.csv')
    const file = fileOf('phone,zip\n2125550100,10001\n2125550102,\n')
    const args = [file, ...sandbox, '--only', 'scrub,internal-dnc', '--out', path]
    const { code, out } = await compare(args)
    expect(code).toBe(0)
    expect(out).not.toContain('litigator:')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const rows = parse(readFileSync(path), { columns: true }) as Record<string, string>[]
    expect(new Set(rows.map(({ number }) => number))).toEqual(new Set(['2125550100']))
    const letter = rows.find(({ field }) => field === 'ResultCode')
    expect(letter).toMatchObject({
      postal: '10001',
      question: 'scrub',
      provider: 'P',
      here: 'C',
      facts: expect.stringContaining('us-dnc sandbox'),
    })
    const onList = rows.find(({ field }) => field === 'onList')
    expect(onList).toMatchObject({ provider: 'true', here: 'false' })

    const again = await compare(args)
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining('name a new file') })
  })
})

describe('an opt-out here that the provider does not know', () => {
  it('is among the facts behind our letter', async () => {
    const vendor = await openVendor()
    await vendorList(vendor, 'remove', '2125550104')
    const { out } = await compare([fileOf('2125550104\n'), ...sandbox, '--only', 'scrub'])
    expect(out).toContain("'C' at acme, 'P' here, such as 2125550104\n")
    expect(out).toMatch(/ {4}2125550104: on the internal list since 2026-10-24T/)
  })
})

describe('a file of differences that cannot be written', () => {
  it('ends the command with a message', () => {
    const path = join(dataDir, 'differences.csv')
    const file = openDifferenceFile(path)
    file.close()
    const line = { number: '2125550100' as PhoneNumber, name: 'scrub', field: 'Reason' } as const
    const add = () => file.add({ ...line, theirs: 'a', ours: 'b', facts: '' })
    expect(add).toThrow(CommandFailure)
    expect(add).toThrow(`--out '${path}': cannot be written: `)
  })
})

describe('a folder without a database', () => {
  it('is refused, and stays as it is', async () => {
    const vendor = await openVendor()
    const elsewhere = join(dataDir, 'elsewhere')
    mkdirSync(elsewhere)
    const file = fileOf('2125550100\n')
    const { code, err } = await compare([file, ...sandbox], vendor, elsewhere)
    expect(code).toBe(2)
    expect(err).toContain(`dataDir '${elsewhere}': contains no database`)
    expect(readdirSync(elsewhere)).toEqual(['callgate.yaml'])
    expect(vendor.counts().scrub?.requests ?? 0).toBe(0)
  })
})

describe('values of a provider', () => {
  const [theirs, ours] = [{ Reason: 'x', ResultCode: 'C ' }, { ResultCode: 'C' }]

  it('show what alone differs', async () => {
    const report = new ComparisonReport('acme', ['scrub'])
    const differences = findDifferences('scrub', theirs, ours)
    await report.addRow('scrub', differences, async () => ({ number: '1', facts: '' }))
    expect(report.text()).toContain("'C ' at acme, 'C' here (permitted only here)")
  })

  it('and names of fields cannot write to the terminal', async () => {
    const report = new ComparisonReport('acme', ['scrub'])
    const row = { 'a\u001b[31m\nb': '\u0007', ResultCode: 'C' }
    const differences = findDifferences('scrub', row, ours)
    await report.addRow('scrub', differences, async () => ({ number: '1', facts: '' }))
    expect(report.text()).toContain('  a\\u{1b}[31m\\u{a}b: 1 different row\n')
    expect(report.text()).toContain("'\\u{7}' at acme, no such field here")
  })

  it('may be of fields named like what every object has', () => {
    const row = JSON.parse('{"ResultCode":"C","constructor":"x","valueOf":"y","__proto__":"z"}')
    const fields = ['constructor', 'valueOf', '__proto__']
    expect(findDifferences('scrub', row, ours)).toEqual(
      fields.map((field) => ({
        field,
        theirs: row[field],
        ours: undefined,
        permits: undefined,
      })),
    )
  })
})

describe('a row that lacks a field', () => {
  it('is compared all the same', async () => {
    const vendor = await openVendor()
    vendor.setFault('scrub', { kind: 'missing-field', field: 'TZSource' })
    const { code, out } = await compare([fileOf('2125550100\n'), ...sandbox, '--only', 'scrub'])
    expect(code).toBe(0)
    expect(out).toContain("TZSource: 1 different row\n    1  no such field at acme, 'NPANXX' here")
  })
})

describe('calling hours', () => {
  it('are compared as of any instant', async () => {
    const vendor = await openVendor()
    const file = fileOf('2055550100\n')
    const path = join(dataDir, 'differences.csv')
    const sunday = ['--only', 'legal-time', '--at', '2026-11-22T18:00:00Z', '--out', path]
    const { code, out } = await compare([file, ...sandbox, ...sunday])
    expect(code).toBe(0)
    expect(out).toContain('legal-time: 1 row compared, all the same')
    expect(vendor.counts()['legal-time']?.numbers).toBe(1)
    expect(vendor.counts().scrub?.requests ?? 0).toBe(0)
  })
})

describe('answers that are missing', () => {
  it('are counted with their reason, and end the command with 1', async () => {
    const vendor = await openVendor()
    vendor.setFault('litigator', { kind: 'server-error' })
    const { code, out, err } = await compare([fileOf('2125550100\n'), ...sandbox])
    expect(code).toBe(1)
    expect(err).toContain('not compared: 1 missing answer')
    expect(out).toMatch(/litigator: 0 rows compared\n {2}1 not compared, the provider: /)
    expect(out).toContain('scrub: 1 row compared, all the same')
  })

  it('are asked for again where the provider is asked too often', async () => {
    const vendor = await openVendor()
    vendor.setFault('scrub', { kind: 'rate-limited', retryAfterSeconds: 1, times: 1 })
    const { code, out } = await compare([fileOf('2125550100\n'), ...sandbox, '--only', 'scrub'])
    expect(code).toBe(0)
    expect(out).toContain('scrub: 1 row compared, all the same')
  })

  it('end the asking where the provider answers nothing at all', async () => {
    const vendor = await openVendor()
    const numbers = fileOf(`${fictional.slice(0, 6).join('\n')}\n`)
    const { url } = vendor
    const refused = { url, loginId: 'wrong-key', maxQueued: 2 }
    const { code, out, err } = await compare([numbers, ...sandbox, '--only', 'litigator'], refused)
    expect(code).toBe(1)
    expect(err).toContain('the provider does not answer; not compared: 4 more numbers')
    expect(out).toMatch(/2 not compared, the provider: .*401/)
    expect(out).not.toContain('wrong-key')
  })

  it('are not made of the rows of other numbers', async () => {
    const vendor = await openVendor()
    vendor.setFault('scrub', { kind: 'out-of-order' })
    const numbers = fileOf('2125550100\n2125550103\n')
    const { code, out } = await compare([numbers, ...sandbox, '--only', 'scrub'])
    expect(code).toBe(1)
    expect(out).toContain(
      '2 not compared, the provider: the answer could not be understood: the row in its position is for another number',
    )
  })

  it('are named where they are ours', async () => {
    // The account main has no litigator list here.
    const { code, out } = await compare([fileOf('2125550100\n'), '--account', 'main'])
    expect(code).toBe(1)
    expect(out).toMatch(/litigator: 0 rows compared\n {2}1 not compared, here: .*litigator/)
  })
})

describe('a second callgate', () => {
  it('is compared by lists that differ, over the calls it decided', async () => {
    const now = Date.now()
    const there = await openTestCallgate({ at: now })
    try {
      const listed = join(dataDir, 'listed.txt')
      writeFileSync(listed, '2127361001\n2127361002\n')
      const common = { files: [listed], folder: join(dataDir, 'lists'), clock: systemClock }
      await importList({ name: 'us-dnc', ...common, asOf: systemClock.now(), areaCodes: 'all' })
      const numbers = fileOf('2127361001\n2127361003\n')
      const args = [numbers, '--only', 'scrub,internal-dnc,legal-time']
      const { code, out } = await compare(args, { url: there.url, loginId: there.keys.main })
      expect(code).toBe(0)
      // There no list is loaded, so every number is B.
      expect(out).toContain("1  'B' at acme, 'W' here (permitted only here), such as 2127361003\n")
      expect(out).toContain("1  'B' at acme, 'D' here, such as 2127361001\n")
      expect(out).toMatch(/ {4}2127361001: .*on us-dnc \w+ as of /)
      expect(out).toMatch(/ {4}2127361003: .*not on us-dnc \w+ as of /)
      expect(out).toContain('internal-dnc: 2 rows compared, all the same')
      expect(out).toContain('legal-time: 2 rows compared, all the same')
    } finally {
      await there.end()
    }
  })
})

describe('recorded calls', () => {
  it('are asked again as they were, each once', async () => {
    const here = await openTestCallgate({
      dataDir,
      at: Date.now(),
      environment: { CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z' },
    })
    for (const number of ['2125550100', '212-555-0100', '2125550102', '911']) {
      await here.postJson('/v1/decisions', { number, callKind: 'manual', postalCode: '10001' })
    }
    const whatIf = { number: '2125550103', callKind: 'manual', at: '2026-11-23T17:00:00Z' }
    await here.postJson('/v1/decisions', whatIf)
    await here.stop()
    const { code, out, err } = await compare(['--recorded', '1h', ...sandbox])
    expect(err).toBe('')
    expect(code).toBe(0)
    expect(out).toContain('2 numbers\n')
  })

  it('end the command where there are none', async () => {
    const { code, err } = await compare(['--recorded', '7d', ...sandbox], nobody)
    expect(code).toBe(1)
    expect(err).toContain('no decisions of account sandbox in that time')
  })
})

describe('wrong usage', () => {
  it.each([
    ['an unknown provider', ['--with', 'other'], "--with 'other'"],
    ['neither file nor records', [], 'either a <file>'],
    ['a question that is none', ['--recorded', '1h', '--only', 'weather'], "--only 'weather'"],
    ['a time that is none', ['--recorded', 'soon'], "--recorded 'soon'"],
    ['an instant that is none', ['--recorded', '1h', '--at', 'noon'], "--at 'noon'"],
    [
      'an account that is none',
      ['--recorded', '1h', '--account', 'none'],
      "account 'none' not found",
    ],
  ])('is refused: %s', async (_what, args, message) => {
    const { code, err } = await compare(args, nobody)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })
})
