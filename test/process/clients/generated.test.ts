/** A client that a generator makes of the description of the API compiles, and knows its types. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import openapiTs, { type OpenAPI3 } from 'openapi-typescript'
import { expect, onTestFinished, test } from 'vitest'
import { runChild } from '../../../scripts/children.mjs'
import { openTestCallgate } from '../../support/test-callgate.js'

const root = join(import.meta.dirname, '../../..')

const use = `import type { components, operations } from './api.js'
type Answer = operations['decide']['responses'][200]['content']['application/json']
type Request = NonNullable<operations['decide']['requestBody']>['content']['application/json']
export const request: Request = { number: '2125550106', callKind: 'ai', projectId: 'p' }
export function handle(answer: Answer): string {
  if (answer.decision === 'block') return answer.nextAllowedAt ?? answer.reason
  return answer.dial
}
export const kind: components['schemas']['CallKind'] = 'manual'
export const reason: components['schemas']['ReasonCode'] = 'a-code-of-next-year'
export const used: Request = { number: '2125550106', callKind: 'ai', approvalId: 'ap-1' }
export const waitsFor = (answer: Answer): string | undefined => answer.mandate?.approval?.id
export const isGiven = ({ state }: components['schemas']['Approval']): boolean => state === 'approved'
export const grant: components['schemas']['DialGrant'] = { type: 'callgate_dial', kinds: ['ai'] }
// @ts-expect-error: no kind of call
export const robot: components['schemas']['CallKind'] = 'robot'
export function wrong(answer: Answer): string {
  // @ts-expect-error: a block has nothing to dial
  return answer.dial
}
`

test('openapi-typescript makes types that compile under --strict', async () => {
  const running = await openTestCallgate()
  onTestFinished(() => running.end())
  const folder = mkdtempSync(join(tmpdir(), 'callgate-generated-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const document = (await (await fetch(`${running.url}/openapi.json`)).json()) as OpenAPI3
  writeFileSync(join(folder, 'api.ts'), await openapiTs(document))
  writeFileSync(join(folder, 'use.ts'), use)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--strict', '--noEmit', '--module', 'NodeNext', '--types', '']
  const { code, out } = await runChild(process.execPath, [tsc, ...options, 'api.ts', 'use.ts'], {
    cwd: folder,
    timeout: 60_000,
  })
  expect(code, out).toBe(0)
})
