/** `callgate rules`: what holds in a region on a day, and what differs between days and files. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { RuleChange } from '../../src/app/rules/compare-rules.js'
import type { RulesOnDay } from '../../src/app/rules/rules-on-day.js'
import { registerRules } from '../../src/commands/rules/rules.js'
import { useTempFolder } from '../data/temp-folder.js'
import { runCommand } from '../support/run-command.js'

const folder = useTempFolder()

const run = (args: string, more = '') =>
  runCommand(registerRules, ['rules', ...args.split(' ')], { dataDir: folder.path, more })

async function runJson<T>(args: string, more = ''): Promise<T> {
  const { out, err, code } = await run(`${args} --json`, more)
  expect({ err, code }).toEqual({ err: '', code: 0 })
  return JSON.parse(out) as T
}

const rowOf = ({ rules }: RulesOnDay, name: string) => rules.find(({ rule }) => rule === name)

describe('rules show', () => {
  it('tells the hours of a day as a decision does, and what is cited', async () => {
    const { out } = await run('show fl --at 2027-02-01')
    expect(out).toContain('Florida (FL), US, Mon 2027-02-01\n')
    expect(out).toContain('any voice:       calls 08:00-20:00; state rule: Fla. Stat. 501.616(6)')
    expect(out).toMatch(/hours +every day 08:00-20:00 +- +- +statute-text +Fla\. Stat\. 501\.616/)
    expect(out).toMatch(/ebr\.I +3 months .*47 CFR 64\.1200\(f\)\(5\)/)
    expect(out).toMatch(/disclosures\.identity +ai /)
    expect(out).toContain('next change: none known')
  })

  it.each([
    ['2026-10-17', 'Mon-Fri 08:00-21:00, Sat 08:00-12:00, Sun 13:30-21:00', null, '2026-10-17'],
    ['2026-10-18', 'Mon-Fri 09:00-19:00, Sat 09:00-12:00, Sun none', '2026-10-18', null],
  ])('has the row of its day: Pennsylvania on %s', async (at, value, from, until) => {
    const found = await runJson<RulesOnDay>(`show PA --at ${at}`)
    expect(rowOf(found, 'hours')).toMatchObject({ value, from, until, confidence: 'conflicting' })
    const rules = until === null ? null : { date: '2026-10-18', changed: ['hours'] }
    const { next } = found
    expect(next && { date: next.date, changed: next.changes.map(({ rule }) => rule) }).toEqual(
      rules,
    )
  })

  it('says which holiday closes the day, and when it is observed', async () => {
    // July 4, 2027 is a Sunday.
    const found = await runJson<RulesOnDay>('show AL --at 2027-07-05')
    expect(found.day).toMatchObject({
      calls: { window: 'none', basis: expect.stringMatching(/^state rule: Ala\. /) },
      closedBy: 'Independence Day (observed)',
    })
    const inJuly = found.closedDays.filter(({ date }) => date.startsWith('2027-07'))
    expect(inJuly).toEqual([
      { date: '2027-07-04', name: 'Independence Day' },
      { date: '2027-07-05', name: 'Independence Day (observed)' },
    ])
    expect(rowOf(found, 'holidays.juneteenth')).toMatchObject({ from: '2025-06-01' })
    const before = await runJson<RulesOnDay>('show AL --at 2025-05-31')
    expect(rowOf(before, 'holidays.juneteenth')).toBeUndefined()
    expect(before.next?.changes.map(({ rule }) => rule)).toEqual(['holidays.juneteenth'])
  })

  it('has the window of a recorded voice, bans and what the operator has closed', async () => {
    const kentucky = await runJson<RulesOnDay>('show KY --at 2027-02-01')
    expect(kentucky.day.recordedVoice.window).toBe('10:00-21:00')
    const more = [
      'callingHours:',
      '  proclaimedDays: [{ region: LA, date: 2027-02-02, name: Storm Day }]',
      '  emergencies:',
      '    - { region: LA, from: 2027-02-02T18:00:00Z, until: 2027-02-05T00:00:00Z, name: Flood }',
      '',
    ].join('\n')
    const louisiana = await runJson<RulesOnDay>('show LA --at 2027-02-02', more)
    expect(louisiana.day).toMatchObject({
      closedBy: 'Storm Day',
      emergencies: [{ name: 'Flood', from: '2027-02-02T18:00:00Z', until: '2027-02-05T00:00:00Z' }],
    })
    expect(rowOf(louisiana, 'wirelessProhibited')?.value).toMatch(/^always: /)
    const { out } = await run('show LA --at 2027-02-07', more)
    expect(out).not.toMatch(/Storm Day|Flood/)
  })

  it('has the rules on opt-outs, and says of which the first day is missing', async () => {
    const show = async (at: string, more?: string) =>
      (await runJson<RulesOnDay>(`show FL --at ${at}`, more)).rules
        .filter(({ rule }) => rule.startsWith('revocation.'))
        .map(({ rule, from, value }) => [rule, from, /not in force/.test(value)])
    const tcpa = ['revocation.tcpa-revocation', '2025-04-11', false]
    const revokeAll = ['revocation.revoke-all', null, true]
    expect(await show('2026-11-26')).toEqual([
      tcpa,
      ['revocation.fcc-26-67', null, true],
      revokeAll,
    ])
    expect(await show('2025-04-10')).not.toContainEqual(tcpa)
    const more = 'optOuts: { ruleDates: [{ rule: fcc-26-67, from: 2027-03-01, by: J. Doe }] }\n'
    expect(await show('2027-02-28', more)).toEqual([tcpa, revokeAll])
    const dated = ['revocation.fcc-26-67', '2027-03-01', false]
    expect(await show('2027-03-01', more)).toEqual([tcpa, dated, revokeAll])
    const changed = await runJson<readonly RuleChange[]>(
      'diff FL --from 2027-02-28 --to 2027-03-01',
      more,
    )
    expect(changed.map(({ rule }) => rule)).toEqual(['revocation.fcc-26-67'])
  })

  it('has the exceptions, used or not', async () => {
    const used =
      'gate: { exceptions: [{ id: or-customer, account: main, decidedBy: J. Doe, on: 2026-11-01 }] }\n'
    const what = 'a sale of the last 18 months lifts hours and cap'
    const show = async (at: string, more?: string) =>
      rowOf(await runJson<RulesOnDay>(`show OR --at ${at}`, more), 'exceptions.or-customer')
    expect(await show('2026-11-26')).toMatchObject({
      value: `off (gate.exceptions): ${what}`,
      from: '2026-01-01',
      citation: 'ORS 646.563(1)(b) (established business relationship)',
    })
    expect(await show('2026-11-26', used)).toMatchObject({
      value: `on, decided by J. Doe from 2026-11-01, account main: ${what}`,
    })
    expect(await show('2025-12-31')).toBeUndefined()
    expect((await run('show UT')).out).toMatch(/exceptions\.ut-consent +off/)
    const other = { ...parse(readFileSync('config/calling-rules.yaml', 'utf8')), exceptions: [] }
    const file = folder.write('without.yaml', JSON.stringify(other))
    const changed = await runJson<readonly RuleChange[]>(`diff --all --with ${file}`, used)
    expect(changed.map(({ region, rule, after }) => [region, rule, after])).toEqual([
      ['OR', 'exceptions.or-customer', null],
      ['UT', 'exceptions.ut-consent', null],
    ])
  })

  // A kind of row that is added to the file has citations too.
  it('shows every citation of the file, of whatever kind of row', async () => {
    const tree = parse(readFileSync('config/calling-rules.yaml', 'utf8'))
    const marks: string[] = []
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return
      for (const [key, value] of Object.entries(node)) {
        // What a region says of its hours is not used if it has none.
        const isUsed = key !== 'citation' || !/^regions\...$/.test(path) || 'hours' in node
        if (key === 'citation' && isUsed) {
          marks.push(`<${path}>`)
          Object.assign(node, { citation: `<${path}>` })
        } else visit(value, path === '' ? key : `${path}.${key}`)
      }
    }
    visit(tree, '')
    const file = folder.write('marked.yaml', JSON.stringify(tree))
    const settings = `callingHours: { rulesFile: ${file} }\n`
    const shown = await Promise.all(
      Object.keys(tree.regions).map((code) =>
        runJson<RulesOnDay>(`show ${code} --at 2026-11-26`, settings),
      ),
    )
    const cited = new Set(shown.flatMap(({ rules }) => rules.map(({ citation }) => citation)))
    expect(marks.filter((mark) => !cited.has(mark))).toEqual([])
    const kinds = new Set(marks.map((mark) => mark.slice(1).split(/[.>]/)[0]))
    const withoutRows = ['about', 'defaults', 'observedPolicies', 'holidays', 'sources']
    expect(Object.keys(tree).filter((kind) => !kinds.has(kind))).toEqual(withoutRows)
  })

  it.each([
    ['show XX', "region 'XX': must be the postal code of a state, territory or province"],
    ['show FL --at 2027-02-30', "--at '2027-02-30': must be a date YYYY-MM-DD that exists"],
    ['show FL --at tomorrow', "--at 'tomorrow': must be a date YYYY-MM-DD that exists"],
    ['diff FL --from 2027-01-01', 'give two days, --from and --to, or a file, --with'],
    ['diff --from 2027-01-01 --to 2027-01-02', 'give a region, or --all'],
    ['diff FL --all --from 2027-01-01 --to 2027-01-02', 'give a region, or --all'],
    ['diff FL --with no-such.yaml', "--with 'no-such.yaml': file not found"],
    ['diff FL --with x --from 2027-01-01', 'give --at instead of --from and --to'],
    ['diff FL --from 2027-01-01 --to 2027-01-02 --at 2027-01-01', 'only goes with --with'],
  ])('%s is refused', async (args, message) => {
    const { code, err } = await run(args)
    expect(err).toContain(message)
    expect(code).toBe(2)
  })
})

describe('rules list', () => {
  it('has a line for each region', async () => {
    const { out } = await run('list --at 2026-11-26')
    expect(out.trimEnd().split('\n')).toHaveLength(70)
    expect(out).toMatch(/\nAL +Alabama +none +none +statute-text +Thanksgiving Day\n/)
    expect(out).toMatch(/\nIN +Indiana +08:00-21:00 +09:00-20:00 /)
  })
})

describe('rules diff', () => {
  it('lists what changed between two days, each with both citations', async () => {
    const { out } = await run('diff OR --from 2025-12-31 --to 2026-01-02')
    expect(out).toContain('3 differences in 1 region\n\nOR\n  hours\n')
    expect(out).toContain('    - every day 08:00-21:00; until 2025-12-31; ')
    expect(out).toContain('    + every day 08:00-20:00; from 2026-01-01; ')
    expect(out).toContain(
      '    + 3 calls in 24 hours to a person; from 2026-01-01; ORS 646.563(1)(b)',
    )
    const all = await runJson<readonly RuleChange[]>('diff --all --from 2025-05-30 --to 2026-11-20')
    const found = all.map(({ region, rule }) => `${region} ${rule}`)
    expect(found).toEqual([
      'AL holidays.juneteenth',
      'NY frequencyRules.nyc-debt',
      'OR hours',
      'OR frequencyRules.or-24h',
      'OR exceptions.or-customer',
      'PA hours',
      'UT holidays.good_friday',
      'UT holidays.easter_sunday',
    ])
    expect((await run('diff FL --from 2026-01-01 --to 2027-01-01')).out).toBe('no difference\n')
  })

  it('lists what another file changes on a day, also in holidays and regions', async () => {
    const shipped = readFileSync('config/calling-rules.yaml', 'utf8')
    const changed = shipped
      .replace(/("FL":\n.*\n.*\n {4}hours: \{ monFri: )"08:00-20:00"/, '$1"08:00-19:00"')
      .replace(
        'rule: { type: nth-weekday, month: 9, weekday: mon, nth: 1 }',
        'rule: { type: nth-weekday, month: 9, weekday: mon, nth: 2 }',
      )
    const file = folder.write('other.yaml', changed)
    const florida = await runJson<readonly RuleChange[]>(`diff FL --with ${file} --at 2027-02-01`)
    expect(florida).toMatchObject([
      {
        rule: 'hours',
        before: { value: 'every day 08:00-20:00' },
        after: { value: 'Mon-Fri 08:00-19:00, Sat 08:00-20:00, Sun 08:00-20:00' },
      },
    ])
    const alabama = await runJson<readonly RuleChange[]>(`diff AL --with ${file} --at 2027-02-01`)
    expect(alabama.map(({ rule, before, after }) => [rule, before?.value, after?.value])).toEqual([
      ['closedDays.2027-09-06', 'Labor Day / Labour Day', undefined],
      ['closedDays.2027-09-13', undefined, 'Labor Day / Labour Day'],
    ])
    const same = folder.write('same.yaml', shipped)
    expect((await run(`diff --all --with ${same}`)).out).toBe('no difference\n')
    const broken = folder.write('broken.yaml', shipped.replace('citation: A.R.S.', 'cite: A.R.S.'))
    const { code, err } = await run(`diff --all --with ${broken}`)
    expect(code).toBe(1)
    expect(err).toContain('wirelessProhibited.citation: is missing')
  })
})
