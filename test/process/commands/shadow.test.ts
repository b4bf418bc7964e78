/** Calls that are only measured, and the report of what would have been blocked. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callgate, type Serving, serve } from '../../support/program.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-shadow-'))
const environment = {
  CALLGATE_DATA_DIR: join(folder, 'var'),
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  CALLGATE_GATE_SHADOW_ACCOUNTS: '["sandbox"]',
  // How long a slow machine takes to decide is no matter here: each call is counted.
  CALLGATE_GATE_DEADLINE_MS: '10000',
}
let server: Serving

beforeAll(async () => {
  server = await serve(environment)
})
afterAll(async () => {
  await server.end('SIGTERM')
  rmSync(folder, { recursive: true })
})

interface Answer {
  readonly decision: string
  readonly reason: string
  readonly message: string
  readonly policy?: readonly { readonly check: string; readonly effect: string }[]
}

async function ask(account: 'main' | 'sandbox', fields: object): Promise<Answer> {
  const response = await fetch(`${server.url}/v1/decisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', loginId: server.keys[account] },
    body: JSON.stringify(fields),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Answer
}

const report = (...args: readonly string[]) => callgate(['report', 'shadow', ...args], environment)

describe('an account in shadow', () => {
  test('is allowed what the checks would have blocked, and the record says so', async () => {
    const litigator = await ask('sandbox', { number: '2125550105', callKind: 'manual' })
    expect(litigator).toMatchObject({ decision: 'allow', reason: 'permitted' })
    expect(litigator.message).toMatch(
      /^policy let it pass: litigator in shadow, would have blocked/,
    )
    expect(await ask('sandbox', { number: '2125550104', callKind: 'ai' })).toMatchObject({
      decision: 'allow',
    })
    const clean = await ask('sandbox', { number: '2125550100', callKind: 'manual' })
    expect(clean.policy).toBeUndefined()
  })

  test('is still blocked what is no telephone number', async () => {
    const answer = await ask('sandbox', { number: '123', callKind: 'manual' })
    expect(answer.decision).toBe('block')
  })

  test('leaves other accounts as they are', async () => {
    const answer = await ask('main', { number: '2123334444', callKind: 'manual' })
    expect(answer.decision).toBe('block')
  })
})

describe('callgate report shadow', () => {
  test('counts the calls by the reason that would have blocked them, beside the server', async () => {
    await ask('sandbox', { number: '2125550105', callKind: 'ai', at: '2026-11-23T17:00:00Z' })
    const { code, out } = await report('--since', '1h', '--account', 'sandbox', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      decisions: 4,
      blocked: 1,
      wouldHaveBlocked: 2,
      byReason: { litigator: 1, 'internal-dnc': 1 },
      byAccount: { sandbox: 2 },
      byTrunk: { '': 2 },
    })
  })

  test('is a short text for people, about real accounts unless one is named', async () => {
    const sandbox = await report('--account', 'sandbox')
    expect(sandbox.out).toContain('would have blocked 2 of 4 (50.0 %)\n1 were blocked')
    expect(sandbox.out).toMatch(/\nreason +would have blocked\n(?:litigator|internal-dnc) +1\n/)
    const real = await report()
    expect(real.out).toContain('1 decision\nwould have blocked 0 of 1 (0.0 %)\n1 were blocked')
  })

  test.each([
    [['--since', 'yesterday'], "--since 'yesterday': must be an instant such as"],
    [['--since', '1h', '--until', '2h'], "--since '1h': must be before --until '2h'"],
    [['--since', '2031-01-01'], "--since '2031-01-01': must be before now"],
    [['--account', 'typo'], "account 'typo' not found (see: callgate accounts list)"],
  ])('%j is refused', async (args, message) => {
    const { code, err } = await report(...args)
    expect(err).toContain(message)
    expect(code).toBe(2)
  })

  test('says that there is no journal', async () => {
    const elsewhere = { CALLGATE_DATA_DIR: join(folder, 'none') }
    const { code, err } = await callgate(['report', 'shadow'], elsewhere)
    expect(err).toContain(`${join(folder, 'none', 'journal')}: there is no journal`)
    expect(code).toBe(1)
  })
})
