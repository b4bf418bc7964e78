/**
 * Opens the built program in this process with two HTTP servers, one that answers long requests in
 * service threads and one that answers them itself. Prints what they answered and what the main thread
 * executed. The service threads are those of `failing-service-thread.mjs`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const dist = new URL('../../dist/', import.meta.url)
const load = (path) => import(new URL(path, dist).href)
const { openCallgate } = await load('app/callgate.js')
const { getListsFolder } = await load('app/data-folders.js')
const { ServiceThreads } = await load('app/service-threads.js')
const { loadSettings } = await load('config/load.js')
const { refreshData } = await load('commands/serve/data-watch.js')
const { createFirstKeys } = await load('commands/serve/first-keys.js')
const { openHttpServer } = await load('commands/serve/http-server.js')
const { NumberListBuilder } = await load('data/number-list/format/number-list-builder.js')
const { nodeRuntime } = await load('runtime/runtime.js')

const mondayNoonInNewYork = Date.UTC(2026, 10, 23, 17)
const dataDir = mkdtempSync(join(tmpdir(), 'callgate-threads-'))
const settings = loadSettings({
  environment: {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_HTTP_PORT: '0',
    CALLGATE_SANDBOX_AT: new Date(mondayNoonInNewYork).toISOString(),
  },
})
mkdirSync(getListsFolder(settings), { recursive: true })
async function writeList(name, ...numbers) {
  const builder = new NumberListBuilder()
  for (const number of numbers) builder.add(number)
  await builder.write(join(getListsFolder(settings), `${name}.cglist`), {
    ...{ name, coverage: 'all', feed: 'list', previous: null, sources: [] },
    ...{ asOf: Date.now(), importedAt: Date.now() },
  })
}

const listed = '2127365000'
const unlisted = '2127365001'
await writeList('us-dnc', listed)
await writeList('litigators', '2127365999')
const logLines = []
const add = (message, { err, ...fields } = {}) =>
  logLines.push({ message, ...fields, ...(err && { err: err.message }) })
const log = { error: add, warn: () => undefined, info: () => undefined, debug: () => undefined }
const runtime = { ...nodeRuntime, log, processMetrics: false }
const callgate = await openCallgate(settings, runtime)
await callgate.journal.open()
await callgate.accounts.set('sandbox', { numbersPerScrub: 100_000 })
const module = new URL('failing-service-thread.mjs', import.meta.url)
// A small heap, so that a thread runs out of memory soon.
const resourceLimits = { maxOldGenerationSizeMb: 64 }
const threads = new ServiceThreads(callgate, { count: 2, module, resourceLimits })
const threaded = await openHttpServer(callgate, [], threads)
const alone = await openHttpServer(callgate)
const keys = await createFirstKeys(callgate, async () => undefined)

async function send(server, { path, method = 'POST', account = 'sandbox', headers = {}, body }) {
  const isText = typeof body === 'string' || body === undefined || body instanceof FormData
  const isKeyless = headers.loginId === ''
  const response = await fetch(server.url + path, {
    method,
    headers: {
      ...(isKeyless ? {} : { loginId: keys.get(account) }),
      ...(isText ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: isText ? body : JSON.stringify(body),
  })
  const { date, ...others } = Object.fromEntries(response.headers)
  return { status: response.status, headers: others, text: await response.text() }
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** How often the main thread called the functions of a file since the last reading, by name. */
async function countCalls(file) {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const found = result.find(({ url }) => url === new URL(file, dist).href)
  const counts = (found?.functions ?? []).map((one) => [one.functionName, one.ranges[0].count])
  return Object.fromEntries(counts.filter(([name, count]) => name !== '' && count > 0))
}

