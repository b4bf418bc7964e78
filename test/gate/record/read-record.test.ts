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

/** In two parts. */
const recordOf = ({ number, dialed, ...kept }: Partial<typeof decision>, person: object = {}) =>
  Buffer.concat([bodyOf(kept), Buffer.from('\t'), bodyOf({ number, dialed, ...person })])

it('has what was written, of each kind', () => {
  expect(readRecord('decision', { seq: 1, body: recordOf(decision) })).toEqual(decision)
  const said = [{ code: 'a', quote: true }, { code: 'b' }]
  const findings = [{ check: 'permission', says: said, notRenewed: [{ code: 'c', quote: true }] }]
  const quoted = { ...decision, findings, says: [{ code: 'd', quote: true }] } as object
  const body = recordOf(quoted, { quotes: ['of d', 'of a', 'of c'], reference: 'r' })
  expect(readRecord('decision', { body })).toMatchObject({
    says: [{ code: 'd', quote: 'of d' }],
    findings: [
      {
        says: [{ code: 'a', quote: 'of a' }, { code: 'b' }],
        notRenewed: [{ code: 'c', quote: 'of c' }],
      },
    ],
    reference: 'r',
  })
  const outcome = { id: 'd1', own: true, outcome: { cause: 16 } }
  expect(readRecord('outcome', { body: writeRecord('outcome', outcome) })).toEqual(outcome)
  const notice = { erasure: 'e1', changed: [[4, 'commitment']] } as const
  expect(readRecord('notice', { body: writeRecord('notice', notice) })).toEqual(notice)
  expect(readRecord('opened', { body: '{}' })).toEqual({})
})

it('reads what an erasure has left', () => {
  const said = [{ code: 'd', quote: true }]
  const { number: _, dialed: __, ...kept } = { ...decision, says: said }
  const body = Buffer.concat([bodyOf(kept), Buffer.from(`\t#${'A'.repeat(43)}   `)])
  const erased = { ...decision, number: '', dialed: '', erased: true, says: [{ code: 'd' }] }
  expect(readRecord('amendment', { body })).toEqual(erased)
})

it('says what is no record, where it is and why', () => {
  const read = (kind: 'decision' | 'outcome' | 'notice', content: unknown) => () =>
    readRecord(kind, {
      seq: 17,
      body: kind === 'decision' ? recordOf(content as typeof decision) : bodyOf(content),
    })
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
    [
      () => readRecord('decision', { body: bodyOf(decision) }),
      'it must have a part about the person',
    ],
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
