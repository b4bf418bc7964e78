/** Which numbers the cases stored records of, so that these can be taken back. */
import { ask } from './client.js'

const recorded = new Set<string>()

/** Reads the numbers out of records as they are sent, whatever else they hold. */
export function noteRecords(records: unknown): void {
  for (const text of JSON.stringify(records)?.match(/\b\d{10}\b/g) ?? []) recorded.add(text)
}

/** Takes our records out of force, by a call that not every server has. */
export async function takeBackRecords(): Promise<void> {
  if (recorded.size === 0) return
  const form = { phoneList: [...recorded].join(',') }
  recorded.clear()
  await ask({ at: 'rpc', path: '/app/main/rpc/ebr/remove', form })
}
