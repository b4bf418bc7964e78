/** The words of what is said about a call: each code has some, with every parameter in them and without what others said. */
import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { describeSaid, type Said, saidCodes } from '../../src/domain/words/words.js'

const folder = new URL('../../src/domain/words/', import.meta.url)

describe('words', () => {
  it('are those of every file of the folder', async () => {
    const files = readdirSync(folder).filter((name) => name !== 'words.ts')
    const modules = await Promise.all(files.map((name) => import(new URL(name, folder).href)))
    const codes = modules.flatMap((module: Readonly<Record<string, object>>) =>
      Object.entries(module).flatMap(([name, words]) =>
        name.endsWith('Words') ? Object.keys(words) : [],
      ),
    )
    // A code of two files would have the words of the last one.
    expect(codes.toSorted()).toEqual(saidCodes.toSorted())
    expect(codes.length).toBeGreaterThan(100)
  })

  it('have every parameter, and only these', () => {
    const said: Said = {
      code: 'key-kinds',
      params: { kinds: ['manual', 'ai'], kind: 'autodialed' },
    }
    expect(describeSaid([said])).toBe('it is limited to manual, ai, not autodialed')
    // @ts-expect-error a parameter is missing
    const missing: Said = { code: 'key-kinds', params: { kinds: ['manual'] } }
    // @ts-expect-error the words have no such parameter
    const more: Said = { code: 'clock-off', params: { seconds: 3, minutes: 1 } }
    // @ts-expect-error a code without words
    const unknown: Said = { code: 'no-such-code' }
    expect([missing, more, unknown]).toHaveLength(3)
  })

  it('of several codes follow each other, each with its source and what somebody else said', () => {
    const says: readonly Said[] = [
      { code: 'source-failed', quote: 'answered 503', source: 'first' },
      { code: 'not-answered-within', params: { ms: 450 }, source: 'second' },
    ]
    expect(describeSaid(says)).toBe(
      'first: the source failed: answered 503; second: not answered within 450 ms',
    )
  })

  it('may be no more than what was sent', () => {
    const quote = "trunk 'x' must be a trunk of the settings"
    expect(describeSaid([{ code: 'invalid-fact', quote }])).toBe(quote)
    expect(describeSaid([{ code: 'invalid-fact' }])).toBe('')
  })

  it('leave a code of a newer version as it is', () => {
    expect(describeSaid([{ code: 'said-in-2030', params: { day: '2030-01-01' } }])).toBe(
      'said-in-2030',
    )
    expect(describeSaid([{ code: 'toString' }])).toBe('toString')
    const others = [
      { code: 'paused', params: {} },
      { code: 'paused', params: { at: { toString: 1, valueOf: 1 }, by: 'x' } },
      { code: 'scrub-letter', params: { letter: 'Q' } },
      { code: 'place-by', params: { source: 'toString' } },
      { code: 'abandoned-calls', params: {} },
      { code: 'key-calls', params: { calls: 3 } },
      { code: 'consent-law-unmet', params: {} },
    ]
    for (const said of others) expect(describeSaid([said])).toBe(said.code)
  })
})
