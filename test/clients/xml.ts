/** A reader of XML for tests: elements with attributes, nothing of it forgiven. */

export interface XmlElement {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

/** The root of a document; throws where it is not well formed. Text between elements must be blank. */
export function readXml(text: string): XmlElement {
  const tags = /<\?[^?]*\?>|<(\/?)([A-Za-z]\w*)((?:\s+[A-Za-z]\w*="[^"<]*")*)\s*(\/?)>/g
  const top: XmlElement[] = []
  const open: { readonly element: XmlElement; readonly children: XmlElement[] }[] = []
  let read = 0
  for (const match of text.matchAll(tags)) {
    const [whole, closing, name = '', attributes = '', empty] = match
    if (text.slice(read, match.index).trim() !== '') throw new Error(`text at ${read}: ${text}`)
    read = match.index + whole.length
    if (whole.startsWith('<?')) continue
    if (closing) {
      if (open.pop()?.element.name !== name) throw new Error(`</${name}> closes another element`)
      continue
    }
    const children: XmlElement[] = []
    const element = { name, attributes: readAttributes(attributes), children }
    const siblings = open.at(-1)?.children ?? top
    siblings.push(element)
    if (!empty) open.push({ element, children })
  }
  if (text.slice(read).trim() !== '') throw new Error(`text at ${read}: ${text}`)
  const [root, ...others] = top
  if (!root || others.length > 0 || open.length > 0) throw new Error(`is no document: ${text}`)
  return root
}

/** The elements a path such as `/A/B/C` leads to, in the order of the document. */
export function elementsAt(root: XmlElement, path: string): readonly XmlElement[] {
  const [, first, ...names] = path.split('/')
  let found = root.name === first ? [root] : []
  for (const name of names) {
    found = found.flatMap(({ children }) => children.filter((child) => child.name === name))
  }
  return found
}

function readAttributes(text: string): ReadonlyMap<string, string> {
  const read = [...text.matchAll(/([A-Za-z]\w*)="([^"]*)"/g)]
  const attributes = new Map(read.map(([, name = '', value = '']) => [name, unescaped(value)]))
  if (attributes.size !== read.length) throw new Error(`an attribute stands twice in${text}`)
  return attributes
}

function unescaped(text: string): string {
  // Of blanks written as such, a reader makes spaces.
  return text.replaceAll(/[\t\n]/g, ' ').replaceAll(/&([^;]*);?/g, (whole, name: string) => {
    const code = /^#(\d+)$/.exec(name)?.[1]
    const character = code === undefined ? entities[name] : String.fromCodePoint(Number(code))
    if (character === undefined) throw new Error(`${whole} is no entity`)
    return character
  })
}
