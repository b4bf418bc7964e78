/** The look-ups of one number. */
import { ask, type Reply } from './client.js'
import { asRow, type Row } from './sentence.js'

export const rndPath = '/v1.5/Data/EnhancedRND'

export function reassigned(query: Readonly<Record<string, string>>): Promise<Reply> {
  return ask({ path: rndPath, query })
}

export async function reassignedRow(
  phoneNumber: string,
  date: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Row> {
  return rowIn(await reassigned({ phoneNumber, date, ...more }))
}

/** Each look-up: its name, its path, and the parameter the number goes by. */
export const lookUps = {
  identification: { path: '/v1.4/Data/IDPremium', parameter: 'phone' },
  disconnect: { path: '/v1.4/Data/RealTimeDisconnect', parameter: 'phoneNumber' },
  residential: { path: '/v1.4/Data/ResOrBusiness', parameter: 'phone' },
} as const

export type LookUp = keyof typeof lookUps

export function lookUp(which: LookUp, phone: string): Promise<Reply> {
  const { path, parameter } = lookUps[which]
  return ask({ path, query: { [parameter]: phone } })
}

export async function lookUpRow(which: LookUp, phone: string): Promise<Row> {
  return rowIn(await lookUp(which, phone))
}

function rowIn(reply: Reply): Row {
  if (reply.status !== 200) throw new Error(`answered ${reply.status}: ${reply.text}`)
  return asRow(reply.json())
}
