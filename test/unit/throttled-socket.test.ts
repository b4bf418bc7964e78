/** In which pieces and turns senders without a key are read. */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { AnonymousTurnQueue, maxPieceBytes } from '../../src/http/limits/anonymous-turns.js'
import { ThrottledSocket } from '../../src/http/limits/connections.js'
import { until } from '../e2e/asterisk/lab/until.js'

/** What the kernel gives is pushed by the test. */
class Wire extends Duplex {
  setTimeout = () => this

  override _read(): void {
    // Nothing is asked for.
  }

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done()
  }
}

interface HandedOn {
  readonly name: string
  readonly bytes: number
  readonly turn: number
}

/** `now` is played, so the work itself takes no time. */
function played() {
  let now = 1_000
  let turn = 0
  const turns = new AnonymousTurnQueue(() => now)
  const pieces: HandedOn[] = []
  const count = () => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  let isOver = false
  setImmediate(count)
  const open = (name: string) => {
    const wire = new Wire()
    const eventLoop = { earliestArrivalMs: () => now }
    const paced = new ThrottledSocket(wire as unknown as Socket, { turns, eventLoop })
    paced.on('data', (chunk: Buffer) => pieces.push({ name, bytes: chunk.length, turn }))
    return { wire, paced }
  }
  const move = (ms: number) => {
    now += ms
  }
  const end = () => {
    isOver = true
  }
  return { turns, pieces, open, move, end }
}

const sum = (pieces: readonly HandedOn[], name: string) =>
  pieces.filter((one) => one.name === name).reduce((all, { bytes }) => all + bytes, 0)

test('floods are read a piece at a time, in turns, behind those who send little', async () => {
  const { pieces, open, end } = played()
  const [flood, other, little] = [open('flood'), open('other'), open('little')]
  flood.wire.push(Buffer.alloc(40_000))
  other.wire.push(Buffer.alloc(40_000))
  little.wire.push(Buffer.alloc(300))
  await until('all is read', () => sum(pieces, 'flood') + sum(pieces, 'other') === 80_000)
  end()
  expect(pieces[0]).toMatchObject({ name: 'little', bytes: 300 })
  expect(Math.max(...pieces.map(({ bytes }) => bytes))).toBe(maxPieceBytes)
  // The last piece of a flood is small, and goes first.
  const ofOne = pieces.filter(({ name }) => name === 'flood').slice(0, -1)
  expect(new Set(ofOne.map(({ turn }) => turn)).size).toBe(ofOne.length)
  const names = pieces.slice(1, 9).map(({ name }) => name)
  expect(names.filter((name) => name === 'flood')).toHaveLength(4)
})

test.each([
  ['at once', (work: () => void) => work()],
  ['when a promise is settled', (work: () => void) => void Promise.resolve().then(work)],
])(
  'in each turn, all together get at most 2 ms and a piece, with work done %s',
  async (_, whenDone) => {
    const { pieces, open, move, end } = played()
    const senders = Array.from({ length: 24 }, (_none, index) => open(`sender ${index}`))
    for (const [index, { wire, paced }] of senders.entries()) {
      paced.on('data', () => whenDone(() => move(1)))
      wire.push(Buffer.alloc(index % 2 === 0 ? 8_000 : 300))
    }
    await until('all is read', () => pieces.reduce((all, { bytes }) => all + bytes, 0) === 99_600)
    end()
    const perTurn = new Map<number, number>()
    for (const { turn } of pieces) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1)
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(3)
  },
)

test('who has shown a key is read whole, also what waited', async () => {
  const { pieces, open, end } = played()
  const { wire, paced } = open('known')
  paced.once('data', () => {
    paced.assignTo('main')
  })
  wire.push(Buffer.alloc(10_000))
  await until('the rest', () => sum(pieces, 'known') === 10_000)
  wire.push(Buffer.alloc(60_000))
  await until('all', () => sum(pieces, 'known') === 70_000)
  end()
  expect(pieces.map(({ bytes }) => bytes)).toEqual([maxPieceBytes, 10_000 - maxPieceBytes, 60_000])
})

