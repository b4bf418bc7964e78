/** `callgate rehearse` over a journal of a few calls whose verdicts are known. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RehearsalReport } from '../../src/commands/rehearse/rehearsal.js'
import { registerRehearse } from '../../src/commands/rehearse/rehearse.js'
import { resolveShippedFile } from '../../src/config/load.js'
import { blockInstead } from '../../src/gate/pre-check-ruling.js'
import { runCommand } from '../support/run-command.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-rehearse-'))
let running: TestCallgate
const ids: Record<string, string> = {}

beforeAll(async () => {
  running = await openTestCallgate({ at: mondayNoon })
  const calls = {
    clean: { number: '2125550100', callKind: 'manual' },
    withoutConsent: { number: '2125550100', callKind: 'ai' },
    litigator: { number: '2125550105', callKind: 'manual' },
    withConsent: { number: '2125550106', callKind: 'ai' },
    alabama: { number: '2055550100', callKind: 'manual' },
    whatIf: { number: '2055550100', callKind: 'manual', at: '2026-11-22T18:00:00Z' },
    foreign: { number: '+442079460018', callKind: 'manual' },
  }
  for (const [name, call] of Object.entries(calls)) {
    const reply = await running.postJson('/v1/decisions', call)
    ids[name] = ((await reply.json()) as { id: string }).id
  }
  // Of the main account, which has no lists.
  await running.postJson(
    '/v1/decisions',
    { number: '2127365000', callKind: 'manual' },
    running.keys.main,
  )
  await running.callgate.journal.drain()
})

afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true })
})

const period = ['--since', '2026-11-23', '--until', '2026-11-24', '--account', 'sandbox']

const rehearse = (...args: readonly string[]) =>
  runCommand(registerRehearse, ['rehearse', ...period, ...args], { dataDir: running.dataDir })

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** The shipped rules, with Alabama closed on Mondays to Fridays. */
function changeRules(change: (text: string) => string): string {
  const text = readFileSync(resolveShippedFile('config/calling-rules.yaml'), 'utf8')
  const changed = change(text)
  expect(changed).not.toBe(text)
  return write('rules.yaml', changed)
}

