/** Bodies that hold rows in an odd form, and bodies that hold none. */
import { describe, expect, test } from 'vitest'
import { wireLitigatorRow } from '../../../../src/api/lookups/litigator.js'
import type { LitigatorStatus, Question } from '../../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../../src/domain/phone-number.js'
import { ReplyError } from '../../../../src/sources/remote/batch-question.js'
import {
  redactExcerpt,
  toPlainText,
} from '../../../../src/sources/remote/client/reply-diagnostics.js'
import { parseRows } from '../../../../src/sources/remote/questions/parse-rows.js'

const numbers = ['2125550100', '2125550101', '2125550102']
const questions: readonly Question[] = numbers.map((number) => ({
  accountId: 'main',
  number: toPhoneNumber(number),
}))
const rows = numbers.map((number, index) => ({ Phone: Number(number), IsLitigator: index === 1 }))

function read(body: string, contentType = 'application/json', asked = questions) {
  return parseRows<Question, { phone: string; isLitigator: boolean }, LitigatorStatus>(
    { body, contentType },
    asked,
    {
      schema: wireLitigatorRow.schema,
      getNumber: (row) => row.phone,
      interpret: ({ isLitigator }) => ({ value: { isLitigator }, holdsUntil: 1 }),
    },
  )
}

/** `y` or `n` for an answer, `?` for a row that was not understood. */
function shape(answers: ReturnType<typeof read>): string {
  return answers.map((one) => ('value' in one ? (one.value.isLitigator ? 'y' : 'n') : '?')).join('')
}

function refused(body: string, contentType?: string): ReplyError {
  try {
    read(body, contentType)
  } catch (error) {
    if (error instanceof ReplyError) return error
    throw error
  }
  throw new Error('was read as rows')
}

const json = (value: unknown) => JSON.stringify(value)

describe('rows are found', () => {
  test.each<[string, string, (string | undefined)?]>([
    ['in a flat list', json(rows), undefined],
    ['behind a byte order mark', `\uFEFF${json(rows)}`, undefined],
    ['among white space', `\r\n ${json(rows)}\n`, undefined],
    ['in an object', json({ Response: rows }), undefined],
    ['in an object with more in it', json({ Count: 3, Response: rows }), undefined],
    ['in an object in a list', json([{ Response: rows }]), undefined],
    ['in an object each', json(rows.map((row) => ({ Response: [row] }))), undefined],
    ['in objects of several', json([{ Response: rows.slice(0, 2) }, { Response: rows.slice(2) }])],
    ['under no content type', json(rows), ''],
    ['under a wrong content type', json(rows), 'text/html'],
    ['with fields nobody knows', json(rows.map((row) => ({ ...row, New: { deep: [1] } })))],
  ])('%s', (_form, body, contentType) => {
    expect(shape(read(body, contentType))).toBe('nyn')
  })

  test('in an empty list when nothing was asked', () => {
    expect(read('[]', 'application/json', [])).toEqual([])
  })
})

