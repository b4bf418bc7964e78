/** JSON text of answers, whose lists may be long. */
import { yieldToEventLoop } from '../domain/slices.js'

/** Items that are written at a stretch: well below a millisecond. */
const shortList = 50

/** Whether the value is a list of more than 50 items or holds one. */
export function holdsLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) && value.length > shortList) return true
  return Object.values(value).some(holdsLongList)
}

/** The text `JSON.stringify` gives of plain data, in parts; long lists are written in slices. */
export async function* jsonParts(value: unknown): AsyncGenerator<string> {
  if (!holdsLongList(value)) yield JSON.stringify(value) ?? 'null'
  else if (Array.isArray(value)) yield* listParts(value)
  else yield* objectParts(value as object)
}

async function* listParts(list: readonly unknown[]): AsyncGenerator<string> {
  let before = '['
  for (const item of list) {
    await yieldToEventLoop()
    yield before
    before = ','
    if (list.length > shortList) yield JSON.stringify(item) ?? 'null'
    else yield* jsonParts(item)
  }
  yield ']'
}

async function* objectParts(object: object): AsyncGenerator<string> {
  let before = '{'
  for (const [name, content] of Object.entries(object)) {
    if (content === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    before = ','
    yield* jsonParts(content)
  }
  yield '}'
}
