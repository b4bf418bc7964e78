import type { Policy } from '../../src/domain/decision.js'

/** Anything but a pass blocks. */
export const strictPolicy: Policy = {
  litigator: { mode: 'enforce' },
  'internal-dnc': { mode: 'enforce' },
  permission: { mode: 'enforce' },
  'calling-hours': { mode: 'enforce' },
  attempts: { mode: 'enforce' },
  'caller-id': { mode: 'enforce' },
  reassigned: { mode: 'enforce' },
  abandonment: { mode: 'enforce' },
}
