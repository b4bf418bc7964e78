/** `npm run cluster`: what it prints works, and nothing is left. */
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runChild, startChild } from '../../../scripts/children.mjs'
import { until } from '../../e2e/asterisk/lab/until.js'

it('starts servers and an edge that share opt-outs, and leaves nothing', async () => {
  const script = join(import.meta.dirname, '../../../scripts/cluster.mjs')
  const temporary = mkdtempSync(join(tmpdir(), 'callgate-cluster-script-'))
  // PostgreSQL runs as another user.
  chmodSync(temporary, 0o1777)
  const port = String(20_000 + (process.pid % 10_000))
  const child = startChild(process.execPath, [script, '--servers', '2', '--port', port], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout?.on('data', (bytes) => {
    printed += bytes
  })
  try {
    await until('it says how it ends', () => printed.includes('Ctrl-C'), { withinMs: 60_000 })
    const lines = printed.split('\n').filter((line) => line.startsWith('  curl '))
    const run = async (line = '') => (await runChild('bash', ['-c', line], { timeout: 20_000 })).out
    // A server that lags behind for a moment blocks.
    await until('it is allowed', async () => (await run(lines[0])).includes('"allow"'))
    expect(JSON.parse(await run(lines[1]))).toEqual({ message: 'success' })
    const untilBlocked = (line?: string) =>
      until('it is blocked', async () => (await run(line)).includes('"internal-dnc"'))
    await untilBlocked(lines[2])
    await untilBlocked(lines[3])
    expect(JSON.parse(await run(lines[4]))).toEqual({ message: 'success' })
    await untilBlocked(lines[5])
  } finally {
    child.kill('SIGINT')
    await once(child, 'exit')
  }
  expect(readdirSync(temporary)).toEqual([])
  rmSync(temporary, { recursive: true })
})

it('names an option that it cannot use', async () => {
  const script = join(import.meta.dirname, '../../../scripts/cluster.mjs')
  const { code, err } = await runChild(process.execPath, [script, '--servers', '0'])
  expect([code, err]).toEqual([2, "cluster: --servers '0': must be 1 to 9\n"])
})