test('while connections are accepted nobody is read, but no longer than 5 ms', async () => {
  const { turns, pieces, open, move, end } = played()
  const { wire } = open('first')
  wire.push(Buffer.alloc(10))
  await until('it is read', () => pieces.length === 1)
  wire.push(Buffer.alloc(20))
  for (let turn = 0; turn < 4; turn += 1) {
    turns.noteAccept()
    move(1)
    expect(pieces.length).toBe(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  turns.noteAccept()
  move(1)
  await until('it is read all the same', () => pieces.length === 2)
  end()
})

test('the end comes after all that was sent before it', async () => {
  const { pieces, open, end } = played()
  const { wire, paced } = open('ended')
  const ended = vi.fn()
  paced.on('end', ended)
  wire.push(Buffer.alloc(3_000))
  wire.push(null)
  await until('the end', () => ended.mock.calls.length === 1)
  end()
  expect(sum(pieces, 'ended')).toBe(3_000)
})

test('what is read when a pause ends counts as old as the pause, since it may have waited', async () => {
  const { pieces, open, move, end } = played()
  const { wire, paced } = open('paused')
  paced.once('data', () => move(500))
  wire.push(Buffer.alloc(10_000))
  wire.push(Buffer.alloc(10))
  await until('all', () => sum(pieces, 'paused') === 10_010)
  end()
  expect(paced.arrivedAtMs).toBe(1_000)
})

test('what comes later than the poll after a pause is as young as it is', async () => {
  const { pieces, open, move, end } = played()
  const { wire, paced } = open('paused')
  wire.push(Buffer.alloc(10_000))
  await until('all', () => sum(pieces, 'paused') === 10_000 && !wire.isPaused())
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  move(500)
  wire.push(Buffer.alloc(10))
  await until('the last', () => sum(pieces, 'paused') === 10_010)
  end()
  expect(paced.arrivedAtMs).toBe(1_500)
})

test('what joins a part that waits does not make it younger', async () => {
  const { turns, pieces, open, move, end } = played()
  const { wire, paced } = open('joined')
  wire.push(Buffer.alloc(10))
  await until('it is read', () => pieces.length === 1)
  wire.push(Buffer.alloc(10))
  turns.noteAccept()
  move(2)
  wire.push(Buffer.alloc(10))
  await until('both', () => sum(pieces, 'joined') === 30)
  end()
  expect(paced.arrivedAtMs).toBe(1_000)
})

test('who reads no answers is read no further', async () => {
  const { open, end } = played()
  const { wire, paced } = open('unread')
  paced.pause()
  for (let sent = 0; sent < 100; sent += 1) {
    wire.push(Buffer.alloc(1_000))
    await new Promise((resolve) => setImmediate(resolve))
  }
  end()
  expect(paced.readableLength + paced.bufferedBytes).toBeLessThan(3 * maxPieceBytes)
  expect(wire.readableLength).toBeGreaterThan(50_000)
})

test('who is held is read no more, is answered, and is cut a while later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { pieces, open, end } = played()
    const { wire, paced } = open('held')
    const written = vi.spyOn(wire, 'write')
    wire.push(Buffer.alloc(10_000))
    await new Promise((resolve) => setImmediate(resolve))
    const before = pieces.length
    paced.holdThenDestroy()
    paced.write('refused')
    for (let turn = 0; turn < 20; turn += 1) await new Promise((go) => setImmediate(go))
    end()
    expect([pieces.length, written.mock.calls.length, paced.destroyed]).toEqual([before, 1, false])
    vi.advanceTimersByTime(10_000)
    expect([paced.destroyed, wire.destroyed]).toEqual([true, true])
  } finally {
    vi.useRealTimers()
  }
})
