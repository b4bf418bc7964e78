/** `callgate check`: what it prints, the hours of a project, and what is refused. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerProjects } from '../../src/commands/accounts/projects.js'
import { registerCheck } from '../../src/commands/check.js'
import type { DecisionDocument } from '../../src/gate/record/decision-document.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string
const noon = '2026-11-23T17:00:00Z'

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-check-'))
})

afterAll(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const check = (args: readonly string[], policy = '') =>
  runCommand(registerCheck, ['check', ...args], {
    dataDir,
    more: `gate:\n  deadlineMs: 5000\n  cache:\n    maxEntries: 1000\n${policy}`,
  })

describe('callgate check', () => {
  it('shows what policy sets aside', async () => {
    const args = ['212-555-0105', '--kind', 'manual', '--at', noon]
    const { out } = await check(args, 'policy: { litigator: { mode: shadow } }\n')
    expect(out).toMatch(/^BLOCK/)
    expect(out).toContain('  policy: litigator in shadow, would have blocked (linked to')
    const open = ['212-555-0100', '--kind', 'ai', '--at', noon]
    expect((await check(open, 'policy: { permission: { mode: shadow } }\n')).out).toMatch(
      /^ALLOW(.|\n)*policy let it pass: permission/,
    )
  })

  it('explains a block, and when the call may be placed', async () => {
    const { out } = await check(['212-555-0106', '--kind', 'ai', '--at', '2026-11-24T03:00:00Z'])
    expect(out).toMatch(/^BLOCK {2}2125550106/)
    expect(out).toContain('may be called from 2026-11-24T13:00:00Z')
    expect(out).toContain('[NO] calling-hours')
  })

  it('names the law that asks for a consent', async () => {
    const clean = ['405-555-0100', '--kind', 'autodialed', '--at', noon]
    const { out } = await check(clean)
    expect(out).toMatch(/^BLOCK {2}4055550100/)
    expect(out).toContain('OK law ok-automated (15 O.S. 775C.2(3)')
    expect((await check(['405-555-0107', ...clean.slice(1)])).out).toMatch(/^ALLOW/)
  })

  it('without a kind shows each kind of call', async () => {
    const { code, out } = await check(['212-555-0100', '--at', noon])
    expect(code).toBe(0)
    expect(out.match(/^(?:ALLOW|BLOCK) .* call/gm)).toEqual([
      'ALLOW  2125550100  manual call',
      'ALLOW  2125550100  autodialed call',
      'BLOCK  2125550100  ai call',
    ])
    const all = await check(['212-555-0100', '--at', noon, '--json', '--exit-code'])
    expect(all.code).toBe(3)
    const decisions = JSON.parse(all.out) as DecisionDocument[]
    expect(decisions.map(({ callKind, reason }) => [callKind, reason])).toEqual([
      ['manual', 'permitted'],
      ['autodialed', 'permitted'],
      ['ai', 'no-consent'],
    ])
  })

  const wrong: readonly (readonly [readonly string[], string])[] = [
    [['2125550100', '--kind', 'robot'], 'Allowed choices are manual, autodialed, ai'],
    [['2125550100', '--kind', 'ai', '--at', 'noon'], "--at 'noon': must be an instant"],
    [
      ['2125550100', '--kind', 'ai', '--at', '2500-01-01'],
      "--at '2500-01-01T00:00:00Z': must be within 50 years of today",
    ],
    [
      ['2125550100', '--kind', 'ai', '--postal', '123'],
      "--postal '123': must be a US ZIP code or a Canadian postal code",
    ],
    [
      ['', '--kind', 'ai', '--postal', '123'],
      "<number> '': is required and must not be empty; --postal '123': must be",
    ],
    [['2125550100', '--kind', 'ai', '--account', 'x'], "account 'x' not found"],
  ]
  for (const [args, text] of wrong) {
    it(`refuses '${args.join(' ')}' with ${text}`, async () => {
      const { code, err, out } = await check(args)
      expect(code).toBe(2)
      expect(err).toContain(text)
      expect(out).toBe('')
    })
  }
})

describe('callgate projects', () => {
  const sandbox = ['--account', 'sandbox']
  const projects = (...args: string[]) =>
    runCommand(registerProjects, ['projects', ...args, ...sandbox], { dataDir })

  it('a project’s own hours narrow its calls, and never widen the law', async () => {
    expect((await projects('create', 'late')).out).toBe('LATE\n')
    const weekend = ['--sat', 'none', '--sun', 'none']
    const hours = (window: string) =>
      projects('hours', 'LATE', 'NY', '--mon-fri', window, ...weekend)
    const judge = async (at: string) => {
      const args = ['2125550100', '--kind', 'manual', '--project', 'LATE', '--json', '--at', at]
      return (JSON.parse((await check(args)).out) as DecisionDocument).decision
    }
    await hours('13:00-14:00')
    expect(await judge(noon)).toBe('block')
    expect(await judge('2026-11-23T18:30:00Z')).toBe('allow')
    await hours('03:00-23:00')
    expect(await judge('2026-11-23T08:30:00Z')).toBe('block')
    expect(await judge(noon)).toBe('allow')
    expect((await projects('list')).out).toContain('LATE')
    expect((await hours('25:00-26:00')).err).toContain("'25:00-26:00'")
  })
})
