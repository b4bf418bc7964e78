/** `callgate permits rotate`: what it prints, and what it refuses. */
import { createPublicKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { registerPermits } from '../../src/commands/accounts/permits.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-permits-'))
})

afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const rotate = (...args: string[]) =>
  runCommand(registerPermits, ['permits', 'rotate', ...args], {
    dataDir,
    more: 'permits: { issuer: https://gate.example, edges: { edge-a: { accounts: [sandbox] } } }\n',
  })

it('prints the public key alone, and when it signs', async () => {
  const { out, err } = await rotate('edge-a')
  expect(createPublicKey(out).asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' })
  expect(out.replace(/-----BEGIN PUBLIC KEY-----[\s\S]*-----END PUBLIC KEY-----\n/, '')).toBe('')
  expect(err).toMatch(/^edge-a: signs from \S+Z; give it to the edge now\n$/)
})

it('refuses a second one meanwhile, except at once', async () => {
  expect((await rotate('edge-a')).err).toContain('waits to sign already')
  const atOnce = await rotate('edge-a', '--at-once')
  expect(atOnce.out).toContain('BEGIN PUBLIC KEY')
})

it.each(['edge-b', 'toString'])('refuses %s, which is no edge', async (edge) => {
  expect((await rotate(edge)).err).toContain(`edge '${edge}' is not in permits.edges`)
})