const closeAlabama = (text: string) =>
  text.replace(/("AL":\n.*\n.*\n {4}hours: \{ monFri: )"[^"]+"/, '$1none')

describe('callgate rehearse', () => {
  it('finds nothing to flip with what is in use', async () => {
    const { code, out } = await rehearse()
    expect(out).toBe(
      [
        "2026-11-23T00:00:00Z to 2026-11-24T00:00:00Z: 6 decisions of account 'sandbox'",
        'would have blocked 0 of 3 allowed',
        'would have allowed 0 of 3 blocked',
        '0 would have been blocked for another reason',
        '',
      ].join('\n'),
    )
    expect(code).toBe(0)
  })

  it('names an account that does not exist, and one without calls', async () => {
    const { callgate } = running
    await callgate.accounts.ensure({ id: 'quiet', kind: 'real', name: 'Quiet' })
    const { out } = await rehearse('--account', 'quiet')
    expect(out).toContain(": 0 decisions of account 'quiet'\n")
    const wrong = await rehearse('--account', 'typo')
    expect(wrong).toMatchObject({ code: 2, out: '' })
    expect(wrong.err).toContain("account 'typo' not found (see: callgate accounts list)")
  })

  it('lists the calls that other rules block, and the finding that changed', async () => {
    const { code, out, err } = await rehearse('--rules', changeRules(closeAlabama))
    expect(err).toBe('')
    expect(code).toBe(0)
    expect(out).toContain('would have blocked 1 of 3 allowed\n')
    expect(out).toContain('reason                 would have blocked\noutside-calling-hours  1\n')
    expect(out).toContain(
      [
        'calls whose decision would change (all 1):',
        `2026-11-23T17:00:00Z  ${ids.alabama}  2055550100  manual  sandbox`,
        '  allow -> block (outside-calling-hours)',
        '  calling-hours: was pass, would be deny: Alabama (AL), America/Chicago, Mon 2026-11-23; no calls on this day;',
      ].join('\n'),
    )
  })

  it('counts calls that would be blocked for another reason, and does not list them', async () => {
    const rules = changeRules((text) =>
      text.replace(/("NY":\n.*\n.*\n {4}hours: \{ monFri: )"[^"]+"/, '$1none'),
    )
    const policy = write('other.yaml', 'policy: { permission: { mode: shadow } }\n')
    const { out } = await rehearse('--rules', rules, '--policy', policy, '--json')
    const report = JSON.parse(out) as RehearsalReport
    // No consent before, the day now; the litigator and the foreign number are blocked for the same reason.
    expect(report).toMatchObject({ blocked: 3, otherReason: 1, wouldHaveAllowed: 0 })
    expect(report.flipped.map(({ id }) => id)).not.toContain(ids.withoutConsent)
    const text = await rehearse('--rules', rules, '--policy', policy)
    expect(text.out).toContain('\n1 would have been blocked for another reason\n')
  })

  it('takes a policy file that names only what changes', async () => {
    const policy = write('policy.yaml', 'policy: { permission: { mode: shadow } }\n')
    const { out } = await rehearse('--policy', policy, '--json')
    expect(JSON.parse(out)).toMatchObject({
      decisions: 6,
      wouldHaveBlocked: 0,
      wouldHaveAllowed: 1,
      allowedByReason: { 'no-consent': 1 },
      flipped: [
        {
          id: ids.withoutConsent,
          recorded: { decision: 'block', reason: 'no-consent' },
          rehearsed: { decision: 'allow', reason: 'permitted' },
          why: [
            expect.stringMatching(/^policy would be: permission in shadow, would have blocked/),
          ],
        },
      ],
    })
  })

  it('takes the policy file over the environment and the settings in use', async () => {
    const policy = write('gate.yaml', 'gate: { nonNanp: allow }\n')
    const { out } = await rehearse('--policy', policy)
    expect(out).toContain('would have allowed 1 of 3 blocked\n')
    expect(out).toContain(`${ids.foreign}  +442079460018  manual`)
    expect(out).toContain('policy allows extensions and numbers of other countries unchecked')
  })

  it('lists as many calls as wanted, and counts all', async () => {
    const policy = write('all.yaml', 'gate: { shadow: { all: true }, nonNanp: allow }\n')
    const { out } = await rehearse('--policy', policy, '--limit', '1')
    expect(out).toContain('would have allowed 3 of 3 blocked\n')
    expect(out).toContain('calls whose decision would change (first 1 of 3; --limit shows more):')
    expect(out.match(/ -> allow/g)).toHaveLength(1)
  })

  it('counts a call that was withheld after its record as blocked by the gate', async () => {
    const { callgate, clock } = running
    clock.at = Date.UTC(2026, 10, 25, 17)
    const allowed = await callgate.gate.decide({
      accountId: 'sandbox',
      dialed: '2055550100',
      callKind: 'manual',
      via: 'http',
    })
    expect(allowed.decision).toBe('allow')
    callgate.journal.amend(blockInstead(allowed, 'expired'))
    await callgate.journal.drain()
    const args = [
      'rehearse',
      '--since',
      '2026-11-25',
      '--until',
      '2026-11-26',
      '--account',
      'sandbox',
    ]
    const rules = changeRules(closeAlabama)
    const { out } = await runCommand(
      registerRehearse,
      [...args, '--rules', rules, '--json'],
      running,
    )
    expect(JSON.parse(out)).toMatchObject({
      decisions: 1,
      allowed: 0,
      wouldHaveBlocked: 0,
      blockedByReason: {},
      blockedByGate: 1,
      flipped: [],
    })
  })

  it('leaves out the sandbox unless it is named', async () => {
    const { dataDir } = running
    const args = ['rehearse', '--since', '2026-11-23', '--until', '2026-11-24']
    const { out } = await runCommand(registerRehearse, args, { dataDir })
    expect(out).toContain('1 decision\n')
  })

  it('changes no file of the data folder', async () => {
    const list = () => readdirSync(running.dataDir, { recursive: true }).sort()
    const before = list()
    await rehearse('--rules', changeRules(closeAlabama))
    expect(list()).toEqual(before)
  })

  it.each([
    ['--rules', 'no.yaml', "--rules 'no.yaml': file not found"],
    ['--policy', 'no.yaml', "--policy 'no.yaml': file not found"],
    ['--limit', '-1', "--limit '-1': must be a whole number from 0 to 100,000"],
    ['--limit', '100001', "--limit '100001': must be a whole number from 0 to 100,000"],
    ['--since', 'yesterday', "--since 'yesterday': must be an instant such as"],
  ])('refuses %s %s', async (option, value, message) => {
    const { code, err } = await rehearse(option, value)
    expect(err).toContain(message)
    expect(code).toBe(2)
  })

  it('names field, value and rule of a mistake in the rules or the policy', async () => {
    const rules = changeRules((text) => text.replace('sun: "08:00-21:00"', 'sun: "08:00-25:00"'))
    const wrongRules = await rehearse('--rules', rules)
    expect(wrongRules.code).toBe(2)
    expect(wrongRules.err).toMatch(/1 mistake\(s\):\n {2}- .*rules\.yaml: .*sun.*08:00-25:00.*must/)
    const policy = write(
      'wrong.yaml',
      'policy: { litigator: { onUnknown: allow }, permission: { mode: off }, hours: {} }\n',
    )
    const wrongPolicy = await rehearse('--policy', policy)
    expect(wrongPolicy.code).toBe(2)
    expect(wrongPolicy.err).toContain('policy.litigator.reason: is required to allow unknown')
    expect(wrongPolicy.err).toMatch(/policy\.permission\.mode: .*\(got "off"\)/)
    expect(wrongPolicy.err).toContain("unknown setting 'policy.hours'")
  })
})
