/** JSON as it must be to be believed: valid, and no name twice in one object. */

/** Only own members: neither `__proto__` in the text nor a changed `Object.prototype` adds any. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Throws for text that is not JSON, or has a name twice, since readers differ on which one counts. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  requireUniqueNames(text)
  return value
}

/** Of text that is valid JSON, so that each string before a colon is a name. */
function requireUniqueNames(text: string): void {
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '{') open.push(new Set())
    else if (character === '[') open.push(undefined)
    else if (character === '}' || character === ']') open.pop()
    else if (character === '"') {
      const end = findStringEnd(text, at)
      if (isNameEnd(text, end)) {
        const name: string = JSON.parse(text.slice(at, end))
        const names = open.at(-1)
        if (names?.has(name)) throw new SyntaxError('a name is given twice')
        names?.add(name)
      }
      at = end - 1
    }
  }
}

function findStringEnd(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function isNameEnd(text: string, end: number): boolean {
  let at = end
  while (/\s/.test(text[at] ?? '')) at += 1
  return text[at] === ':'
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The own member of that name if it is text. */
export function textOf(value: JsonObject, name: string): string | undefined {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : undefined
}

export function memberOf(value: JsonObject, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}
