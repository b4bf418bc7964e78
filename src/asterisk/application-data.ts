/** The arguments of a Stasis() that waits already, from the text Asterisk lists for its channel. */
import type { AsteriskChannel } from './asterisk-port.js'

/**
 * What `Stasis(app,...)` was given after the name; `undefined` when the channel executes anything
 * else. StasisBroadcast() is not told: its text does not say which application has the channel.
 */
export function argumentsFor(
  app: string,
  application: AsteriskChannel['application'],
): readonly string[] | undefined {
  if (application?.name !== 'Stasis') return undefined
  const { data } = application
  if (data === app) return []
  return data.startsWith(`${app},`) ? splitArguments(data.slice(app.length + 1)) : undefined
}

/**
 * As Asterisk splits the arguments of an application: commas within quotes or brackets do not
 * part, a backslash takes the meaning from what follows it, quotes and backslashes are left out.
 */
function splitArguments(text: string): readonly string[] {
  const parts: string[] = []
  const open = { '(': 0, '[': 0 }
  let quoted = false
  let part = ''
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '"') quoted = !quoted
    else if (character === ',' && !quoted && open['('] === 0 && open['['] === 0) {
      parts.push(part)
      part = ''
    } else {
      countBrackets(open, character)
      if (character === '\\') at += 1
      part += text.charAt(at)
    }
  }
  return [...parts, part]
}

function countBrackets(open: { '(': number; '[': number }, character: string): void {
  if (character === '(' || character === '[') open[character] += 1
  else if (character === ')') open['('] = Math.max(0, open['('] - 1)
  else if (character === ']') open['['] = Math.max(0, open['['] - 1)
}
