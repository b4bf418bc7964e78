/**
 * HTTP decisions at full speed, while nothing else happens, and while another program writes 50 MB/s to the
 * same disk and one client sends scrubs of 10,000 numbers without pause. The two take turns.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scrubUntilStopped } from './bulk.js'
import { startDiskWriter } from './disk-writers.js'
import { decisionsOf, type Measured, measure } from './http.js'
import { startLoad } from './load.js'
import { figure, printTable, range, spreadOf } from './rounds.js'
import { serveCallgate } from './serving.js'

const megabytesPerSecond = 50
const full = { rounds: 7, seconds: 10 }
const quick = { rounds: 2, seconds: 3 }

export async function benchDisk({ small }: { readonly small: boolean }): Promise<void> {
  const { rounds, seconds } = small ? quick : full
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const writer = startDiskWriter()
  const load = startLoad()
  const serving = await serveCallgate({
    CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z',
    CALLGATE_LIMITS_SCRUB_PER_MINUTE: '0',
    CALLGATE_LIMITS_SCRUB_NUMBERS_PER_MINUTE: '0',
  })
  const order = decisionsOf(serving.url, serving.sandboxKey, '"decision":"allow"')
  const target = { name: 'decisions', pid: serving.pid, order: { ...order, seconds } }
  const written: number[] = []
  const scrubbed: number[] = []
  const path = join(folder, 'backup')
  const write = () => writer.write({ path, bytesPerSecond: megabytesPerSecond * 1e6 })
  const besides: readonly (readonly [string, () => Promise<Measured>])[] = [
    ['nothing else (baseline)', () => measure(load, target)],
    [
      `${megabytesPerSecond} MB/s written to the disk`,
      async () => {
        const writing = write()
        const measured = await measure(load, target)
        written.push((await writing.stop()) / 1e6)
        return measured
      },
    ],
    [
      'the same, and scrubs of 10,000',
      async () => {
        const writing = write()
        const scrubbing = scrubUntilStopped(serving)
        const measured = await measure(load, target)
        scrubbed.push(await scrubbing.stop())
        written.push((await writing.stop()) / 1e6)
        return measured
      },
    ],
  ]
  try {
    await measure(load, target)
    const results: Measured[][] = besides.map(() => [])
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, [, run]] of besides.entries()) results[index]?.push(await run())
    }
    const [quiet = []] = results
    const rows = besides.map(([name], index) => {
      const own = results[index] ?? []
      const ratios = own.map(({ perSecond }, round) => perSecond / (quiet[round]?.perSecond ?? 0))
      const p99 = spreadOf(own.map(({ p99Ms }) => p99Ms))
      return [
        name,
        figure(spreadOf(own.map(({ perSecond }) => perSecond)).median),
        figure(spreadOf(ratios).median),
        range(spreadOf(ratios)),
        figure(spreadOf(own.map(({ p50Ms }) => p50Ms)).median),
        figure(p99.median),
        range(p99),
        String(own.reduce((sum, { withheld }) => sum + withheld, 0)),
      ]
    })
    const spread = `min .. max of ${rounds}`
    const p99Head = ['p50 ms', 'p99 ms (aim: 25)', spread, 'withheld']
    printTable(['decisions beside', 'allows/s', 'ratio (aim: 0.5)', spread, ...p99Head], rows)
    const others = `${figure(spreadOf(written).median)} MB/s written (least ${figure(spreadOf(written).min)})`
    process.stdout.write(`  ${others}, ${figure(spreadOf(scrubbed).median)} numbers/s scrubbed\n`)
  } finally {
    await serving.end()
    load.end()
    writer.end()
    rmSync(folder, { recursive: true, force: true })
  }
}
