/** The area codes whose numbers no law limits the calls to, so that the same numbers can be called again and again. */
import { loadCallingRules } from '../src/data/calling-rules/calling-rules-schema.js'
import { callKinds } from '../src/domain/mandate.js'
import { listAreaCodes } from '../src/law/area-codes.js'

const { frequency } = loadCallingRules('config/calling-rules.yaml')

export const unlimitedAreaCodes = listAreaCodes().filter((areaCode) => {
  const call = {
    purpose: 'telemarketing' as const,
    number: `${areaCode}5550100`,
    places: [],
    hasPermission: false,
  }
  return callKinds.every(
    (callKind) => frequency.find({ ...call, callKind }, Date.now()).length === 0,
  )
})
