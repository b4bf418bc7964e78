/** JSON text of answers, whose lists may be long. */
/** Items that are written at a stretch: well below a millisecond. */
const shortList = 50

/** Whether the value is a list of more than 50 items or holds one. */
export function holdsLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) && value.length > shortList) return true
  return Object.values(value).some(holdsLongList)
}

/** The text `JSON.stringify` gives of plain data, in parts; each is made in well below a millisecond. */
export function* jsonParts(value: unknown): Generator<string> {
  if (!holdsLongList(value)) yield JSON.stringify(value) ?? 'null'
  else if (Array.isArray(value)) yield* listParts(value)
  else yield* objectParts(value as object)
}

function* listParts(list: readonly unknown[]): Generator<string> {
  let before = '['
  for (const item of list) {
    if (list.length > shortList) yield before + (JSON.stringify(item) ?? 'null')
    else {
      yield before
      yield* jsonParts(item)
    }
    before = ','
  }
  yield ']'
}

function* objectParts(object: object): Generator<string> {
  let before = '{'
  for (const [name, content] of Object.entries(object)) {
    if (content === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    before = ','
    yield* jsonParts(content)
  }
  yield '}'
}
