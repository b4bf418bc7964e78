/** Numbers as they are put on the monitor. */
import type { PhoneNumber } from '../../domain/phone-number.js'

/** What is not given stays as it was. */
export interface NewNumber {
  readonly phone: PhoneNumber
  readonly label?: string | undefined
  readonly legalEntityId?: number | undefined
  readonly serviceType?: string | undefined
}

/** Of a number given twice, what is said last of each particular counts. */
export function mergedByNumber(items: readonly NewNumber[]): readonly NewNumber[] {
  const merged = new Map<PhoneNumber, NewNumber>()
  for (const item of items) {
    const before = merged.get(item.phone)
    merged.set(item.phone, {
      phone: item.phone,
      label: item.label ?? before?.label,
      legalEntityId: item.legalEntityId ?? before?.legalEntityId,
      serviceType: item.serviceType ?? before?.serviceType,
    })
  }
  return [...merged.values()]
}
