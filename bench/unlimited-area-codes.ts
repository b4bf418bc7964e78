/** The area codes whose numbers no law limits the calls to, so that the same numbers can be called again and again. */
import { loadCallingRules } from '../src/data/calling-rules/calling-rules.js'
import { listAreaCodes } from '../src/data/numbering/area-codes.js'
import { callKinds } from '../src/domain/mandate.js'

const { frequency } = loadCallingRules('config/calling-rules.yaml')

export const unlimitedAreaCodes = listAreaCodes().filter((areaCode) => {
  const called = { number: `${areaCode}5550100`, places: [] }
  return callKinds.every((kind) => frequency.find(kind, called, Date.now()).length === 0)
})
