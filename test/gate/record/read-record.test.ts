import { expect, it } from 'vitest'
import { RecordError, readRecord } from '../../../src/gate/record/read-record.js'
import { writeRecord } from '../../../src/gate/record/write-note.js'

const decision = {
  id: 'd1',
  accountId: 'main',
  number: '2125550100',
  dialed: '212-555-0100',
  findings: [{ check: 'permission', says: [{ code: 'not-at-this-hour' }] }],
}

const bodyOf = (content: unknown) => Buffer.from(JSON.stringify(content))

it('has what was written, of each kind', () => {
  expect(readRecord('decision', { seq: 1, body: bodyOf(decision) })).toEqual(decision)
  const outcome = { id: 'd1', own: true, outcome: { cause: 16 } }
  expect(readRecord('outcome', { body: writeRecord('outcome', outcome) })).toEqual(outcome)
  const notice = { erasure: 'e1', changed: [[4, 'commitment']] } as const
  expect(readRecord('notice', { body: writeRecord('notice', notice) })).toEqual(notice)
  expect(readRecord('opened', { body: '{}' })).toEqual({})
})

it('reads what an erasure has left', () => {
  const erased = { ...decision, number: '', dialed: '', erased: true }
  expect(readRecord('amendment', { body: bodyOf(erased) })).toEqual(erased)
})

it('says what is no record, where it is and why', () => {
  const read = (kind: 'decision' | 'outcome' | 'notice', content: unknown) => () =>
    readRecord(kind, { seq: 17, body: bodyOf(content) })
  const refused = [
    [read('notice', []), 'record 17 is no notice: it is no JSON object'],
    [read('notice', null), 'record 17 is no notice: it is no JSON object'],
    [
      read('decision', { ...decision, id: 5 }),
      'record 17 is no decision: it must have the text id',
    ],
    [read('decision', { ...decision, dialed: undefined }), 'it must have the text dialed'],
    [read('decision', { ...decision, findings: [null] }), 'it must have findings'],
    [read('decision', { ...decision, findings: {} }), 'it must have findings'],
    ...[
      ...[{}, { says: 'x' }, { says: [{}] }, { says: [], parts: 1 }, { says: [], parts: [{}] }],
      ...[
        { says: [], notRenewed: 'x' },
        { says: [], reassigned: {} },
      ],
    ].map(
      (finding) =>
        [read('decision', { ...decision, findings: [finding] }), 'it must have findings'] as const,
    ),
    [read('decision', { ...decision, reason: {} }), 'its reason must be text'],
    [read('decision', { ...decision, says: 'x' }), 'what it says must have codes'],
    [read('decision', { ...decision, policy: [null] }), 'its policy must be a list'],
    [read('outcome', { outcome: {} }), 'record 17 is no outcome: it must have an id'],
    [read('outcome', { id: 'd1', outcome: 5 }), 'it must have an outcome'],
  ] as const
  for (const [attempt, message] of refused) {
    expect(attempt).toThrow(RecordError)
    expect(attempt).toThrow(message)
  }
  expect(() => readRecord('audit', { body: '{"seq":1' })).toThrow('the record is no audit: ')
  expect(() => readRecord('decision', { id: 'd9', body: '' })).toThrow(
    'the record of d9 is no decision: ',
  )
})
