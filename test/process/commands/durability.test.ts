import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { shortOrLong } from '../../support/long.js'
import { type Serving, serve } from '../../support/program.js'

/**
 * The whole program, killed in the middle of everything, again and again over one data folder. What
 * was acknowledged is remembered here and looked for at the end.
 */
const kills = shortOrLong(3, 12)

let dataDir: string
let receiver: Server
/** Bodies of the notifications that were answered with 200, by event id. */
const delivered = new Map<string, { readonly JobId: string; readonly Status: string }>()
let asked = 0

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-killed-'))
  receiver = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      asked += 1
      // Every second one is refused and every fifth hangs, so that retries are always under way.
      if (asked % 5 === 0) return
      const status = asked % 2 === 0 ? 503 : 200
      if (status === 200) {
        const id = String(request.headers['webhook-id'])
        delivered.set(id, JSON.parse(Buffer.concat(parts).toString()))
      }
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
})

afterAll(() => {
  receiver.closeAllConnections()
  receiver.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const start = () =>
  serve({
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_WEBHOOKS_ALLOW: '127.0.0.0/8',
    CALLGATE_WEBHOOKS_TIMEOUT_MS: '300',
    CALLGATE_WEBHOOKS_RETRY_MS: `[${Array(20).fill(50).join(',')}]`,
    CALLGATE_LIMITS_REPUTATION_PER_MINUTE: '0',
    CALLGATE_REPUTATION_FIRST_CHECK_WITHIN_MS: '2000',
  })

const acknowledged = {
  listed: new Set<string>(),
  consents: new Set<string>(),
  monitored: new Set<string>(),
  jobs: new Set<string>(),
}

const acknowledgements = () => Object.values(acknowledged).reduce((sum, { size }) => sum + size, 0)

let key = ''
let written = 0

async function ask(url: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** One of the fictional numbers, a new one each time: lines 0100 to 0112 of one area code after another. */
function nextNumber(): string {
  written += 1
  const areaCodes = ['212', '646', '917', '305', '213', '415', '617', '702', '202', '503']
  const areaCode = areaCodes[Math.floor(written / 13) % areaCodes.length]
  return `${areaCode}555${String(100 + (written % 13)).padStart(4, '0')}`
}

const writes: readonly ((url: string) => Promise<void>)[] = [
  async (url) => {
    const number = nextNumber()
    await ask(url, `/app/main/rpc/pdnc?phoneList=${number}&actionType=add`)
    acknowledged.listed.add(number)
  },
  async (url) => {
    const phoneNumber = nextNumber()
    const ebrList = [{ phoneNumber, type: 'I', dateOfLastContact: '2026-01-02' }]
    await ask(url, '/app/main/rpc/ebr', { ebrList })
    acknowledged.consents.add(phoneNumber)
  },
  async (url) => {
    const Phone = nextNumber()
    await ask(url, '/v1.4/reputation/add', [{ Phone }])
    acknowledged.monitored.add(Phone)
  },
  async (url) => {
    const { port } = receiver.address() as AddressInfo
    const job = (await ask(url, '/v1.5/Reputation/OneTimeScan', {
      PhoneNumbers: Array.from({ length: 30 }, nextNumber),
      NotificationURL: `http://127.0.0.1:${port}/hook`,
      ScanType: 'carrierandapps',
    })) as { JobId: string }
    acknowledged.jobs.add(job.JobId)
  },
]

/** Writes without a pause until the program is gone. */
async function writeUntilGone({ url }: Serving): Promise<void> {
  const endless = async (write: (url: string) => Promise<void>) => {
    for (;;) await write(url)
  }
  await Promise.allSettled(writes.map(endless))
}

/** Asked seldom, since the server has work to do. */
const soon = { withinMs: 60_000, everyMs: 100 }

it(`loses nothing in ${kills} kills`, async () => {
  for (let kill = 0; kill < kills; kill += 1) {
    const serving = await start()
    key ||= serving.keys.sandbox
    const writing = writeUntilGone(serving)
    // The number varies, so that each kill comes at another place of what is under way.
    const enough = acknowledgements() + 4 + ((kill * 7) % 9)
    await until('some writes are done', () => acknowledgements() >= enough, { ...soon, everyMs: 2 })
    expect(await serving.end('SIGKILL')).toBe('SIGKILL')
    await writing
  }
  expect(acknowledged.jobs.size).toBeGreaterThanOrEqual(kills / 2)
  expect(acknowledged.listed.size).toBeGreaterThanOrEqual(kills)

  const serving = await start()
  const { url } = serving
  const state = async (job: string) =>
    (await ask(url, `/v1.5/Reputation/OneTimeScan?jobId=${job}`)) as {
      Status: string
      PhoneCount: number
      ProcessedCount: number
      Results?: readonly unknown[]
    }
  for (const job of acknowledged.jobs) {
    await until(`job ${job} ends`, async () => (await state(job)).Status === 'Complete', soon)
    const { PhoneCount, ProcessedCount, Results } = await state(job)
    expect([PhoneCount, ProcessedCount, Results?.length]).toEqual([30, 30, 30])
  }
  await until(
    'every job is told of',
    async () => {
      const told = new Set([...delivered.values()].map(({ JobId }) => JobId))
      return [...acknowledged.jobs].every((job) => told.has(job))
    },
    soon,
  )
  const eventsByJob = new Map<string, number>()
  for (const { JobId, Status } of delivered.values()) {
    expect(Status).toBe('Complete')
    eventsByJob.set(JobId, (eventsByJob.get(JobId) ?? 0) + 1)
  }
  expect([...eventsByJob].filter(([, count]) => count !== 1)).toEqual([])

  const listed = [...acknowledged.listed].join(',')
  const status = (await ask(
    url,
    `/app/main/rpc/pdnc?actionType=status&phoneList=${listed}`,
  )) as readonly { phone: string; onList: boolean }[]
  expect(status.filter(({ onList }) => !onList).map(({ phone }) => phone)).toEqual([])
  const consents = [...acknowledged.consents].join(',')
  const records = (await ask(url, `/app/main/rpc/ebr?phoneList=${consents}`)) as readonly {
    phoneNumber: string
  }[]
  const onFile = new Set(records.map(({ phoneNumber }) => phoneNumber))
  expect([...acknowledged.consents].filter((number) => !onFile.has(number))).toEqual([])
  const monitored = [...acknowledged.monitored]
  await until(
    'every monitored number is scored',
    async () => {
      const scores = (await ask(url, '/v1.4/reputation/get', monitored)) as readonly {
        CurrScore: string
      }[]
      return scores.every(({ CurrScore }) => CurrScore === 'Clean')
    },
    soon,
  )
  expect(await serving.end('SIGTERM')).toBe(0)
})
