import { describe, expect, test } from 'vitest'
import { findJsonText } from '../../src/http/request/find-field.js'
import { parseJsonBody } from '../../src/http/request/read-body.js'

describe('what JSON.parse reads is read alike', () => {
  test.each([
    ['{}'],
    ['[]'],
    ['null'],
    ['"a:b"'],
    [' {"a" : {"a" : [{"a":1},{"a":2}]}} '],
    ['{"a":"{\\"b\\":1,\\"b\\":2}","b":"\\\\"}'],
    ['{"a":["a","a"],"b":"a"}'],
    ['{"\\\\":1,"\\"":2}'],
    ['{"__proto__":1}'],
    [`[${'[],'.repeat(24_998)}[]]`],
    [`[${'1,'.repeat(249_999)}1]`],
  ])('%.40s', async (text) => {
    expect(JSON.stringify(await parseJsonBody(text))).toBe(JSON.stringify(JSON.parse(text)))
  })
})

describe('what is refused', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const names = (count: number) =>
    `{${Array.from({ length: count }, (_none, index) => `"f${index}":1`).join(',')}}`
  test.each([
    ['a name twice', '{"a":1,"a":2}', 'a: is given twice'],
    ['a name twice, spaced', '{"a":1, "a"\n:2}', 'a: is given twice'],
    ['a name twice, deep inside', '[{"x":[{"b":{"c":1},"b":2}]}]', 'b: is given twice'],
    ['a name twice, once escaped', '{"a":1,"\\u0061":2}', 'a: is given twice'],
    ['33 levels', nested(33), 'nested deeper than 32 levels'],
    ['1001 names', names(1001), 'has more than 1000 fields'],
    ['25001 lists', `[${'[],'.repeat(24_999)}[]]`, 'more than 25000 objects and lists'],
    ['250001 values', `[${'1,'.repeat(250_000)}1]`, 'more than 250000 values'],
    ['nothing', '', 'not well-formed JSON'],
    ['a cut text', '{"a":"b', 'not well-formed JSON'],
    ['a cut escape', '{"a\\', 'not well-formed JSON'],
    ['a bad escape in a name', '{"\\x":1}', 'not well-formed JSON'],
    ['brackets out of order', ']}[{', 'not well-formed JSON'],
    ['a comma too many', '{"a":1,}', 'not well-formed JSON'],
  ])('%s', async (_case, text, reason) => {
    await expect(parseJsonBody(text)).rejects.toThrow(reason)
  })

  test('not 32 levels, nor 1000 names', async () => {
    expect(await parseJsonBody(nested(32))).toHaveLength(1)
    expect(Object.keys((await parseJsonBody(names(1000))) as object)).toHaveLength(1000)
  })
})

describe('one member of an object', () => {
  test.each([
    ['alone', '{"loginId":"k"}', 'k'],
    ['spaced, in other letters', ' { "a" : 1 , "LOGINID" \n:\t "k" }', 'k'],
    ['escaped', '{"\\u006coginId":"\\u006b\\"\\\\"}', 'k"\\'],
    ['behind lists and objects', '{"a":[{"loginId":"no"},"}"],"b":{"c":"]"},"loginId":"k"}', 'k'],
    ['in a body that is cut off', '{"loginId":"k","a":[1,2', 'k'],
    ['cut off itself', '{"a":1,"loginId":"k', undefined],
    ['no text', '{"loginId":7,"a":"b"}', undefined],
    ['deeper', '{"a":{"loginId":"k"}}', undefined],
    ['in a list', '["loginId",{"loginId":"k"}]', undefined],
    ['a value of that text', '{"a":"loginId","b":"k"}', undefined],
    ['nowhere', 'loginId: k', undefined],
    ['nothing', '', undefined],
  ])('%s', (_, text, found) => {
    expect(findJsonText(text, 'loginid')).toBe(found)
  })
})
