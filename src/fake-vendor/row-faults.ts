/** Damages the rows of the correct answer, by the field names of each question. */
import type { QuestionName } from '../domain/compliance.js'
import type { RowFault } from './fault.js'
import type { VendorReply } from './vendor-reply.js'

type Row = Readonly<Record<string, unknown>>

interface RowFields {
  readonly phone: string
  /** The field that determines the verdict. */
  readonly verdict: string
  /** A field with a value that no client may accept. */
  readonly wrong: Row
}

const rowFields: Readonly<Record<QuestionName, RowFields>> = {
  scrub: { phone: 'Phone', verdict: 'ResultCode', wrong: { ResultCode: 'Q' } },
  'internal-dnc': { phone: 'phone', verdict: 'onList', wrong: { onList: 'false' } },
  litigator: { phone: 'Phone', verdict: 'IsLitigator', wrong: { IsLitigator: 'false' } },
  'legal-time': { phone: 'PhoneNumber', verdict: 'IsCallPermitted', wrong: { Status: 'MAYBE' } },
}

/** A reply without rows, such as an error or one that is not JSON, is not changed. */
export function applyRowFault(
  reply: VendorReply,
  fault: RowFault,
  question: QuestionName,
): VendorReply {
  const isJson = reply.headers['Content-Type']?.includes('json') === true
  if (reply.status !== 200 || !isJson) return reply
  const json: unknown = JSON.parse(reply.body.toString())
  const rows = extractRows(json)
  if (!rows || rows.length === 0) return reply
  const damaged = changeRows(rows, fault, rowFields[question])
  // A wrapped answer stays wrapped, unless wrapping is the fault.
  const keepsForm = Array.isArray(json) || fault.kind.startsWith('wrapped')
  const body = Buffer.from(JSON.stringify(keepsForm ? damaged : { Response: damaged }))
  return { ...reply, body }
}

function changeRows(rows: readonly Row[], fault: RowFault, fields: RowFields): readonly unknown[] {
  const { phone, verdict, wrong } = fields
  const [first, ...rest] = rows
  switch (fault.kind) {
    case 'missing-field':
      return rows.map((row) => omitField(row, fault.field ?? verdict))
    case 'wrong-letter':
      return rows.map((row) => ({ ...row, ...wrong }))
    case 'missing-row':
      return rest
    case 'extra-row':
      return [changeNumber(first ?? {}, phone), ...rows]
    case 'out-of-order':
      return rows.toReversed()
    case 'neighbour':
      return rest.length === 0 ? rows.map((row) => changeNumber(row, phone)) : [...rest, first]
    case 'wrapped':
      return [{ Response: rows }]
    case 'wrapped-each':
      return rows.map((row) => ({ Response: [row] }))
  }
}

function extractRows(json: unknown): readonly Row[] | undefined {
  if (Array.isArray(json)) return json as readonly Row[]
  const wrapped = typeof json === 'object' && json !== null && 'Response' in json
  return wrapped && Array.isArray(json.Response) ? (json.Response as readonly Row[]) : undefined
}

function omitField(row: Row, field: string): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== field))
}

/** The same row with the last digit of its number increased; its type stays text or number. */
function changeNumber(row: Row, phone: string): Row {
  const own = String(row[phone])
  const another = `${own.slice(0, -1)}${(Number(own.at(-1)) + 1) % 10}`
  return { ...row, [phone]: typeof row[phone] === 'number' ? Number(another) : another }
}