describe('a body without rows is named', () => {
  const page = 'answered with a web page, as for a key that is not accepted'
  const broken = 'answered with JSON that is broken or cut off'
  test.each<[string, string, string, ReplyError['why'], string | undefined]>([
    ['a login page', '<!DOCTYPE html><title>Login</title>', page, 'refused', 'text/html'],
    ['a page said to be JSON', '<html><body>', page, 'refused', 'application/json'],
    ['a page behind a byte order mark', '\uFEFF\n<HTML>', page, 'refused', ''],
    ['a page behind a comment', '<!-- 10.0.0.1 --><html>', page, 'refused', ''],
    ['XHTML', '<?xml version="1.0"?><!DOCTYPE html PUBLIC "x">', page, 'refused', ''],
    ['a page that is text', 'Please log in', page, 'refused', 'text/html'],
    ['XML', '<?xml version="1.0"?><e/>', 'answered with XML instead of JSON', ...bad('')],
    ['nothing', '', 'answered with an empty body', ...bad()],
    ['white space', ' \r\n\t', 'answered with an empty body', ...bad()],
    ['a byte order mark', '\uFEFF', 'answered with an empty body', ...bad('text/html')],
    ['a cut-off list', json(rows).slice(0, 40), broken, ...bad()],
    ['a cut-off object', '{"Response":[', broken, ...bad()],
    ['two documents', `${json(rows)}${json(rows)}`, broken, ...bad()],
    [
      'CSV',
      '2125550100,C,,;;;,NY,US\n2125550101,D,,',
      'answered with CSV instead of JSON',
      ...bad('text/csv'),
    ],
    ['quoted CSV', '"2125550100","C"', 'answered with CSV instead of JSON', ...bad('')],
    [
      'the old error text',
      'Error: 2125550100x is not a valid number.',
      'answered with a message that a number is not valid',
      ...bad('text/plain'),
    ],
    [
      'any other text',
      'Try again later, 2125550100 and key\nAbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIjKlMnOpQr',
      "answered with plain text instead of JSON: 'Try again later, *** and key ***'",
      ...bad('text/plain'),
    ],
    ['null', 'null', 'answered with null instead of rows', ...bad()],
    ['a number', '42', 'answered with a number instead of rows', ...bad()],
    ['rows in a text', json(json(rows)), 'answered with a string instead of rows', ...bad()],
    ['an empty object', '{}', 'answered with an object without rows', ...bad()],
    ['a row alone', json(rows[0]), 'answered with an object without rows', ...bad()],
    ['no list of rows', '{"Response":{"0":1}}', 'answered with an object without rows', ...bad()],
    [
      '{error}',
      '{"error":"bad number 212-555-0100"}',
      "answered with an error: 'bad number ***'",
      ...bad(),
    ],
    ['{error: object}', '{"error":{"code":5}}', 'answered with an error', ...bad()],
    [
      '{ReasonPhrase}',
      '{"ReasonPhrase":"No such project"}',
      "answered with an error: 'No such project'",
      ...bad(),
    ],
    [
      'an OAuth error',
      '{"error":"invalid_request","error_description":"token expired"}',
      "answered with an error: 'token expired'",
      ...bad(),
    ],
    [
      'a problem',
      '{"type":"about:blank","title":"Error","status":500,"detail":"It broke"}',
      "answered with an error: 'It broke'",
      ...bad(),
    ],
    [
      'a problem of the key',
      '{"title":"Unauthorized","status":401}',
      "answered with an error: 'Unauthorized'",
      'refused',
      undefined,
    ],
    [
      'wrapped and bare rows',
      json([{ Response: [rows[0]] }, rows[1], rows[2]]),
      'answered with wrapped and bare rows in one list',
      ...bad(),
    ],
    ['no rows', '[]', 'answered with 0 rows to 3 numbers', ...bad()],
    ['a row too few', json(rows.slice(1)), 'answered with 2 rows to 3 numbers', ...bad()],
    ['a row too many', json([...rows, rows[0]]), 'answered with 4 rows to 3 numbers', ...bad()],
    ['an error in a list', '[{"error":"x"}]', 'answered with 1 row to 3 numbers', ...bad()],
  ])('%s', (_form, body, detail, reason, contentType) => {
    const error = refused(body, contentType)
    expect([error.why, error.message]).toEqual([reason, detail])
  })

  function bad(contentType?: string): ['not-understood', string | undefined] {
    return ['not-understood', contentType]
  }
})

describe('a row covers the number in its place only', () => {
  const [a, b, c] = rows
  test.each([
    ['two are swapped', [b, a, c], '??n'],
    ['all are turned', [c, a, b], '???'],
    ['one stands twice', [a, a, c], 'n?n'],
    ['one is of a stranger', [a, { ...b, Phone: 2_125_550_199 }, c], 'n?n'],
    ['one is null', [a, null, c], 'n?n'],
    ['one is a list', [a, [b], c], 'n?n'],
    ['one is a text', [a, '2125550101', c], 'n?n'],
    ['one is empty', [a, {}, c], 'n?n'],
  ])('%s', (_case, wire, expected) => {
    expect(shape(read(json(wire)))).toBe(expected)
  })
})

