/** The legal entities of the account. */
import { ask, askOnce } from './client.js'
import { runMark } from './numbers.js'
import { asRows, type Row } from './sentence.js'

export const entitiesPath = '/v1.5/Reputation/GetAllLegalEntities'

let once: Promise<readonly Row[]> | undefined

/** Those of the account; where it has none, one is made by the call that clients use for it. */
export function legalEntities(): Promise<readonly Row[]> {
  once ??= gather()
  return once
}

async function gather(): Promise<readonly Row[]> {
  const found = asRows((await askOnce({ path: entitiesPath })).json())
  if (found.length > 0) return found
  const made = await ask({
    path: '/v1.5/legalentity/Create',
    json: {
      LegalName: `Conformance ${runMark}`,
      EIN: '123456789',
      PrimaryPhoneNumber: '2125550100',
      StreetAddress: '1 Main Street',
      City: 'New York',
      State: 'NY',
      Zip: '10001',
      CountryCode: 'US',
    },
  })
  return made.status < 300 ? asRows((await ask({ path: entitiesPath })).json()) : []
}
