/** What `callgate warm` makes of servers that fail: cut off, silent, away, or telling the key. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { WarmupProgressBody } from '../../src/api/gate/warmup.js'
import { CommandFailure } from '../../src/commands/command.js'
import { WarmupClient } from '../../src/commands/warm/warmup-client.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { Timers } from '../../src/domain/time/clock.js'
import { systemTimers } from '../../src/runtime/runtime.js'

const loginId = `SECRETKEY${'1'.repeat(35)}`
const numbers = [{ number: toPhoneNumber('2125550100') }]

type Answer = (response: ServerResponse) => void

let closeServer: () => Promise<void> = async () => undefined
afterEach(() => closeServer())

/** Answers one request after another as told, the last way for all that follow. */
async function clientOf(answers: readonly Answer[]) {
  const isSlow = answers.some((answer) => answer === silent || answer === halfSilent)
  const requestTimeoutMs = isSlow ? 100 : 30_000
  let requests = 0
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => {
      answers[Math.min(requests, answers.length - 1)]?.(response)
      requests += 1
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeServer = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const client = new WarmupClient({ url, loginId, timers: leapingTimers(), requestTimeoutMs })
  return { client, url, requests: () => requests, close: () => closeServer() }
}

/** Every wait is over at once, and counts as if it had been made. */
function leapingTimers(): Timers {
  let elapsed = 0
  return {
    monotonicMs: () => elapsed,
    after: (ms, run) => {
      elapsed += ms
      return systemTimers.after(0, run)
    },
  }
}

const job: WarmupProgressBody = {
  id: 'job1',
  state: 'asking',
  numbers: 1,
  done: 0,
  fresh: 0,
  answered: 0,
  unanswered: 0,
  startedAt: '2026-11-23T17:00:00Z',
  keptUntil: '2026-11-23T18:00:00Z',
  passes: 0,
}
const json = (body: object, status = 200): Answer => {
  return (response) => void response.writeHead(status).end(JSON.stringify(body))
}
const cutOff: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' })
  response.write('{"id":', () => response.destroy())
}
const hungUp: Answer = (response) => void response.destroy()
const silent: Answer = () => undefined
const halfSilent: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' })
  response.write('{"id":')
}
const text = (body: string, status = 200): Answer => {
  return (response) => void response.writeHead(status).end(body)
}

/** What it ends with, which is for people: a message without a stack trace. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  const failure: unknown = await work.catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(CommandFailure)
  expect(failure).toMatchObject({ exitCode: 1 })
  return (failure as CommandFailure).message
}

describe('beginning to warm', () => {
  const failures: readonly (readonly [string, Answer, string])[] = [
    ['is cut off', cutOff, 'the reply was cut off: other side closed'],
    ['is no reply at all', hungUp, 'cannot be reached: other side closed'],
    ['never comes', silent, 'no complete answer within 0.1 s'],
    ['never ends', halfSilent, 'no complete answer within 0.1 s'],
    ['is no JSON', text('<html>'), "'<html>' is not a valid answer of this call"],
    ['is a server error', text('down', 503), 'status 503: down'],
  ]
  it.each(failures)('fails clearly, and once, when the answer %s', async (_name, answer, what) => {
    const { client, url, requests } = await clientOf([answer])
    expect(await failureOf(client.start(numbers, { keepForMs: 0 }))).toBe(`--url '${url}': ${what}`)
    expect(requests()).toBe(1)
  })

  const echoes: readonly (readonly [string, Answer])[] = [
    ['a problem', json({ detail: `no key ${loginId}` }, 401)],
    ['an error that is cut short', text(`${'x'.repeat(45)}${loginId}`, 500)],
    ['an answer of another kind', text(`your loginId: ${loginId}`)],
  ]
  it.each(echoes)('does not show the key that a server sends back in %s', async (_name, answer) => {
    const { client } = await clientOf([answer])
    expect(await failureOf(client.start(numbers, { keepForMs: 0 }))).not.toContain('SECRET')
  })

  it('does not show a key that no header can carry', async () => {
    const { url } = await clientOf([json(job)])
    const client = new WarmupClient({ url, loginId: 'SECRETKEY1\nABC', timers: systemTimers })
    expect(await failureOf(client.start(numbers, { keepForMs: 0 }))).not.toContain('SECRET')
  })
})

describe('following a job', () => {
  const passing: readonly (readonly [string, Answer])[] = [
    ['cut off', cutOff],
    ['hung up', hungUp],
    ['silent', silent],
    ['half silent', halfSilent],
    ['no JSON', text('{"id":')],
    ['a server error', text('bad gateway', 502)],
  ]
  it.each(passing)('goes on after an answer that is %s', async (_name, answer) => {
    const { client } = await clientOf([answer, json(job), answer, json({ ...job, state: 'warm' })])
    const [ended] = await client.follow([job], () => undefined)
    expect(ended).toMatchObject({ id: 'job1', state: 'warm' })
  })

  it('waits again for a whole minute once the server has answered', async () => {
    const away = Array.from({ length: 25 }, () => hungUp)
    const { client } = await clientOf([
      ...away,
      json(job),
      ...away,
      json({ ...job, state: 'warm' }),
    ])
    expect(await client.follow([job], () => undefined)).toMatchObject([{ state: 'warm' }])
  })

  it('ends clearly when the server stays away', async () => {
    const { client, url, requests } = await clientOf([json(job), hungUp])
    expect(await failureOf(client.follow([job], () => undefined))).toBe(
      `--url '${url}': cannot be reached: other side closed; tried for 60 s; ` +
        'jobs already started may continue on the server',
    )
    expect(requests()).toBeGreaterThan(20)
  })

  it('ends at once when the server refuses', async () => {
    const { client, requests } = await clientOf([json({ detail: 'no warming has it' }, 404)])
    expect(await failureOf(client.follow([job], () => undefined))).toMatch(
      /: status 404: no warming has it$/,
    )
    expect(requests()).toBe(1)
  })
})
