/** JSON text of answers, whose lists may be long. */
import type { Eventually } from '../domain/compliance.js'
import { mapInSlices } from '../domain/slices.js'

/** Items that are written at a stretch: well below a millisecond. */
const shortList = 50

/**
 * The text `JSON.stringify` gives of plain data. Where the value is a long list, or holds one, it is
 * a promise, and the list is written in slices.
 */
export function stringifyInSlices(value: unknown): Eventually<string> {
  return holdsLongList(value) ? stringifyLong(value) : (JSON.stringify(value) ?? 'null')
}

function holdsLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) && value.length > shortList) return true
  return Object.values(value).some(holdsLongList)
}

async function stringifyLong(value: unknown): Promise<string> {
  if (Array.isArray(value)) {
    if (value.length <= shortList) {
      const items: string[] = []
      for (const item of value) items.push(await stringifyInSlices(item))
      return `[${items.join(',')}]`
    }
    return `[${(await mapInSlices(value, (item) => JSON.stringify(item) ?? 'null')).join(',')}]`
  }
  const fields: string[] = []
  for (const [name, content] of Object.entries(value as object)) {
    if (content === undefined) continue
    fields.push(`${JSON.stringify(name)}:${await stringifyInSlices(content)}`)
  }
  return `{${fields.join(',')}}`
}
