import { expect, it } from 'vitest'
import type { StreamedReply } from '../../src/api/endpoint.js'
import { LiveStreams } from '../../src/http/limits/live-streams.js'

/** A reply whose second part never comes, and whether it was left. */
function endlessReply() {
  const left = { is: false }
  const parts: AsyncGenerator<string> = (async function* () {
    yield 'first'
    await new Promise(() => undefined)
  })()
  const leave = parts.return.bind(parts)
  parts.return = (value) => {
    left.is = true
    return leave(value)
  }
  return { left, reply: { parts, trailerNames: [], trailers: () => ({}) } }
}

const reader = (accountId: string, keyId: string) => ({ accountId, keyId })
const goOn = () => true

async function open(streams: LiveStreams, accountId: string, keyId: string) {
  const opened = await streams.open(
    reader(accountId, keyId),
    async () => endlessReply().reply,
    goOn,
  )
  return opened as StreamedReply
}

it('leaves places to other keys and other accounts', async () => {
  const streams = new LiveStreams()
  const ofKey: StreamedReply[] = []
  for (let count = 0; count < 5; count += 1) ofKey.push(await open(streams, 'main', 'a'))
  await expect(open(streams, 'main', 'a')).rejects.toThrow('This key has 5 readers')
  for (let count = 0; count < 5; count += 1) await open(streams, 'main', 'b')
  await expect(open(streams, 'main', 'c')).rejects.toThrow('This account has 10 readers')
  for (let count = 0; count < 10; count += 1) await open(streams, `other-${count}`, 'a')
  // One that has more gives a place to one that has none: its oldest answer ends.
  await open(streams, 'new', 'a')
  expect(ofKey.map(({ ending }) => ending?.signal.aborted)).toEqual([true, ...Array(4).fill(false)])
  await expect(open(streams, 'main', 'c')).rejects.toThrow('This server has 20 readers')
  streams.close()
})

it('two accounts cannot keep all others out', async () => {
  const streams = new LiveStreams()
  for (let count = 0; count < 10; count += 1) {
    await open(streams, 'one', `key-${count % 2}`)
    await open(streams, 'two', `key-${count % 2}`)
  }
  for (let count = 0; count < 6; count += 1) await open(streams, 'three', `key-${count % 2}`)
  // All three have about as many now.
  await expect(open(streams, 'three', 'key-0')).rejects.toThrow('This server has 20 readers')
  await open(streams, 'four', 'key-0')
  streams.close()
})

it('frees the place of one that is refused, or answers at once', async () => {
  const streams = new LiveStreams()
  const refuse = async () => {
    throw new Error('refused')
  }
  for (let count = 0; count < 30; count += 1) {
    await expect(streams.open(reader('main', 'a'), refuse, goOn)).rejects.toThrow('refused')
    await streams.open(reader('main', 'a'), async () => ({ json: {} }), goOn)
  }
  streams.close()
})

it('ends while a part is awaited, and tells who makes the parts, also of one that nobody has begun to read', async () => {
  const streams = new LiveStreams()
  for (const begins of [true, false]) {
    const { left, reply } = endlessReply()
    const opened = await streams.open(reader('main', 'a'), async () => reply, goOn)
    const parts = (opened as StreamedReply).parts[Symbol.asyncIterator]()
    if (begins) expect(await parts.next()).toEqual({ done: false, value: 'first' })
    const ended = begins ? parts.next() : undefined
    ;(opened as StreamedReply).ending?.abort()
    expect((await (ended ?? parts.next())).done).toBe(true)
    expect(left.is).toBe(true)
  }
  streams.close()
  await expect(open(streams, 'main', 'a')).rejects.toThrow('The server is stopping')
})