describe('a row that is not understood says which field breaks which rule, without the number', () => {
  const rule = 'must be a whole number of 10 digits'
  test.each<[unknown, string]>([
    [{ Phone: 2_125_550_100 }, 'IsLitigator is missing: must be true or false'],
    [
      { Phone: 2_125_550_100, IsLitigator: 'yes, 2125550100' },
      'IsLitigator is a string of 15 characters: must be true or false',
    ],
    [{ Phone: 2_125_550_100, IsLitigator: 'no' }, "IsLitigator is 'no': must be true or false"],
    [{ Phone: 2_125_550_100, IsLitigator: null }, 'IsLitigator is null: must be true or false'],
    [{ Phone: 2_125_550_100, IsLitigator: 0 }, 'IsLitigator is 0: must be true or false'],
    [{ Phone: '2125550100', IsLitigator: false }, `Phone is a string of 10 characters: ${rule}`],
    [{ Phone: 21_255_501_00.5, IsLitigator: false }, `Phone is a number of 12 characters: ${rule}`],
    [{ Phone: 12_125_550_100, IsLitigator: false }, `Phone is a number of 11 characters: ${rule}`],
    [{ Phone: [2_125_550_100], IsLitigator: false }, `Phone is a list: ${rule}`],
    [{ Phone: { n: 1 }, IsLitigator: false }, `Phone is an object: ${rule}`],
    [{ Phone: 2_125_550_101, IsLitigator: false }, 'the row in its position is for another number'],
    [7, 'the row is not an object'],
    [null, 'the row is not an object'],
  ])('%j', (row, expected) => {
    expect(read(json([row]), 'application/json', questions.slice(0, 1))).toEqual([
      { problem: expected },
    ])
  })
})

describe('hostile JSON', () => {
  const inherited = '{"__proto__":{"Phone":2125550100,"IsLitigator":false}}'
  test.each([
    ['a row behind __proto__', `[${inherited},${inherited},${inherited}]`, '???'],
    [
      'rows that also hold __proto__',
      json(rows).replaceAll('{', '{"__proto__":{"IsLitigator":true},"constructor":null,'),
      'nyn',
    ],
    [
      'a field nested a hundred thousand deep',
      json(rows).replaceAll('{', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},`),
      'nyn',
    ],
  ])('%s', (_case, body, expected) => {
    expect(shape(read(body))).toBe(expected)
  })

  test.each([
    ['a wrapper behind __proto__', `{"__proto__":{"Response":${json(rows)}}}`],
    ['lists without end', '['.repeat(100_000)],
    ['lists in lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['a text of ten million signs', 'x'.repeat(10_000_000)],
  ])('%s: no rows, and a short reason', (_case, body) => {
    expect(refused(body).message.length).toBeLessThan(130)
  })

  test('leaves no trace on other objects', () => {
    read(json(rows).replaceAll('{', '{"__proto__":{"polluted":1},'))
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})

describe('what is shown of a provider text', () => {
  test.each([
    ['  several\r\n lines\tand \u0007bells \u202Ereversed ', 'several lines and bells reversed'],
    ['call (212) 555-0100', 'call *** ***'],
    [`key=${'k'.repeat(40)}`, '***'],
    [`${'word '.repeat(40)}`, `${'word '.repeat(11)}wo...`],
    ['', ''],
  ])('%j shows as %j', (text, shown) => {
    expect(redactExcerpt(text)).toBe(shown)
    expect(shown.length).toBeLessThanOrEqual(60)
  })

  test('a whole text loses its control characters and what is beyond the length', () => {
    expect(toPlainText('État\u0000 (212)\n555-0100', 100)).toBe('État (212) 555-0100')
    expect(toPlainText('abcdef', 3)).toBe('abc')
  })
})
