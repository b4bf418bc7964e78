/**
 * Opens the built program in this process, asks it over HTTP for the same decision twice, cold and
 * warm, and prints which of its files and functions each took, as counted by V8.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const dist = new URL('../../dist/', import.meta.url)
const load = (path) => import(new URL(path, dist).href)
const { openCallgate } = await load('app/callgate.js')
const { getListsFolder } = await load('app/data-folders.js')
const { loadSettings } = await load('config/load.js')
const { createFirstKeys } = await load('commands/serve/first-keys.js')
const { openHttpServer } = await load('commands/serve/http-server.js')
const { NumberListBuilder } = await load('data/number-list/format/number-list-builder.js')
const { numberListExtension } = await load('data/number-list/format/number-list-format.js')
const { nodeRuntime } = await load('runtime/runtime.js')

const mondayNoonInNewYork = Date.UTC(2026, 10, 23, 17)
const dataDir = mkdtempSync(join(tmpdir(), 'callgate-path-'))
const settings = loadSettings({
  environment: {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_HTTP_PORT: '0',
    // The path is counted, not its time.
    CALLGATE_GATE_DEADLINE_MS: '5000',
  },
})
for (const name of ['us-dnc', 'litigators']) {
  const builder = new NumberListBuilder()
  builder.add('2127365999')
  const origin = { feed: 'list', previous: null, sources: [] }
  const when = { asOf: mondayNoonInNewYork, importedAt: mondayNoonInNewYork }
  await builder.write(join(getListsFolder(settings), `${name}${numberListExtension}`), {
    name,
    coverage: 'all',
    ...origin,
    ...when,
  })
}
const clock = { now: () => mondayNoonInNewYork + performance.now() }
const callgate = await openCallgate(settings, { ...nodeRuntime, clock, processMetrics: false })
await callgate.journal.open()
const server = await openHttpServer(callgate)
const keys = await createFirstKeys(callgate, async () => undefined)
const headers = { loginId: keys.get('main'), 'content-type': 'application/json' }
const decide = async (number) => {
  const body = JSON.stringify({ number, callKind: 'manual' })
  const reply = await fetch(`${server.url}/v1/decisions`, { method: 'POST', headers, body })
  return await reply.json()
}

const session = new Session()
session.connect()

/** What ran since the last reading, by file. */
async function readCoverage() {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url }) => url.startsWith(dist.href))
    .map(({ url, functions }) => ({
      file: url.slice(dist.href.length).replace(/\.js$/, '.ts'),
      // What begins at 0 is the file itself.
      counts: functions
        .filter(({ ranges }) => ranges[0].startOffset > 0)
        .flatMap(({ ranges }) => ranges[0].count || []),
    }))
    .filter(({ counts }) => counts.length > 0)
}

async function measure(number) {
  // What the decision before has left to do is not this one's.
  await callgate.journal.drain()
  await sleep(50)
  await readCoverage()
  const { decision, message } = await decide(number)
  const found = await readCoverage()
  const counts = found.flatMap((one) => one.counts)
  return {
    decision,
    message,
    files: found.map(({ file }) => file).sort(),
    functions: counts.length,
    calls: counts.reduce((total, count) => total + count, 0),
  }
}

await decide('2127365001')
await decide('2127365001')
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
// Background work may fall into one measurement, and not into all of them.
const cold = []
const warm = []
for (const number of ['2127365002', '2127365003', '2127365004']) {
  cold.push(await measure(number))
  warm.push(await measure(number))
}
const shortest = (paths) => paths.toSorted((one, other) => one.calls - other.calls)[0]
process.stdout.write(`${JSON.stringify({ cold: shortest(cold), warm: shortest(warm) })}\n`)
await server.close()
await callgate.close()
rmSync(dataDir, { recursive: true, force: true })
