import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest'
import { sendReplyInSlices, sendStreamedReply } from '../../src/http/send-reply.js'

const nextTurns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('a long answer is made no faster than it is read, and no further than it is wanted', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  let made = 0
  async function* parts() {
    for (; made < 50; ) {
      made += 1
      yield 'x'.repeat(65_536)
    }
  }
  const sent = sendStreamedReply(response, {
    parts: parts(),
    trailerNames: [],
    trailers: () => ({}),
  })
  await nextTurns()
  expect(made).toBe(1)
  response.emit('drain')
  await nextTurns()
  expect(made).toBe(2)
  response.destroy()
  response.emit('close')
  await sent
  expect(made).toBe(2)
})

describe('an answer without end whose reader does not read', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  function send() {
    // Takes what is written, and never has sent it.
    const socket = new Duplex({ read: () => undefined, write: () => undefined }) as Socket
    const response = new ServerResponse(new IncomingMessage(socket))
    response.assignSocket(socket)
    const ending = new AbortController()
    let made = 0
    async function* parts() {
      for (;;) {
        made += 1
        yield 'x'.repeat(65_536)
      }
    }
    const reply = { parts: parts(), trailerNames: [], trailers: () => ({}), ending }
    const sent = sendStreamedReply(response, reply)
    return { response, ending, sent, countMade: () => made }
  }

  it('is made no further, and cut after ten seconds', async () => {
    const { response, sent, countMade } = send()
    await nextTurns()
    vi.advanceTimersByTime(9_900)
    response.emit('drain')
    await nextTurns()
    vi.advanceTimersByTime(9_900)
    await nextTurns()
    expect([countMade(), response.destroyed]).toEqual([2, false])
    vi.advanceTimersByTime(100)
    expect(response.destroyed).toBe(true)
    response.emit('close')
    await sent
    expect(countMade()).toBe(2)
  })

  it('is cut at once when it may not go on', async () => {
    const { response, ending, sent } = send()
    await nextTurns()
    ending.abort()
    expect(response.destroyed).toBe(true)
    response.emit('close')
    await sent
  })
})

test('long bytes leave in pieces of 64 KiB, each once the one before has left', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const lengths: number[] = []
  const write = response.write.bind(response)
  response.write = ((piece: Buffer) => {
    lengths.push(piece.length)
    return write(piece)
  }) as typeof response.write
  const sent = sendReplyInSlices(response, { bytes: Buffer.alloc(150_000) })
  await nextTurns()
  expect(lengths).toEqual([65_536])
  response.emit('drain')
  await nextTurns()
  expect(lengths).toEqual([65_536, 65_536])
  expect(response.writableEnded).toBe(false)
  response.emit('drain')
  await sent
  expect(response.writableEnded).toBe(true)
})
