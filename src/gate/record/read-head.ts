/** Reads a few members of a recorded decision without parsing the whole of it, by where they are in its text. */
import { splitBody } from '../../transparency/log-entry.js'
import type { DecisionDocument } from './decision-document.js'
import { readRecord } from './read-record.js'

/** What a search looks at. */
export type SearchedFields = Pick<
  DecisionDocument,
  | 'number'
  | 'decision'
  | 'reason'
  | 'callKind'
  | 'via'
  | 'projectId'
  | 'campaignId'
  | 'keyId'
  | 'reference'
>

export type DecisionHead = Pick<DecisionDocument, 'id' | 'accountId' | 'whatIf'> & SearchedFields

/** In the text of a JSON string: ASCII without escapes. */
const plain = '[ !#-[\\]-~]'
const headPattern = new RegExp(
  `^\\{"id":"(${plain}+)","decision":"(allow|block)","reason":"(${plain}+)","callKind":"(${plain}+)"`,
)
const tailPattern = new RegExp(
  `^"accountId":"(${plain}*)"(?:,"keyId":"(${plain}*)")?(?:,"mandate":.+?)?,"via":"(${plain}+)"`,
)
const whatIfPattern = /"whatIf":(true|false)/
const personPattern = new RegExp(
  `^\\{"number":"(${plain}*)"(?:,"dial":"${plain}*")?,"dialed":"${plain}*"` +
    `${['postalCode', 'subject', 'personId'].map((name) => `(?:,"${name}":"${plain}*")?`).join('')}` +
    `(?:,"reference":"(${plain}*)")?(?:,"(?:quotes|facts)":|\\})`,
)

/** Where the fields are in most records: the findings lie between the first two, the facts after the last one. */
const usualHeadBytes = 512
const usualTailBytes = 384
const usualPersonBytes = 256

/**
 * Parsing the whole of a decision would take longer than storing its row, and decoding it as UTF-8 three times as long as
 * this does: what is not ASCII, and what is not as callgate writes it, is left to that. Within a text of JSON, a quotation
 * mark follows a backslash, so what is found are the fields.
 */
export function readHead(body: Buffer): DecisionHead {
  const { kept, person } = splitBody(body)
  const about = person.toString('latin1', 0, usualPersonBytes)
  const first = kept.toString('latin1', 0, usualHeadBytes)
  const last = kept.toString('latin1', Math.max(0, kept.length - usualTailBytes))
  const all = () => kept.toString('latin1')
  return (
    findFields(first, last, about) ??
    findFields(all(), all(), person.toString('latin1')) ??
    readRecord('decision', { body })
  )
}

/** `undefined` if they are not all in the first and the last part of a text, and the first part of another. */
function findFields(first: string, last: string, about: string): DecisionHead | undefined {
  const head = headPattern.exec(first)
  const whatIf = whatIfPattern.exec(first)?.[1]
  const start = last.lastIndexOf('"accountId":')
  const end = start < 0 ? '' : last.slice(start)
  const tail = tailPattern.exec(end)
  const person = personPattern.exec(about)
  if (head === null || whatIf === undefined || tail === null || person === null) return undefined
  if (!isPlain.test(end)) return undefined
  const [, id = '', decision, reason = '', callKind = ''] = head
  const [, accountId = '', keyId, via = ''] = tail
  const [, number = '', reference] = person
  return {
    id,
    accountId,
    whatIf: whatIf === 'true',
    number,
    decision: decision === 'allow' ? 'allow' : 'block',
    reason,
    callKind,
    via,
    projectId: readText(end, 'projectId'),
    campaignId: readText(end, 'campaignId'),
    keyId,
    reference,
  }
}

const isPlain = /^[ -[\]-~]*$/

function readText(text: string, name: keyof SearchedFields): string | undefined {
  const before = `,"${name}":"`
  const start = text.indexOf(before)
  if (start < 0) return undefined
  const from = start + before.length
  return text.slice(from, text.indexOf('"', from))
}

/** Of a decision. */
export function readId(body: Buffer): string {
  const [, id] = /^\{"id":"([0-9a-z]{29})"/.exec(body.toString('latin1', 0, 37)) ?? []
  return id ?? readRecord('decision', { body }).id
}

/** How the record of a decision begins, and that of an outcome of it. */
export function startOfBody(id: string): Buffer {
  return Buffer.from(`{"id":${JSON.stringify(id)}`)
}
