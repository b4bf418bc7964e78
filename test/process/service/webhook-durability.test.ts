/** A process killed again and again while it adds and delivers: nothing acknowledged is lost. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import { useDatabase } from '../../support/database.js'
import { randomFrom } from '../../support/hostile-requests.js'
import { shortOrLong } from '../../support/long.js'
import { verifyWebhookSignature } from '../../support/verify-webhook-signature.js'

const script = join(import.meta.dirname, '../../support/webhook-child.mjs')
const kills = shortOrLong(9, 21)
const random = randomFrom(9)
const database = useDatabase()

interface Received {
  readonly bodies: Set<string>
  taken: number
}

/** Takes half of what comes, and answers the rest with a 500, a hang-up, or nothing. */
async function openReceiver() {
  const received = new Map<string, Received>()
  const wrong: string[] = []
  const sockets = new Set<Socket>()
  const answer = (response: ServerResponse, id: string) => {
    const chance = random()
    const known = received.get(id)
    if (chance < 0.5) {
      if (known) known.taken += 1
      response.end()
    } else if (chance < 0.75) response.writeHead(500).end()
    else if (chance < 0.85) response.destroy()
  }
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = ''
    try {
      for await (const part of request) body += String(part)
    } catch {
      // The process was killed in the middle.
      return
    }
    const id = String(request.headers['webhook-id'])
    const header = String(request.headers['callgate-signature'])
    const now = Number(request.headers['webhook-timestamp']) * 1000
    if (verifyWebhookSignature({ header, body, secret: 'secret', now }) !== 'valid') wrong.push(id)
    const known = received.get(id) ?? { bodies: new Set<string>(), taken: 0 }
    const { at } = JSON.parse(body) as { at: number }
    received.set(id, known)
    known.bodies.add(String(at))
    answer(response, id)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    wrong,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
})

/** A process that has loaded its modules and waits to be told to begin. */
function prepare(url: string) {
  const args = [script, database.folder, url]
  const child = startChild(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  let output = ''
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString()
  })
  return {
    child,
    ended: once(child, 'close') as Promise<[number | null, string | null]>,
    begin: (most: number) => child.stdin.write(String(most)),
    /** Those it has written whole. */
    lines: () => output.split('\n').slice(0, -1),
  }
}

test('every acknowledged event is delivered in the end, whenever the process is killed', async () => {
  const receiver = await openReceiver()
  const acknowledged: string[] = []
  try {
    const prepared = [prepare(receiver.url)]
    for (let killed = 0; killed < kills; killed += 1) {
      prepared.push(prepare(receiver.url))
      const { child, ended, begin, lines } = prepared.shift() as ReturnType<typeof prepare>
      begin(1_000)
      await expect.poll(() => lines().length, { interval: 2 }).toBeGreaterThan(2)
      await pause(random() * 50)
      child.kill('SIGKILL')
      expect(await ended).toEqual([null, 'SIGKILL'])
      acknowledged.push(...lines())
    }
    const [last] = prepared
    last?.begin(0)
    expect(await last?.ended).toEqual([0, null])
  } finally {
    await receiver.close()
  }
  const rows = await database.db
    .selectFrom('webhook_events')
    .select(['id', 'state', 'attempts', 'body'])
    .execute()
  const states = new Map(rows.map((row) => [row.id, row.state]))
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  expect(acknowledged.length).toBeGreaterThan(kills * 2)
  expect(acknowledged.filter((id) => states.get(id) !== 'delivered')).toEqual([])
  expect(rows.filter(({ state }) => state !== 'delivered')).toEqual([])
  expect(rows.filter(({ id }) => (receiver.received.get(id)?.taken ?? 0) < 1)).toEqual([])
  // Duplicates are the same event: no id stands for two, and none is made up.
  const confused = [...receiver.received].filter(([id, { bodies }]) => {
    const row = rows.find((one) => one.id === id)
    return !row || bodies.size !== 1
  })
  expect([confused, receiver.wrong]).toEqual([[], []])
  const attempts = await database.db
    .selectFrom('webhook_attempts')
    .select(({ fn }) => ['event_id', fn.countAll().as('count'), fn.max('attempt').as('last')])
    .groupBy('event_id')
    .execute()
  const counted = new Map(attempts.map((row) => [row.event_id, [row.count, row.last]]))
  for (const { id, attempts: made } of rows) expect(counted.get(id)).toEqual([made, made])
})