const count = 1_000
const numbers = Array.from({ length: count }, (_, index) => String(2_125_550_100 + (index % 20)))
const phoneList = numbers.join(',')
/** Without records and entries at first. */
const denverNumbers = numbers.map((number) => number.replace('212', '303'))
const atlantaNumbers = numbers.map((number) => number.replace('212', '404'))
const scrubPath = '/app/main/rpc/scrub'
const results = {}
const steps = {
  async work() {
    const evaluator = 'judge/row.js'
    const scrub = (server, phones) => send(server, { path: scrubPath, body: { phoneList: phones } })
    await countCalls(evaluator)
    await scrub(threaded, phoneList)
    const inThread = await countCalls(evaluator)
    await scrub(threaded, numbers[0])
    const short = await countCalls(evaluator)
    await scrub(alone, phoneList)
    const byItself = await countCalls(evaluator)
    // Both servers have now counted the same requests.
    await scrub(alone, numbers[0])
    return { inThread, short, alone: byItself }
  },

  async sameAnswers() {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const json = { 'content-type': 'application/json' }
    const multipart = new FormData()
    multipart.set('phoneList', phoneList)
    multipart.set('version', '8')
    const list = (name, more) => ({
      [name]: numbers.slice(0, 300).map((PhoneNumber) => ({ PhoneNumber, ...more })),
    })
    const records = [{ phoneNumber: numbers[3], type: 'P', dateOfLastContact: '11/20/2026' }]
    const scrub = (body, more = {}) => ({ path: scrubPath, body, ...more })
    const pdnc = (actionType, more = {}) => ({
      path: '/app/main/rpc/pdnc',
      body: { phoneList, actionType, ...more },
    })
    const ebrPath = '/app/main/rpc/ebr'
    const consentOf = (phoneNumber) => ({ ...records[0], phoneNumber })
    const unknown = Array.from({ length: 300 }, (_, index) => String(5_055_550_100 + index))
    const requests = {
      csv: scrub({ phoneList }),
      json: scrub({ phoneList, version: 8, output: 'json' }),
      form: scrub(`phoneList=${phoneList}&version=2`, { headers: form }),
      multipart: scrub(multipart),
      stream: scrub({ phoneList: Array(15).fill(phoneList).join(',') }),
      streamOfJson: scrub({ phoneList: Array(15).fill(phoneList).join(','), output: 'json' }),
      records: scrub({ phoneList, ebrList: records }),
      badRecords: scrub({ phoneList, ebrList: [{ ...records[0], type: 'Z' }] }),
      keyInBody: scrub({ phoneList, loginId: keys.get('sandbox') }, { headers: { loginId: '' } }),
      keyInAddress: scrub({ phoneList }, { path: `${scrubPath}?loginId=${keys.get('sandbox')}` }),
      wrongKey: scrub({ phoneList, loginId: 'wrong' }, { headers: { loginId: '' } }),
      noKey: scrub({ phoneList }, { headers: { loginId: '' } }),
      realAccount: scrub({ phoneList }, { account: 'main' }),
      fieldsInAddress: scrub({ phoneList }, { path: `${scrubPath}?version=8&output=json` }),
      twice: scrub({ phoneList }, { path: `${scrubPath}?phoneList=2125550100` }),
      ignored: scrub({ phoneList, colour: 'blue' }),
      malformed: scrub(`{"phoneList":"${phoneList}"`, { headers: json }),
      duplicate: scrub(`{"phoneList":"${phoneList}","phoneList":"1"}`, { headers: json }),
      notUtf8: scrub(`phoneList=${phoneList}`, { headers: { 'content-type': 'text/html' } }),
      unknownProject: scrub({ phoneList, projId: 'NONE' }),
      badVersion: scrub({ phoneList, version: 9 }),
      tooMany: scrub({ phoneList: Array(11).fill(phoneList).join(',') }, { account: 'main' }),
      litigator: { path: '/v1.5/Scrub/litigator', body: { PhoneList: phoneList } },
      timeLegal: { path: '/v1.5/GeoScrub/IsTimeLegalToCall', body: list('IsTimeLegalToCall') },
      callTimes: {
        path: '/v1.5/GeoScrub/LegalCallTimesForDate',
        body: list('LegalCallTimesForDate', { NumberOfDays: 3 }),
      },
      timeZones: { path: '/v1.5/GeoScrub/GetTimeZoneInfo', body: { PhoneList: numbers } },
      reassigned: {
        path: '/v1.5/Data/EnhancedRND',
        body: numbers.map((phoneNumber) => ({ phoneNumber, date: '01/31/2024' })),
      },
      foreignProject: {
        path: '/v1.5/Data/RNDBasic',
        body: {
          Data: numbers.map((phoneNumber) => ({ phoneNumber, date: '01/31/2024' })),
          ProjId: 'OTHERS',
        },
      },
      monitored: { path: '/v1.5/Reputation/Get', body: numbers },
      allMonitored: { path: '/v1.5/Reputation/GetAll?maxRecords=10', method: 'GET' },
      tooManyMonitored: { path: '/v1.5/Reputation/GetAll?maxRecords=50001', method: 'GET' },
      unmonitored: { path: '/v1.5/Reputation/Remove', body: unknown },
      badScan: {
        path: '/v1.5/Reputation/OneTimeScan',
        account: 'main',
        body: { PhoneNumbers: numbers, NotificationURL: 'nowhere', ScanType: 'carrier' },
      },
      noScan: {
        path: '/v1.5/Reputation/OneTimeScan?jobId=11111111-1111-4111-8111-111111111111',
        method: 'GET',
      },
      badWarmup: { path: '/v1/warm', body: { numbers, keepForMs: -1 } },
      tooManyToWarm: { path: '/v1/warm', body: { numbers: Array(150).fill(numbers).flat() } },
      optOut: pdnc('add'),
      optOutAsForm: {
        ...pdnc('add'),
        headers: form,
        body: `phoneList=${phoneList}&actionType=add`,
      },
      status: pdnc('status'),
      count: pdnc('count'),
      badOptOut: pdnc('add', { phoneList: `${phoneList},123` }),
      optIn: pdnc('remove'),
      consent: { path: ebrPath, body: { ebrList: numbers.map(consentOf) } },
      badConsent: { path: ebrPath, body: { ebrList: [...numbers, '123'].map(consentOf) } },
      noConsent: { path: `${ebrPath}/remove`, body: { phoneList: unknown.join(',') } },
      badTimes: {
        path: '/v1.5/GeoScrub/IsTimeLegalToCall',
        body: list('IsTimeLegalToCall', { ProposedCallTime: 'x' }),
      },
    }
    const pairs = {}
    for (const [name, request] of Object.entries(requests)) {
      pairs[name] = [await send(threaded, request), await send(alone, request)]
    }
    return pairs
  },

  async lists() {
    const phones = [listed, unlisted, ...Array(300).fill(listed)].join(',')
    const letters = async () => {
      const scrub = { path: scrubPath, account: 'main', body: { phoneList: phones } }
      const { text } = await send(threaded, scrub)
      return text
        .split('\n')
        .slice(0, 2)
        .map((row) => row.split(',')[1])
    }
    const before = await letters()
    await writeList('us-dnc', listed, unlisted)
    await refreshData(callgate)
    const after = await letters()
    await writeList('us-dnc', unlisted)
    await refreshData(callgate)
    return { before, after, replaced: await letters() }
  },

  async projects() {
    const scrub = () => send(threaded, { path: scrubPath, body: { phoneList, projId: 'NEW' } })
    const before = await scrub()
    await send(threaded, {
      path: '/v1.5/projects',
      body: { ProjectCode: 'NEW', ProjectName: 'New' },
    })
    const after = await scrub()
    return { before: before.status, after: after.status }
  },

  async optOut() {
    const [number] = denverNumbers
    const phones = denverNumbers.join(',')
    const letter = async () => {
      const { text } = await send(threaded, { path: scrubPath, body: { phoneList: phones } })
      return text.split('\n')[0].split(',')[1]
    }
    const act = (actionType) =>
      send(threaded, { path: '/app/main/rpc/pdnc', body: { phoneList: number, actionType } })
    const before = await letter()
    await act('add')
    const after = await letter()
    await act('remove')
    return { before, after, removed: await letter() }
  },

  /** An opt-out and a consent that are acknowledged are in force for the next decision. */
  async decisions() {
    const decide = async (callKind) => {
      const body = { number: atlantaNumbers[0], callKind }
      const { text } = await send(threaded, { path: '/v1/decisions', body })
      return JSON.parse(text).reason
    }
    const act = (path, body) => send(threaded, { path: `/app/main/rpc/${path}`, body })
    const reasons = [await decide('ai')]
    const record = { type: 'P', dateOfLastContact: '11/20/2026' }
    await act('ebr', { ebrList: atlantaNumbers.map((phoneNumber) => ({ ...record, phoneNumber })) })
    reasons.push(await decide('ai'), await decide('manual'))
    await act('pdnc', { phoneList: atlantaNumbers.join(','), actionType: 'add' })
    reasons.push(await decide('manual'))
    await act('pdnc', { phoneList: atlantaNumbers.join(','), actionType: 'remove' })
    reasons.push(await decide('manual'))
    return reasons
  },

  async failures() {
    const found = {}
    let forgotten = 0
    const forget = () => {
      forgotten += 1
    }
    const end = callgate.changes.subscribe({ numbersChanged() {}, everythingChanged: forget })
    for (const cause of ['error', 'memory']) {
      logLines.length = 0
      const failing = send(threaded, { path: `${scrubPath}?end=${cause}`, body: { phoneList } })
      const decision = await send(threaded, {
        path: '/v1/decisions',
        body: { number: '3035550100', callKind: 'manual' },
      })
      const failed = await failing
      const log = [...logLines]
      const next = await send(threaded, { path: scrubPath, body: { phoneList } })
      found[cause] = { failed, decision: decision.status, next: next.status, log }
    }
    const metrics = await send(threaded, { path: '/metrics', method: 'GET' })
    end()
    return {
      ...found,
      forgotten,
      counted: /^callgate_service_thread_failures_total (.*)$/m.exec(metrics.text)?.[1],
    }
  },

  async stop() {
    const isAsked = new Promise((resolve) => {
      const answer = threads.answer.bind(threads)
      threads.answer = (...request) => {
        resolve()
        return answer(...request)
      }
    })
    const scrub = send(threaded, { path: scrubPath, body: { phoneList } })
    await isAsked
    await threaded.close()
    return { status: (await scrub).status }
  },
}
for (const [name, run] of Object.entries(steps)) results[name] = await run()
await threads.close()
await alone.close()
await callgate.close()
rmSync(dataDir, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(results)}\n`)
