/** Bodies and addresses from strangers: JSON, urlencoded, multipart. */
import type { IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/errors.js'
import { parseMultipart } from '../../src/http/request/multipart-body.js'
import { parseJsonBody } from '../../src/http/request/read-body.js'
import { readQuery } from '../../src/http/request/read-fields.js'
import { anyText, holds, holdsInTime, readOrRefused } from './properties-support.js'

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** Escapes some characters of a JSON text of a string, which then means the same. */
function escapedSome(text: string, which: readonly boolean[]): string {
  const units = [...Array(text.length).keys()].map((at) => {
    const unit = text.charCodeAt(at)
    const escaped = `\\u${unit.toString(16).padStart(4, '0')}`
    return which[at % which.length] ? escaped : JSON.stringify(text[at]).slice(1, -1)
  })
  return `"${units.join('')}"`
}

/** The value, or that the body was refused. */
const readJson = (text: string): Promise<unknown> =>
  parseJsonBody(text).catch((error: unknown) =>
    readOrRefused(() => {
      throw error
    }),
  )

describe('JSON bodies', () => {
  test('what JSON.parse reads is read alike', async () => {
    await holdsInTime(
      fc.asyncProperty(fc.json({ maxDepth: 8 }), async (text) => {
        expect(JSON.stringify(await parseJsonBody(text))).toBe(JSON.stringify(JSON.parse(text)))
      }),
      500,
    )
  })

  test('any text is what JSON.parse says, or refused', async () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', '{', '}', '[', ']', ':', ',', '\\', '0'))
      .map(([text, at, put]) => {
        const place = at % (text.length + 1)
        return text.slice(0, place) + put + text.slice(place + 1)
      })
    await holdsInTime(
      fc.asyncProperty(fc.oneof(damaged, anyText), async (text) => {
        const read = await readJson(text)
        const known = parsed(text)
        if (read === 'refused' && known === undefined) return
        if (read === 'refused') return expect(text).toMatch(/".*".*"/s)
        expect(JSON.stringify(read)).toBe(JSON.stringify(known?.value))
      }),
      2000,
    )
  })

  test('a name given twice in one object is refused, however it is escaped', async () => {
    const escapes = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
    const text = fc.string({ unit: 'binary', maxLength: 12 })
    await holdsInTime(
      fc.asyncProperty(text, escapes, escapes, fc.json(), async (name, one, other, between) => {
        const object = `{${escapedSome(name, one)}:1,"x${name.length}":${between}, ${escapedSome(name, other)} :2}`
        fc.pre(parsed(object) !== undefined && name !== `x${name.length}`)
        expect(await readJson(`[${object}]`)).toBe('refused')
      }),
      500,
    )
  })

  test('the same names in different objects are no repetition', async () => {
    const object = fc.dictionary(
      fc.constantFrom('a', 'b', '"', '\\'),
      fc.constantFrom('a', ':', '{'),
    )
    await holdsInTime(
      fc.asyncProperty(fc.array(object, { maxLength: 5 }), async (objects) => {
        const nested = { a: objects, b: { a: objects } }
        expect(await parseJsonBody(JSON.stringify(nested, null, 1))).toEqual(nested)
      }),
      500,
    )
  })
})

/** A half of a surrogate pair has no bytes in UTF-8. */
const wellFormed = anyText.map((text) => Buffer.from(text).toString())

const encoders: readonly ((text: string) => string)[] = [
  encodeURIComponent,
  (text) => encodeURIComponent(text).replaceAll('%20', '+'),
  (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
]

describe('addresses', () => {
  const readAddress = (url: string) => readQuery({ url } as IncomingMessage)

  test('fields are read however they are encoded', () => {
    const pairs = fc.uniqueArray(fc.tuple(wellFormed, wellFormed), {
      maxLength: 6,
      selector: ([name]) => name,
    })
    holds(
      fc.property(pairs, fc.constantFrom(...encoders), (given, encode) => {
        // A pair of two empty texts cannot be told from nothing.
        fc.pre(given.every(([name, value]) => name !== '' || value !== ''))
        const query = given.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
        expect(Object.entries(readAddress(`/x?${query}`)).sort()).toEqual(
          Object.entries(Object.fromEntries(given)).sort(),
        )
      }),
    )
  })

  test('any address is read or refused, and no name wins over its twin', () => {
    const few = fc.stringMatching(/^(?:[ab+]|%61)=?[01]?(?:&(?:[ab+]|%61)=?[01]?){0,4}$/)
    holds(
      fc.property(fc.oneof(few, anyText), (text) => {
        const read = readOrRefused(() => readAddress(`/x?${text}`))
        const names = [...new URLSearchParams(text).keys()]
        if (read === 'refused') expect(new Set(names).size).toBeLessThan(names.length)
        else expect(Object.keys(read).sort()).toEqual(names.sort())
      }),
    )
  })
})

type Pairs = readonly (readonly [name: string, value: string])[]

const boundaries = fc.stringMatching(/^[A-Za-z0-9'()+_.-]{1,60}$/)

/** Names that can stand in a header as they are. */
const names = fc.stringMatching(/^[A-Za-z0-9 _.[\]éß-]{1,30}$/)

function multipart(pairs: Pairs, boundary: string): Buffer {
  const parts = pairs.map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`)
}

const typeOf = (boundary: string) => `multipart/form-data; boundary="${boundary}"`

/** Refused, or the pairs; anything else, a silence above all, fails. */
async function settled(body: Buffer, contentType: string): Promise<Pairs | 'refused'> {
  const silence = pause(5_000, undefined, { ref: false }).then(() => {
    throw new Error('neither read nor refused')
  })
  try {
    return await Promise.race([parseMultipart(body, contentType, { maxFields: 100 }), silence])
  } catch (error) {
    if (error instanceof AppError && error.kind === 'invalid-request') return 'refused'
    throw error
  }
}

describe('multipart bodies', () => {
  const pairs = fc.array(fc.tuple(names, wellFormed), {
    minLength: 1,
    maxLength: 6,
  })
  const free = (given: Pairs, boundary: string) =>
    given.every(([, value]) => !value.includes(`--${boundary}`))

  test('names and values come out in order', async () => {
    await holdsInTime(
      fc.asyncProperty(pairs, boundaries, async (given, boundary) => {
        fc.pre(free(given, boundary))
        expect(await settled(multipart(given, boundary), typeOf(boundary))).toEqual(given)
      }),
    )
  })

  test('a body that is cut off is never taken for a whole one', async () => {
    await holdsInTime(
      fc.asyncProperty(pairs, boundaries, fc.nat(), async (given, boundary, at) => {
        fc.pre(free(given, boundary))
        const body = multipart(given, boundary)
        // What follows the last boundary's hyphens is no part of the fields.
        const cut = body.subarray(0, at % (body.length - '--\r\n'.length))
        expect(await settled(cut, typeOf(boundary))).toBe('refused')
      }),
      400,
    )
  })

  test('parts inside parts, files and bytes of any kind are read or refused', async () => {
    const inner = fc.tuple(pairs, boundaries).map(([given, boundary]) => {
      const body = multipart(given, boundary).toString()
      return `Content-Type: multipart/mixed; boundary=${boundary}\r\n\r\n${body}`
    })
    const header = fc.constantFrom(
      'Content-Disposition: form-data; name="a"; filename="b"',
      'Content-Disposition: x',
      'X',
      'Content-Disposition: form-data',
      'Content-Type: text/plain; charset=utf-7',
      '',
      'Content-Transfer-Encoding: base64',
      `Content-Disposition: ${'x'.repeat(5000)}`,
    )
    const part = fc.oneof(
      inner,
      fc.tuple(header, anyText).map(([line, text]) => `${line}\r\n\r\n${text}`),
      anyText,
    )
    await holdsInTime(
      fc.asyncProperty(
        fc.array(part, { maxLength: 5 }),
        boundaries,
        fc.constantFrom('\r\n', '\n', ''),
        async (parts, boundary, end) => {
          const body = parts.map((one) => `--${boundary}${end}${one}${end}`).join('')
          await settled(Buffer.from(`${body}--${boundary}--`), typeOf(boundary))
        },
      ),
    )
  })

  test('any bytes under any content type are read or refused', async () => {
    const types = fc.oneof(
      anyText.map((text) => `multipart/form-data; boundary=${text}`),
      fc.constantFrom('multipart/form-data', 'multipart/form-data; boundary=', 'multipart/mixed'),
    )
    await holdsInTime(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), types, async (bytes, type) => {
        await settled(Buffer.from(bytes), type)
      }),
    )
  })
})
