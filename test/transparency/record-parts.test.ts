/** An erasure takes the part of a record that is about the person; what is kept is still what was signed. */
import { expect, it } from 'vitest'
import { commitTo, eraseFrom, isPersonErased, splitBody } from '../../src/transparency/log-entry.js'

const salt = Buffer.alloc(16, 4)
const kept = '{"id":"d-3","decision":"allow","reason":"all-passed"}'
const about = '{"number":"2125550103"}'
const body = Buffer.from(`${kept}\t${about.padEnd(60)}`)

/** The body that the eraser asks for, in as many bytes. */
const without = (text: string) => Buffer.from(`${text}\t#`.padEnd(body.length))
const erased = eraseFrom({ salt, body }, without(kept))

it('commits to the same after an erasure, with another salt and in as many bytes', () => {
  expect(isPersonErased(body)).toBe(false)
  expect(isPersonErased(erased.body)).toBe(true)
  expect(erased.body).toHaveLength(body.length)
  expect(erased.body.toString()).not.toContain('2125550103')
  expect(erased.salt).not.toEqual(salt)
  expect(commitTo(erased.salt, erased.body)).toEqual(commitTo(salt, body))
})

it('leaves what make-vectors.py computes', () => {
  const short = Buffer.from(`${kept}\t${about}`)
  const left = Buffer.from(`${kept}\t#`.padEnd(kept.length + 45))
  // The part itself is shorter than what is left of it, which the writer of records prevents.
  const { salt: next, body: rest } = eraseFrom({ salt, body: short }, left)
  expect(next.toString('hex')).toBe('8014915af80602b209d1082ce3704200')
  expect(splitBody(rest).person.toString()).toBe('#mmgvBPI8qnBVKbuAKShK+257JTuHVSfb9/Qz8UoR55s')
})

it('finds what is changed before and after', () => {
  const signed = commitTo(salt, body)
  const blocked = (text: Buffer) => Buffer.from(text.toString().replace('allow', 'block'))
  expect(commitTo(salt, blocked(body))).not.toEqual(signed)
  expect(commitTo(erased.salt, blocked(erased.body))).not.toEqual(signed)
  const other = Buffer.from(body.toString().replace('0103', '0104'))
  expect(commitTo(salt, other)).not.toEqual(signed)
  const more = Buffer.from(`${erased.body.toString().trimEnd()}x`.padEnd(body.length))
  expect(commitTo(erased.salt, more)).not.toEqual(signed)
})

it('cannot be tried with numbers once the salt is gone', () => {
  expect(commitTo(erased.salt, body)).not.toEqual(commitTo(salt, body))
})

it('has another commitment where more than that part changes, and the same when it is done again', () => {
  const masked = without(kept.replace('d-3', 'x-x'))
  const once = eraseFrom({ salt, body }, masked)
  expect(commitTo(once.salt, once.body)).not.toEqual(commitTo(salt, body))
  expect(eraseFrom({ salt, body }, masked)).toEqual(once)
  // The salt of the text that had the number is not that of the text that has not.
  const [before, after] = [once.salt, erased.salt]
  expect(before).not.toEqual(after)
})
