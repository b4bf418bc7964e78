/** The checks of every call, in the order of their findings. */
import { callingHoursCheck } from './calling-hours.js'
import type { Check } from './check.js'
import { internalDncCheck } from './internal-dnc.js'
import { litigatorCheck } from './litigator.js'
import { permissionCheck } from './permission.js'

export const allChecks: readonly Check[] = [
  litigatorCheck,
  internalDncCheck,
  callingHoursCheck,
  permissionCheck,
]
